// Models of any shape with random weights, in memory: for benchmarks, which need a shape and not an
// answer, and for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/decoder_spec.h"
#include "models/model.h"

namespace emlx {

struct RandomWeights {
  int bits = 4;  // MLX affine: 2, 3, 4, 5, 6 or 8; 0: dense in `dtype`
  int group_size = 64;
  int head_bits = 4;          // of the embedding and the head; as `bits`
  DType dtype = DType::BF16;  // of scales and biases, dense matrices and norms: F32, F16 or BF16
  std::uint32_t seed = 1;
};

// The same weights on every machine, so scaled that activations stay near 1. Linear biases where
// the spec has them. The model has no tokenizer.
std::shared_ptr<const Model> random_model(const DecoderSpec& spec, const RandomWeights& weights);

// The shape of a published model: "qwen3-0.6b", "qwen3-1.7b", "qwen3-4b" or "smollm2-135m". Throws
// Error(InvalidArgument) naming the choices.
DecoderSpec named_shape(const std::string& name);

}  // namespace emlx
