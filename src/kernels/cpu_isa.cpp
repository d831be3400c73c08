#include "kernels/cpu_isa.h"

#include <fmt/ranges.h>

#include <cstdlib>

#include "base/error.h"
#include "base/quote.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace emlx {
namespace {

constexpr CpuIsa kAll[] = {CpuIsa::Scalar, CpuIsa::Neon, CpuIsa::Avx2, CpuIsa::AvxVnni,
                           CpuIsa::Avx512};

#if defined(__x86_64__)
struct X86Features {
  bool avx2 = false, avxvnni = false, avx512 = false;
};

// Intel SDM, CPUID leaves 1 and 7, and XCR0: the system must save what we would use.
X86Features detect() noexcept {
  X86Features found;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return found;
  const bool osxsave = (c >> 27 & 1) != 0, fma = (c >> 12 & 1) != 0, f16c = (c >> 29 & 1) != 0;
  if (!osxsave) return found;
  unsigned saved = 0, high = 0;
  __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return found;
  const bool avx2 = (b >> 5 & 1) != 0;
  const bool f = (b >> 16 & 1) != 0, dq = (b >> 17 & 1) != 0, bw = (b >> 30 & 1) != 0,
             vl = (b >> 31 & 1) != 0, vnni = (c >> 11 & 1) != 0;
  found.avx2 = avx2 && fma && f16c && (saved & 0x06) == 0x06;
  found.avx512 = found.avx2 && f && dq && bw && vl && vnni && (saved & 0xe6) == 0xe6;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) found.avxvnni = found.avx2 && (a >> 4 & 1) != 0;
  return found;
}

const X86Features& features() noexcept {
  static const X86Features found = detect();
  return found;
}
#endif

}  // namespace

std::string_view isa_name(CpuIsa isa) noexcept {
  switch (isa) {
    case CpuIsa::Scalar:
      return "scalar";
    case CpuIsa::Avx2:
      return "avx2";
    case CpuIsa::AvxVnni:
      return "avxvnni";
    case CpuIsa::Avx512:
      return "avx512";
    case CpuIsa::Neon:
      return "neon";
  }
  return "unknown";
}

bool is_supported(CpuIsa isa) noexcept {
  switch (isa) {
    case CpuIsa::Scalar:
      return true;
#if defined(__x86_64__)
    case CpuIsa::Avx2:
      return features().avx2;
    case CpuIsa::AvxVnni:
      return features().avxvnni;
    case CpuIsa::Avx512:
      return features().avx512;
#elif defined(__aarch64__)
    case CpuIsa::Neon:
      return true;
#endif
    default:
      return false;
  }
}

std::vector<CpuIsa> supported_isas() {
  std::vector<CpuIsa> found;
  for (const CpuIsa isa : kAll)
    if (is_supported(isa)) found.push_back(isa);
  return found;
}

CpuIsa chosen_isa() {
  const char* const wanted = std::getenv("EMLX_CPU_ISA");
  if (wanted == nullptr || *wanted == '\0') return supported_isas().back();
  std::vector<std::string_view> here;
  for (const CpuIsa isa : supported_isas()) here.push_back(isa_name(isa));
  for (const CpuIsa isa : kAll) {
    if (isa_name(isa) != wanted) continue;
    if (is_supported(isa)) return isa;
    fail(ErrorCode::Unsupported, "EMLX_CPU_ISA: this machine has no {} (it has {})", wanted,
         fmt::join(here, ", "));
  }
  fail(ErrorCode::InvalidArgument,
       "EMLX_CPU_ISA: expected scalar, avx2, avxvnni, avx512 or neon, got {}", quote(wanted));
}

}  // namespace emlx
