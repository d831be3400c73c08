// Functions of 16 lanes built on simd/*.h, of which a kernel file includes one first.
#pragma once

// Loops over registers: the arrays they index must not reach memory.
#define EMLX_UNROLL _Pragma("GCC unroll 16")

namespace emlx {
namespace {

// 2^x, x clamped to [-126, 127]; a NaN stays one. Polynomial for 2^f, f in [-0.5, 0.5]:
// coefficients of the Taylor series ln(2)^k / k! up to 7, relative error below 2^-24 before
// rounding.
inline F32 exp2_lanes(F32 x) {
  x = min(splat(127.0F), max(splat(-126.0F), x));
  const I32 whole = round(x);
  const F32 f = sub(x, to_float(whole));
  F32 p = splat(1.52527338e-5F);
  p = fma(p, f, splat(1.54035304e-4F));
  p = fma(p, f, splat(1.33335581e-3F));
  p = fma(p, f, splat(9.61812911e-3F));
  p = fma(p, f, splat(5.55041087e-2F));
  p = fma(p, f, splat(2.40226507e-1F));
  p = fma(p, f, splat(6.93147181e-1F));
  p = fma(p, f, splat(1.0F));
  return mul(p, power_of_two(whole));
}

constexpr float kLog2E = 1.44269504F;

// g / (1 + exp(-g)).
inline F32 silu(F32 g) {
  return div(g, add(splat(1.0F), exp2_lanes(mul(g, splat(-kLog2E)))));
}

// In 32 lanes: even vectors of 16 in one accumulator, odd ones in another. n a multiple of 16.
inline float sum_squares(const float* x, int n) {
  F32 even = splat(0.0F), odd = splat(0.0F);
  int i = 0;
  for (; i + 32 <= n; i += 32) {
    const F32 a = load(x + i), b = load(x + i + 16);
    even = fma(a, a, even);
    odd = fma(b, b, odd);
  }
  if (i < n) {
    const F32 a = load(x + i);
    even = fma(a, a, even);
  }
  return reduce_add(add(even, odd));
}

inline float inverse_rms(const float* x, int size, int padded, float eps) {
  return 1.0F / __builtin_sqrtf(sum_squares(x, padded) / static_cast<float>(size) + eps);
}

}  // namespace
}  // namespace emlx
