// Which vector instructions the kernels use.
#pragma once

#include <string_view>
#include <vector>

namespace emlx {

enum class CpuIsa { Scalar, Avx2, AvxVnni, Avx512, Neon };

std::string_view isa_name(CpuIsa isa) noexcept;  // "scalar", "avx2", "avxvnni", "avx512", "neon"

// Whether this build has the kernels and this machine (and its system) runs them.
bool is_supported(CpuIsa isa) noexcept;

// All that are supported, Scalar first, the fastest last.
std::vector<CpuIsa> supported_isas();

// The fastest supported, or the one EMLX_CPU_ISA names. Throws Error(InvalidArgument) if that is
// unknown, Error(Unsupported) if this machine lacks it.
CpuIsa chosen_isa();

}  // namespace emlx
