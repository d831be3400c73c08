// The kernel file's table, from the functions of body/ on the simd/*.h it included before.
#pragma once

#include "kernels/body/math.h"
// one a line, in order of use
#include "kernels/body/attention.h"
#include "kernels/body/elementwise.h"
#include "kernels/body/matmul.h"

namespace emlx {
namespace {

constexpr KernelTable make_table(CpuIsa isa) {
  return {isa,       &rms_norm, &quantize, &matmul_affine, &matmul_dense,  &head_rope,
          &kv_write, &attend,   &silu_mul, &log_sum_exp,   &first_at_least};
}

}  // namespace
}  // namespace emlx
