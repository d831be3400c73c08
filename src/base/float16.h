// The two 16-bit floating-point formats, as bits.
#pragma once

#include <cstdint>

namespace emlx {

// IEEE 754 binary16. Every value, NaN payloads aside, survives the way to float and back.
float float16_to_float(std::uint16_t bits) noexcept;
// Rounds to nearest, ties to even; what is too large becomes an infinity.
std::uint16_t float_to_float16(float value) noexcept;

// bfloat16: the upper half of a float.
float bfloat16_to_float(std::uint16_t bits) noexcept;

}  // namespace emlx
