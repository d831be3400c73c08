// Bounds on what a model file may claim: far above any real model, and low enough that products of
// two numbers fit 63 bits and heads * head size fits an int.
#pragma once

namespace emlx {

inline constexpr int kMaxLayers = 4096;
inline constexpr int kMaxHeads = 1 << 14;
inline constexpr int kMaxHeadDim = 1 << 14;
inline constexpr int kMaxWidth = 1 << 24;  // of a layer, and tokens in a vocabulary
inline constexpr int kMaxPositions = 1 << 30;

}  // namespace emlx
