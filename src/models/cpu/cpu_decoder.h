// One forward pass of a decoder on the CPU kernels.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/kernel_table.h"
#include "kernels/worker_pool.h"
#include "models/cpu/cpu_weights.h"
#include "models/cpu/kv_pool.h"
#include "models/cpu/rope_angles.h"

namespace emlx {

// Tokens of one sequence in a pass, side by side.
struct CpuSpan {
  const KvSequence* sequence;  // already extended to hold them
  std::span<const TokenId> tokens;
  int first_position;
  int logits_from;  // first token whose logits are wanted; tokens.size(): none
};

// What a pass yields for one wanted token, in the order of the spans and their tokens.
struct CpuLogits {
  const float* logits;  // [vocab], valid until the next pass
  float log_sum_exp;
  TokenId best;   // argmax of logits - log_sum_exp in float32, lowest index on ties
  float logprob;  // of `best`
};

// A token's results do not depend on what else is in the pass, on the number of workers or on the
// instruction set: each column is computed by operations in an order of its own. Engine thread
// only.
class CpuDecoder {
 public:
  static constexpr int kMaxColumns = 512;  // tokens a pass takes in all

  // `model` is kept: the embedding is read from its files.
  CpuDecoder(std::shared_ptr<const Model> model, const KernelTable& kernels, KvKind kv,
             WorkerPool& pool);
  ~CpuDecoder();

  // Bytes a block of 64 positions takes in the KV pool.
  std::size_t block_bytes() const noexcept;
  std::size_t weight_bytes() const noexcept { return weights_.bytes(); }

  // 1 to kMaxColumns tokens in all. Throws only if memory runs out.
  std::span<const CpuLogits> forward(std::span<const CpuSpan> spans);

 private:
  class Pass;

  std::shared_ptr<const Model> model_;
  const KernelTable& kernels_;
  WorkerPool& pool_;
  CpuWeights weights_;
  KvLayout layout_;
  RopeAngles angles_;
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
  std::vector<CpuLogits> results_;
};

}  // namespace emlx
