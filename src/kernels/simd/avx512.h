// 16 lanes in one register: AVX-512 F, BW, DQ, VL and VNNI. simd/scalar.h says what each function
// is.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace emlx {
namespace {

struct F32 {
  __m512 v;
};
struct I32 {
  __m512i v;
};

// Accumulators the matmul and attention kernels may hold: 16 of 32 registers.
constexpr int kTiles = 2, kMaxColumns = 8, kAccumulators = 16;

inline F32 splat(float x) {
  return {_mm512_set1_ps(x)};
}
inline F32 load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
inline void store(float* p, F32 a) {
  _mm512_storeu_ps(p, a.v);
}
inline F32 load_f16(const std::uint16_t* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
inline void store_f16(std::uint16_t* p, F32 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline F32 load_bf16(const std::uint16_t* p) {
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16))};
}
inline F32 load_i8(const std::int8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes))};
}

inline F32 add(F32 a, F32 b) {
  return {_mm512_add_ps(a.v, b.v)};
}
inline F32 sub(F32 a, F32 b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
inline F32 mul(F32 a, F32 b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
inline F32 div(F32 a, F32 b) {
  return {_mm512_div_ps(a.v, b.v)};
}
inline F32 fma(F32 a, F32 b, F32 c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
inline F32 fms(F32 a, F32 b, F32 c) {
  return {_mm512_fmsub_ps(a.v, b.v, c.v)};
}
inline F32 max(F32 a, F32 b) {
  return {_mm512_max_ps(a.v, b.v)};
}
inline F32 min(F32 a, F32 b) {
  return {_mm512_min_ps(a.v, b.v)};
}
inline F32 first_lanes(int n, F32 a, F32 b) {
  const __mmask16 mask = n >= 16 ? 0xffff : static_cast<__mmask16>((1U << n) - 1U);
  return {_mm512_mask_mov_ps(b.v, mask, a.v)};
}

inline I32 splat(std::int32_t x) {
  return {_mm512_set1_epi32(x)};
}
inline I32 load_words(const void* p) {
  return {_mm512_loadu_si512(p)};
}
inline I32 add(I32 a, I32 b) {
  return {_mm512_add_epi32(a.v, b.v)};
}
inline I32 max(I32 a, I32 b) {
  return {_mm512_max_epi32(a.v, b.v)};
}
inline I32 bit_and(I32 a, I32 b) {
  return {_mm512_and_si512(a.v, b.v)};
}
template <int kBits>
inline I32 shift_halves(I32 a) {
  return {_mm512_srli_epi16(a.v, kBits)};
}
inline I32 dot_pairs(I32 sum, I32 a, I32 b) {
  return {_mm512_dpwssd_epi32(sum.v, a.v, b.v)};
}

inline F32 to_float(I32 a) {
  return {_mm512_cvtepi32_ps(a.v)};
}
inline I32 round(F32 a) {
  return {_mm512_cvtps_epi32(a.v)};
}
inline I32 magnitude_bits(F32 a) {
  return {_mm512_and_si512(_mm512_castps_si512(a.v), _mm512_set1_epi32(0x7fffffff))};
}
inline F32 power_of_two(I32 n) {
  return {
      _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n.v, _mm512_set1_epi32(127)), 23))};
}
inline void store_i16(std::int16_t* p, I32 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(a.v));
}
inline void store_i8(std::int8_t* p, I32 a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a.v));
}

inline float reduce_add(F32 a) {
  const __m256 b = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
  c = _mm_add_ps(c, _mm_movehl_ps(c, c));
  return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}
inline float reduce_max(F32 a) {
  const __m256 b = _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  __m128 c = _mm_max_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
  c = _mm_max_ps(c, _mm_movehl_ps(c, c));
  return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
}
inline std::int32_t reduce_add(I32 a) {
  return _mm512_reduce_add_epi32(a.v);
}
inline std::int32_t reduce_max(I32 a) {
  return _mm512_reduce_max_epi32(a.v);
}

inline void prefetch(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}

}  // namespace
}  // namespace emlx
