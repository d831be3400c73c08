#include "kernels/kernel_table.h"

namespace emlx {

extern const KernelTable kScalarKernels;
#if defined(__x86_64__)
extern const KernelTable kAvx2Kernels, kAvxVnniKernels, kAvx512Kernels;
#elif defined(__aarch64__)
extern const KernelTable kNeonKernels;
#endif

const KernelTable& kernels(CpuIsa isa) noexcept {
  switch (isa) {
#if defined(__x86_64__)
    case CpuIsa::Avx2:
      return kAvx2Kernels;
    case CpuIsa::AvxVnni:
      return kAvxVnniKernels;
    case CpuIsa::Avx512:
      return kAvx512Kernels;
#elif defined(__aarch64__)
    case CpuIsa::Neon:
      return kNeonKernels;
#endif
    default:
      return kScalarKernels;
  }
}

KvLayout kv_layout(KvKind kind, int head_dim) noexcept {
  const auto elements = static_cast<std::size_t>(head_dim) * kKvBlock;
  const std::size_t half = elements * (kind == KvKind::F32 ? 4 : kind == KvKind::F16 ? 2 : 1);
  const std::size_t scales = kind == KvKind::I8 ? sizeof(float) * kKvBlock : 0;
  return {.kind = kind,
          .head_dim = head_dim,
          .value_offset = half + scales,
          .key_scale_offset = half,
          .value_scale_offset = half + scales + half,
          .bytes = 2 * (half + scales)};
}

}  // namespace emlx
