#include "base/float16.h"

#include <bit>
#include <cmath>

namespace emlx {
namespace {

constexpr std::uint32_t kSign = 0x8000;
constexpr std::uint32_t kInfinity = 0x7C00;
constexpr std::uint32_t kQuietNan = 0x7E00;

}  // namespace

float float16_to_float(std::uint16_t bits) noexcept {
  const std::uint32_t sign = (bits & kSign) << 16;
  const std::uint32_t exponent = (bits >> 10) & 31U;
  const std::uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float value = static_cast<float>(mantissa) * 0x1p-24F;  // zero or subnormal
  return sign != 0 ? -value : value;
}

std::uint16_t float_to_float16(float value) noexcept {
  const std::uint32_t sign = (std::bit_cast<std::uint32_t>(value) >> 16) & kSign;
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | kQuietNan);
  if (magnitude >= 65520.0F) return static_cast<std::uint16_t>(sign | kInfinity);
  if (magnitude < 0x1p-14F) {
    // Adding 0.5 leaves the subnormal's bits, rounded by the addition, at the end of the mantissa.
    const std::uint32_t rounded = std::bit_cast<std::uint32_t>(magnitude + 0.5F) - 0x3F000000U;
    return static_cast<std::uint16_t>(sign | rounded);
  }
  std::uint32_t bits = std::bit_cast<std::uint32_t>(magnitude) - (112U << 23);
  bits += 0xFFFU + ((bits >> 13) & 1U);
  return static_cast<std::uint16_t>(sign | (bits >> 13));
}

float bfloat16_to_float(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace emlx
