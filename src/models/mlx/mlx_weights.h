// A decoder's weights as MLX arrays, and the products with them.
#pragma once

#include <mlx/array.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "models/model.h"

namespace emlx {

namespace mx = mlx::core;

// [rows, cols] in the compute dtype, or quantized in MLX's affine format.
struct MlxMatrix {
  mx::array weight;                         // [rows, cols], or U32 [rows, cols * bits / 32]
  std::optional<mx::array> scales, biases;  // quantized only: [rows, cols / group_size]
  int group_size = 0, bits = 0;
  std::optional<mx::array> bias;  // [rows], added to the product

  // x [..., cols] -> x W^T + bias [..., rows]
  mx::array project(const mx::array& x) const;
  // Row numbers [...] -> rows [..., cols]
  mx::array lookup(const mx::array& rows) const;
};

struct MlxLayerWeights {
  mx::array attention_norm;  // [hidden]
  MlxMatrix q, k, v, o;
  std::optional<mx::array> q_norm, k_norm;  // [head_dim]
  mx::array mlp_norm;                       // [hidden]
  MlxMatrix gate, up, down;
};

struct MlxWeights {
  MlxMatrix embedding;
  std::vector<MlxLayerWeights> layers;
  mx::array final_norm;           // [hidden]
  std::optional<MlxMatrix> head;  // absent when tied to the embedding
  std::size_t bytes = 0;
  bool cast = false;  // some float was of another dtype than the compute dtype
};

// Copies each weight once out of the files and casts everything but packed integers to `dtype`;
// GGUF blocks become MLX's affine format. Throws Error naming the weight that fails.
MlxWeights load_mlx_weights(const DecoderWeights& weights, mx::Dtype dtype);

}  // namespace emlx
