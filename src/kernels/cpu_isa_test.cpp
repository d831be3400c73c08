#include "kernels/cpu_isa.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <set>
#include <string>

#include "base/test_support.h"
#include "kernels/kernel_table.h"

namespace emlx {
namespace {

// Sets EMLX_CPU_ISA for its lifetime.
class Forced {
 public:
  explicit Forced(const char* value) {
    if (const char* const before = std::getenv(kName)) before_ = before;
    value == nullptr ? ::unsetenv(kName) : ::setenv(kName, value, 1);
  }
  Forced(const Forced&) = delete;
  Forced& operator=(const Forced&) = delete;
  ~Forced() { before_ ? ::setenv(kName, before_->c_str(), 1) : ::unsetenv(kName); }

 private:
  static constexpr const char* kName = "EMLX_CPU_ISA";
  std::optional<std::string> before_;
};

TEST(CpuIsa, TheFastestIsChosenUnlessOneIsNamed) {
  for (const char* const nothing : {static_cast<const char*>(nullptr), ""}) {
    const Forced none(nothing);
    EXPECT_EQ(chosen_isa(), supported_isas().back());
  }
}

TEST(CpuIsa, TheNamedOneIsChosenAndItsKernelsAreUsed) {
  std::set<const void*> functions;
  for (const CpuIsa isa : supported_isas()) {
    const Forced name(std::string(isa_name(isa)).c_str());
    const KernelTable& table = kernels(chosen_isa());
    EXPECT_EQ(isa_name(table.isa), isa_name(isa));
    functions.insert(reinterpret_cast<const void*>(table.matmul_affine));
  }
  EXPECT_EQ(functions.size(), supported_isas().size());
}

TEST(CpuIsa, AnUnknownNameIsRefusedInOneLine) {
  for (const char* const name : {"sse", "AVX2", "avx2 ", "avx\n2", "0"}) {
    const Forced wrong(name);
    expect_error(ErrorCode::InvalidArgument,
                 "expected scalar, avx2, avxvnni, avx512 or neon, got \"", [] { chosen_isa(); });
  }
}

TEST(CpuIsa, WhatThisMachineLacksIsRefusedInOneLine) {
  int lacking = 0;
  for (const CpuIsa isa : {CpuIsa::Avx2, CpuIsa::AvxVnni, CpuIsa::Avx512, CpuIsa::Neon}) {
    if (is_supported(isa)) continue;
    ++lacking;
    const std::string name(isa_name(isa));
    const Forced wrong(name.c_str());
    expect_error(ErrorCode::Unsupported, "this machine has no " + name + " (it has scalar",
                 [] { chosen_isa(); });
  }
  EXPECT_GE(lacking, 1) << "no machine is both";
}

TEST(CpuIsa, WhatIsSupportedIsWhatTheProcessorHas) {
  EXPECT_EQ(supported_isas().front(), CpuIsa::Scalar);
#if defined(__x86_64__)
  EXPECT_FALSE(is_supported(CpuIsa::Neon));
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  EXPECT_EQ(is_supported(CpuIsa::Avx2), avx2);
  EXPECT_EQ(is_supported(CpuIsa::Avx512),
            avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512vnni"));
#elif defined(__aarch64__)
  EXPECT_EQ(supported_isas(), (std::vector{CpuIsa::Scalar, CpuIsa::Neon}));
#endif
}

}  // namespace
}  // namespace emlx
