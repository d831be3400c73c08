// 16 lanes in plain C++: the reference. Every simd/*.h defines the same functions, each with the
// same bits for every input that is not a NaN; kernels are written once on top of them (body/).
#pragma once

#include <cstdint>

namespace emlx {
namespace {

constexpr int kWidth = 16;

struct F32 {
  float v[kWidth];
};
struct I32 {
  std::int32_t v[kWidth];
};

// What a matmul holds in registers at once: tiles of 16 rows, and columns; and the accumulators an
// attention kernel may hold. They change speed only.
constexpr int kTiles = 1, kMaxColumns = 2, kAccumulators = 4;

template <typename Lane>
inline F32 each(Lane lane) {
  F32 out;
  for (int i = 0; i < kWidth; ++i) out.v[i] = lane(i);
  return out;
}
template <typename Lane>
inline I32 each_word(Lane lane) {
  I32 out;
  for (int i = 0; i < kWidth; ++i) out.v[i] = lane(i);
  return out;
}
template <typename To, typename From>
inline To bit_copy(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

// Loads and stores take any alignment and move 16 elements.
inline F32 splat(float x) {
  return each([&](int) { return x; });
}
inline F32 load(const float* p) {
  return each([&](int i) { return p[i]; });
}
inline void store(float* p, F32 a) {
  for (int i = 0; i < kWidth; ++i) p[i] = a.v[i];
}

inline float widen_f16(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16, magnitude = half & 0x7fffU;
  if (magnitude >= 0x7c00U) {  // infinity or NaN; a signalling NaN becomes quiet
    const std::uint32_t quiet = magnitude > 0x7c00U ? 0x400000U : 0U;
    return bit_copy<float>(sign | 0x7f800000U | quiet | (magnitude & 0x3ffU) << 13);
  }
  // Subnormals included: the exponent is moved by 112 with an exact product.
  const float moved = bit_copy<float>(magnitude << 13) * 0x1p112F;
  return bit_copy<float>(bit_copy<std::uint32_t>(moved) | sign);
}
// Rounds to nearest, ties to even; above 65504 (rounded) to infinity.
inline std::uint16_t narrow_f16(float x) {
  const std::uint32_t bits = bit_copy<std::uint32_t>(x), magnitude = bits & 0x7fffffffU;
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  if (magnitude > 0x7f800000U)
    return static_cast<std::uint16_t>(sign | 0x7e00U | (magnitude >> 13 & 0x1ffU));
  if (magnitude >= 0x477ff000U) return sign | 0x7c00U;
  if (magnitude < 0x38800000U)  // subnormal: adding 0.5 leaves units of 2^-24, rounded
    return static_cast<std::uint16_t>(
        sign | (bit_copy<std::uint32_t>(bit_copy<float>(magnitude) + 0.5F) - 0x3f000000U));
  const std::uint32_t rounded = magnitude + 0xfffU + (magnitude >> 13 & 1U);
  return static_cast<std::uint16_t>(sign | (rounded - 0x38000000U) >> 13);
}
inline F32 load_f16(const std::uint16_t* p) {
  return each([&](int i) { return widen_f16(p[i]); });
}
inline void store_f16(std::uint16_t* p, F32 a) {
  for (int i = 0; i < kWidth; ++i) p[i] = narrow_f16(a.v[i]);
}
inline F32 load_bf16(const std::uint16_t* p) {
  return each([&](int i) { return bit_copy<float>(std::uint32_t{p[i]} << 16); });
}
inline F32 load_i8(const std::int8_t* p) {
  return each([&](int i) { return static_cast<float>(p[i]); });
}

inline F32 add(F32 a, F32 b) {
  return each([&](int i) { return a.v[i] + b.v[i]; });
}
inline F32 sub(F32 a, F32 b) {
  return each([&](int i) { return a.v[i] - b.v[i]; });
}
inline F32 mul(F32 a, F32 b) {
  return each([&](int i) { return a.v[i] * b.v[i]; });
}
inline F32 div(F32 a, F32 b) {
  return each([&](int i) { return a.v[i] / b.v[i]; });
}
// a * b + c and a * b - c, rounded once.
inline F32 fma(F32 a, F32 b, F32 c) {
  return each([&](int i) { return __builtin_fmaf(a.v[i], b.v[i], c.v[i]); });
}
inline F32 fms(F32 a, F32 b, F32 c) {
  return each([&](int i) { return __builtin_fmaf(a.v[i], b.v[i], -c.v[i]); });
}
// The second operand if either is a NaN, as x86 has it.
inline F32 max(F32 a, F32 b) {
  return each([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}
inline F32 min(F32 a, F32 b) {
  return each([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
}
// Lanes below n of a, the others of b; n >= 0.
inline F32 first_lanes(int n, F32 a, F32 b) {
  return each([&](int i) { return i < n ? a.v[i] : b.v[i]; });
}

inline I32 splat(std::int32_t x) {
  return each_word([&](int) { return x; });
}
inline I32 load_words(const void* p) {
  I32 out;
  __builtin_memcpy(out.v, p, sizeof out.v);
  return out;
}
inline I32 add(I32 a, I32 b) {
  return each_word([&](int i) { return a.v[i] + b.v[i]; });
}
inline I32 max(I32 a, I32 b) {
  return each_word([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}
inline I32 bit_and(I32 a, I32 b) {
  return each_word([&](int i) { return a.v[i] & b.v[i]; });
}
// Both 16-bit halves of each lane shifted right, zeros coming in.
template <int kBits>
inline I32 shift_halves(I32 a) {
  return each_word([&](int i) {
    const auto word = static_cast<std::uint32_t>(a.v[i]);
    return static_cast<std::int32_t>((word >> 16 >> kBits) << 16 | (word & 0xffffU) >> kBits);
  });
}
// sum + a.low * b.low + a.high * b.high, the halves being signed 16-bit integers.
inline I32 dot_pairs(I32 sum, I32 a, I32 b) {
  const auto low = [](std::int32_t x) {
    return static_cast<std::int32_t>(static_cast<std::int16_t>(x));
  };
  return each_word([&](int i) {
    return sum.v[i] + low(a.v[i]) * low(b.v[i]) + (a.v[i] >> 16) * (b.v[i] >> 16);
  });
}

inline F32 to_float(I32 a) {
  return each([&](int i) { return static_cast<float>(a.v[i]); });
}
// To the nearest integer, ties to even; |a| < 2^22 or a NaN (any integer).
inline I32 round(F32 a) {
  return each_word([&](int i) {
    return bit_copy<std::int32_t>(a.v[i] + 0x1.8p23F) - bit_copy<std::int32_t>(0x1.8p23F);
  });
}
// The bits of |a|: ordered as the values are, NaNs above infinity.
inline I32 magnitude_bits(F32 a) {
  return each_word([&](int i) { return bit_copy<std::int32_t>(a.v[i]) & 0x7fffffff; });
}
// 2^n for n in [-126, 127].
inline F32 power_of_two(I32 n) {
  return each(
      [&](int i) { return bit_copy<float>((static_cast<std::uint32_t>(n.v[i]) + 127U) << 23); });
}
// Lanes must fit.
inline void store_i16(std::int16_t* p, I32 a) {
  for (int i = 0; i < kWidth; ++i) p[i] = static_cast<std::int16_t>(a.v[i]);
}
inline void store_i8(std::int8_t* p, I32 a) {
  for (int i = 0; i < kWidth; ++i) p[i] = static_cast<std::int8_t>(a.v[i]);
}

// Lanes i and i + 8 first, then i and i + 4, i + 2, i + 1.
inline float reduce_add(F32 a) {
  for (int half = kWidth / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) a.v[i] = a.v[i] + a.v[i + half];
  return a.v[0];
}
inline float reduce_max(F32 a) {
  for (int half = kWidth / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) a.v[i] = a.v[i] > a.v[i + half] ? a.v[i] : a.v[i + half];
  return a.v[0];
}
inline std::int32_t reduce_add(I32 a) {
  std::int32_t sum = 0;
  for (const std::int32_t lane : a.v) sum += lane;
  return sum;
}
inline std::int32_t reduce_max(I32 a) {
  std::int32_t most = a.v[0];
  for (const std::int32_t lane : a.v) most = lane > most ? lane : most;
  return most;
}

inline void prefetch(const void*) {}

}  // namespace
}  // namespace emlx
