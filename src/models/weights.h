// A decoder's weights as raw bytes of the files they came from. Nothing is unpacked or converted
// here: an executor takes them and lays them out as it needs.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/tensor.h"

namespace emlx {

enum class MatrixEncoding {
  Dense,      // F32, F16 or BF16, row-major
  MlxAffine,  // MLX: packed unsigned integers, w = scale * q + bias per group along a row
  GgufBlock,  // Q4_0, Q4_1 or Q8_0 blocks along a row
};

// [rows, cols], y = W x. The spans point into the mapped files, which the Model keeps alive; they
// may be unaligned.
struct Matrix {
  std::string name;  // the file's tensor name (without ".weight"), for messages
  int rows = 0, cols = 0;
  MatrixEncoding encoding = MatrixEncoding::Dense;
  DType dtype = DType::F32;  // Dense: element; MlxAffine: of scales and biases; GgufBlock: block
  std::span<const std::byte>
      data;  // Dense, GgufBlock: the elements; MlxAffine: U32 [rows, cols * bits / 32]
  // MlxAffine only:
  std::span<const std::byte> scales, biases;  // dtype [rows, cols / group_size]
  int bits = 0, group_size = 0;
  // llama.cpp stores q and k rows of `interleaved_heads` heads so that rotated pairs are
  // neighbours: within a head of size d, file row 2i is row i and file row 2i + 1 is row i + d/2.
  // 0: rows are in order.
  int interleaved_heads = 0;
};

struct Vector {
  std::string name;
  int size = 0;
  DType dtype = DType::F32;  // F32, F16 or BF16
  std::span<const std::byte> data;
};

struct Linear {
  Matrix weight;
  std::optional<Vector> bias;  // [rows]; not interleaved
};

struct LayerWeights {
  Vector attention_norm;                 // [hidden]
  Linear q, k, v;                        // [heads or kv_heads * head_dim, hidden]
  std::optional<Vector> q_norm, k_norm;  // [head_dim]
  Linear o;                              // [hidden, heads * head_dim]
  Vector mlp_norm;                       // [hidden]
  Linear gate, up;                       // [intermediate, hidden]
  Linear down;                           // [hidden, intermediate]
};

struct DecoderWeights {
  Matrix embedding;  // [vocab, hidden]
  std::vector<LayerWeights> layers;
  Vector final_norm;           // [hidden]
  std::optional<Matrix> head;  // [vocab, hidden]; absent when tied to the embedding
};

}  // namespace emlx
