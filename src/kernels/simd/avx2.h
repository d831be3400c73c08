// 16 lanes in two registers: AVX2, FMA and F16C, and AVX-VNNI where the file is compiled for it.
// simd/scalar.h says what each function is.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace emlx {
namespace {

struct F32 {
  __m256 lo, hi;
};
struct I32 {
  __m256i lo, hi;
};

constexpr int kTiles = 1, kMaxColumns = 4, kAccumulators = 4;

inline F32 splat(float x) {
  return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
inline F32 load(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
inline void store(float* p, F32 a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
inline __m128i load_8_halves(const std::uint16_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
inline F32 load_f16(const std::uint16_t* p) {
  return {_mm256_cvtph_ps(load_8_halves(p)), _mm256_cvtph_ps(load_8_halves(p + 8))};
}
inline void store_f16(std::uint16_t* p, F32 a) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(a.lo, kNearest));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), _mm256_cvtps_ph(a.hi, kNearest));
}
inline __m256 widen_bf16(__m128i halves) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}
inline F32 load_bf16(const std::uint16_t* p) {
  return {widen_bf16(load_8_halves(p)), widen_bf16(load_8_halves(p + 8))};
}
inline F32 load_i8(const std::int8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
          _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
}

inline F32 add(F32 a, F32 b) {
  return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}
inline F32 sub(F32 a, F32 b) {
  return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}
inline F32 mul(F32 a, F32 b) {
  return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
inline F32 div(F32 a, F32 b) {
  return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}
inline F32 fma(F32 a, F32 b, F32 c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
inline F32 fms(F32 a, F32 b, F32 c) {
  return {_mm256_fmsub_ps(a.lo, b.lo, c.lo), _mm256_fmsub_ps(a.hi, b.hi, c.hi)};
}
inline F32 max(F32 a, F32 b) {
  return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
}
inline F32 min(F32 a, F32 b) {
  return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)};
}
inline F32 first_lanes(int n, F32 a, F32 b) {
  const __m256i limit = _mm256_set1_epi32(n);
  const __m256i lo = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i hi = _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15);
  return {_mm256_blendv_ps(b.lo, a.lo, _mm256_castsi256_ps(_mm256_cmpgt_epi32(limit, lo))),
          _mm256_blendv_ps(b.hi, a.hi, _mm256_castsi256_ps(_mm256_cmpgt_epi32(limit, hi)))};
}

inline I32 splat(std::int32_t x) {
  return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
}
inline I32 load_words(const void* p) {
  const auto* words = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(words), _mm256_loadu_si256(words + 1)};
}
inline I32 add(I32 a, I32 b) {
  return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
inline I32 max(I32 a, I32 b) {
  return {_mm256_max_epi32(a.lo, b.lo), _mm256_max_epi32(a.hi, b.hi)};
}
inline I32 bit_and(I32 a, I32 b) {
  return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)};
}
template <int kBits>
inline I32 shift_halves(I32 a) {
  return {_mm256_srli_epi16(a.lo, kBits), _mm256_srli_epi16(a.hi, kBits)};
}
inline I32 dot_pairs(I32 sum, I32 a, I32 b) {
#ifdef __AVXVNNI__
  return {_mm256_dpwssd_avx_epi32(sum.lo, a.lo, b.lo), _mm256_dpwssd_avx_epi32(sum.hi, a.hi, b.hi)};
#else
  return {_mm256_add_epi32(sum.lo, _mm256_madd_epi16(a.lo, b.lo)),
          _mm256_add_epi32(sum.hi, _mm256_madd_epi16(a.hi, b.hi))};
#endif
}

inline F32 to_float(I32 a) {
  return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)};
}
inline I32 round(F32 a) {
  return {_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)};
}
inline I32 magnitude_bits(F32 a) {
  return bit_and({_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)}, splat(0x7fffffff));
}
inline F32 power_of_two(I32 n) {
  const I32 biased = add(n, splat(127));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(biased.lo, 23)),
          _mm256_castsi256_ps(_mm256_slli_epi32(biased.hi, 23))};
}
// 16 words as 16-bit integers, in order.
inline __m256i narrow_words(I32 a) {
  return _mm256_permute4x64_epi64(_mm256_packs_epi32(a.lo, a.hi), 0xd8);
}
inline void store_i16(std::int16_t* p, I32 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), narrow_words(a));
}
inline void store_i8(std::int8_t* p, I32 a) {
  const __m256i halves = narrow_words(a);
  _mm_storeu_si128(
      reinterpret_cast<__m128i*>(p),
      _mm_packs_epi16(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1)));
}

inline float reduce_add(F32 a) {
  const __m256 b = _mm256_add_ps(a.lo, a.hi);
  __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
  c = _mm_add_ps(c, _mm_movehl_ps(c, c));
  return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}
inline float reduce_max(F32 a) {
  const __m256 b = _mm256_max_ps(a.lo, a.hi);
  __m128 c = _mm_max_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
  c = _mm_max_ps(c, _mm_movehl_ps(c, c));
  return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
}
inline std::int32_t reduce_add(I32 a) {
  const __m256i b = _mm256_add_epi32(a.lo, a.hi);
  __m128i c = _mm_add_epi32(_mm256_castsi256_si128(b), _mm256_extracti128_si256(b, 1));
  c = _mm_add_epi32(c, _mm_shuffle_epi32(c, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(c, _mm_shuffle_epi32(c, 0xb1)));
}
inline std::int32_t reduce_max(I32 a) {
  const __m256i b = _mm256_max_epi32(a.lo, a.hi);
  __m128i c = _mm_max_epi32(_mm256_castsi256_si128(b), _mm256_extracti128_si256(b, 1));
  c = _mm_max_epi32(c, _mm_shuffle_epi32(c, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(c, _mm_shuffle_epi32(c, 0xb1)));
}

inline void prefetch(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}

}  // namespace
}  // namespace emlx
