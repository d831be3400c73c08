// The memory a pass works in, allocated once.
#pragma once

#include <vector>

#include "models/cpu/cpu_decoder.h"

namespace emlx {

// Inputs of a matmul in every form a model's matrices may want; rows of `stride` floats.
struct MatmulInputs {
  float* rows;
  std::size_t stride;
  QuantizedColumns group32, group64, group128;

  const QuantizedColumns& of(int group) const noexcept {
    return group == 32 ? group32 : group == 64 ? group64 : group128;
  }
};

struct CpuDecoder::Buffers {
  Buffers(const DecoderSpec& spec, const CpuWeights& weights, int columns, int threads, int pairs);

  HugeBuffer memory;
  std::size_t hidden, qkv, attention, mlp;  // floats a row
  std::size_t k_at, v_at;                   // of k and v in a row of qkv
  std::size_t up_at;                        // of up in a row of gate_up, where not fused
  float* residual;                          // [columns][hidden]
  float* projections;                       // [columns][qkv]
  float* attended;                          // [columns][attention]
  float* gate_up;                           // [columns][mlp]
  float *cosines, *sines;                   // [columns][pairs]
  MatmulInputs shared;                      // of all columns
  std::vector<MatmulInputs> own;            // [threads], of one column
  std::vector<float*> scratch;              // [threads], for attention and head vectors
  HugeBuffer logits;                        // [wanted][padded(vocab)], grows with what is wanted
};

}  // namespace emlx
