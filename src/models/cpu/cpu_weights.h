// A decoder's weights as the CPU kernels read them.
#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "kernels/kernel_table.h"
#include "kernels/worker_pool.h"
#include "models/cpu/huge_buffer.h"
#include "models/model.h"

namespace emlx {

// Elements of a float32 row of `n`: what the kernels want.
constexpr int padded(int n) noexcept {
  return (n + kRowPad - 1) / kRowPad * kRowPad;
}

// A matrix in panels of 32 output rows, somewhere in CpuWeights' memory.
struct PackedMatrix {
  std::variant<AffinePanels, DensePanels> data;
  int panels = 0;
  const float* bias = nullptr;  // [32 panels], or none

  const AffinePanels* affine() const noexcept { return std::get_if<AffinePanels>(&data); }
};

// What a set of matrices that read the same input wants of it.
struct InputFormats {
  bool floats = false;                                      // dense matrices
  bool group32 = false, group64 = false, group128 = false;  // affine ones
  void add(const PackedMatrix& matrix) noexcept;
};

struct CpuLayer {
  const float *attention_norm, *mlp_norm;  // [padded(hidden)]
  const float *q_norm, *k_norm;            // [head_dim padded to 16], or null
  PackedMatrix q, k, v, o;
  // Gate and up in one matrix, 16 rows of each a panel, if their formats agree; else two.
  PackedMatrix gate_up;
  PackedMatrix gate, up;
  bool fused_mlp = false;
  PackedMatrix down;
  InputFormats attention_in, o_in, mlp_in, down_in;
};

// Head vectors are padded to a multiple of 16 elements (head_size), RoPE's pairs lie half a rotated
// part apart whatever the file's order, and everything is in one allocation.
class CpuWeights {
 public:
  // Packs on all of the pool's workers. Throws Error(Busy) if memory is short.
  CpuWeights(const Model& model, WorkerPool& pool);

  int head_size() const noexcept { return head_size_; }
  const std::vector<CpuLayer>& layers() const noexcept { return layers_; }
  const float* final_norm() const noexcept { return final_norm_; }
  const PackedMatrix& head() const noexcept { return head_; }
  const InputFormats& head_in() const noexcept { return head_in_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  int head_size_;
  std::size_t bytes_ = 0;
  HugeBuffer memory_;
  std::vector<CpuLayer> layers_;
  const float* final_norm_ = nullptr;
  PackedMatrix head_;
  InputFormats head_in_;
};

// Row `token` of the embedding as float32, from the file's bytes; writes [embedding.cols].
void read_embedding(const Matrix& embedding, TokenId token, float* out) noexcept;

}  // namespace emlx
