// 16 lanes in four registers: ARMv8-A's Advanced SIMD. simd/scalar.h says what each function is.
#pragma once

#include <arm_neon.h>

#include <cstdint>

namespace emlx {
namespace {

struct F32 {
  float32x4_t v[4];
};
struct I32 {
  int32x4_t v[4];
};

constexpr int kTiles = 1, kMaxColumns = 4, kAccumulators = 4;

template <typename Part>
inline F32 each(Part part) {
  return {{part(0), part(1), part(2), part(3)}};
}
template <typename Part>
inline I32 each_word(Part part) {
  return {{part(0), part(1), part(2), part(3)}};
}

inline F32 splat(float x) {
  return each([&](int) { return vdupq_n_f32(x); });
}
inline F32 load(const float* p) {
  return each([&](int i) { return vld1q_f32(p + 4 * i); });
}
inline void store(float* p, F32 a) {
  for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, a.v[i]);
}
inline F32 load_f16(const std::uint16_t* p) {
  return each([&](int i) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p + 4 * i))); });
}
inline void store_f16(std::uint16_t* p, F32 a) {
  for (int i = 0; i < 4; ++i) vst1_u16(p + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(a.v[i])));
}
inline F32 load_bf16(const std::uint16_t* p) {
  return each([&](int i) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p + 4 * i), 16)); });
}
inline F32 load_i8(const std::int8_t* p) {
  const int8x16_t bytes = vld1q_s8(p);
  const int16x8_t lo = vmovl_s8(vget_low_s8(bytes)), hi = vmovl_high_s8(bytes);
  return {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(lo))), vcvtq_f32_s32(vmovl_high_s16(lo)),
           vcvtq_f32_s32(vmovl_s16(vget_low_s16(hi))), vcvtq_f32_s32(vmovl_high_s16(hi))}};
}

inline F32 add(F32 a, F32 b) {
  return each([&](int i) { return vaddq_f32(a.v[i], b.v[i]); });
}
inline F32 sub(F32 a, F32 b) {
  return each([&](int i) { return vsubq_f32(a.v[i], b.v[i]); });
}
inline F32 mul(F32 a, F32 b) {
  return each([&](int i) { return vmulq_f32(a.v[i], b.v[i]); });
}
inline F32 div(F32 a, F32 b) {
  return each([&](int i) { return vdivq_f32(a.v[i], b.v[i]); });
}
inline F32 fma(F32 a, F32 b, F32 c) {
  return each([&](int i) { return vfmaq_f32(c.v[i], a.v[i], b.v[i]); });
}
inline F32 fms(F32 a, F32 b, F32 c) {
  return each([&](int i) { return vfmaq_f32(vnegq_f32(c.v[i]), a.v[i], b.v[i]); });
}
// By comparison: vmaxq_f32 would turn either operand's NaN into the result.
inline F32 max(F32 a, F32 b) {
  return each([&](int i) { return vbslq_f32(vcgtq_f32(a.v[i], b.v[i]), a.v[i], b.v[i]); });
}
inline F32 min(F32 a, F32 b) {
  return each([&](int i) { return vbslq_f32(vcltq_f32(a.v[i], b.v[i]), a.v[i], b.v[i]); });
}
inline F32 first_lanes(int n, F32 a, F32 b) {
  const int32_t lanes[4] = {0, 1, 2, 3};
  const int32x4_t lane = vld1q_s32(lanes);
  return each(
      [&](int i) { return vbslq_f32(vcgtq_s32(vdupq_n_s32(n - 4 * i), lane), a.v[i], b.v[i]); });
}

inline I32 splat(std::int32_t x) {
  return each_word([&](int) { return vdupq_n_s32(x); });
}
inline I32 load_words(const void* p) {
  const auto* words = static_cast<const std::uint8_t*>(p);
  return each_word([&](int i) { return vreinterpretq_s32_u8(vld1q_u8(words + 16 * i)); });
}
inline I32 add(I32 a, I32 b) {
  return each_word([&](int i) { return vaddq_s32(a.v[i], b.v[i]); });
}
inline I32 max(I32 a, I32 b) {
  return each_word([&](int i) { return vmaxq_s32(a.v[i], b.v[i]); });
}
inline I32 bit_and(I32 a, I32 b) {
  return each_word([&](int i) { return vandq_s32(a.v[i], b.v[i]); });
}
template <int kBits>
inline I32 shift_halves(I32 a) {
  return each_word([&](int i) {
    return vreinterpretq_s32_u16(vshrq_n_u16(vreinterpretq_u16_s32(a.v[i]), kBits));
  });
}
inline I32 dot_pairs(I32 sum, I32 a, I32 b) {
  return each_word([&](int i) {
    const int16x8_t x = vreinterpretq_s16_s32(a.v[i]), y = vreinterpretq_s16_s32(b.v[i]);
    const int32x4_t lo = vmull_s16(vget_low_s16(x), vget_low_s16(y)), hi = vmull_high_s16(x, y);
    return vaddq_s32(sum.v[i], vpaddq_s32(lo, hi));
  });
}

inline F32 to_float(I32 a) {
  return each([&](int i) { return vcvtq_f32_s32(a.v[i]); });
}
inline I32 round(F32 a) {
  return each_word([&](int i) { return vcvtnq_s32_f32(a.v[i]); });
}
inline I32 magnitude_bits(F32 a) {
  return each_word(
      [&](int i) { return vandq_s32(vreinterpretq_s32_f32(a.v[i]), vdupq_n_s32(0x7fffffff)); });
}
inline F32 power_of_two(I32 n) {
  return each([&](int i) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n.v[i], vdupq_n_s32(127)), 23));
  });
}
inline void store_i16(std::int16_t* p, I32 a) {
  for (int i = 0; i < 4; ++i) vst1_s16(p + 4 * i, vmovn_s32(a.v[i]));
}
inline void store_i8(std::int8_t* p, I32 a) {
  const int16x8_t lo = vcombine_s16(vmovn_s32(a.v[0]), vmovn_s32(a.v[1]));
  const int16x8_t hi = vcombine_s16(vmovn_s32(a.v[2]), vmovn_s32(a.v[3]));
  vst1q_s8(p, vcombine_s8(vmovn_s16(lo), vmovn_s16(hi)));
}

inline float reduce_add(F32 a) {
  const float32x4_t b = vaddq_f32(vaddq_f32(a.v[0], a.v[2]), vaddq_f32(a.v[1], a.v[3]));
  const float32x2_t c = vadd_f32(vget_low_f32(b), vget_high_f32(b));
  return vget_lane_f32(c, 0) + vget_lane_f32(c, 1);
}
inline float reduce_max(F32 a) {
  const F32 upper = {{a.v[2], a.v[3], a.v[2], a.v[3]}};
  const F32 b = max(a, upper);
  const F32 c = max(b, {{b.v[1], b.v[1], b.v[1], b.v[1]}});
  float lane[4];
  vst1q_f32(lane, c.v[0]);
  const float even = lane[0] > lane[2] ? lane[0] : lane[2];
  const float odd = lane[1] > lane[3] ? lane[1] : lane[3];
  return even > odd ? even : odd;
}
inline std::int32_t reduce_add(I32 a) {
  return vaddvq_s32(vaddq_s32(vaddq_s32(a.v[0], a.v[1]), vaddq_s32(a.v[2], a.v[3])));
}
inline std::int32_t reduce_max(I32 a) {
  return vmaxvq_s32(vmaxq_s32(vmaxq_s32(a.v[0], a.v[1]), vmaxq_s32(a.v[2], a.v[3])));
}

inline void prefetch(const void* p) {
  __builtin_prefetch(p);
}

}  // namespace
}  // namespace emlx
