#include "kernels/simd/scalar.h"
// the lanes come first: the functions are written on them
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/body/math.h"

namespace emlx {
namespace {

float exp2_of(float x) {
  return exp2_lanes(splat(x)).v[7];
}

double ulps(double got, double exact) {
  return std::abs(got - exact) / std::ldexp(1.0, std::ilogb(exact) - 23);
}

TEST(Exp2Lanes, AreWithinOneUnitInTheLastPlaceOverTheWholeRange) {
  double worst = 0;
  const auto check = [&](const float* x) {
    const F32 y = exp2_lanes(load(x));
    for (int i = 0; i < 16; ++i)
      worst = std::max(worst, ulps(y.v[i], std::exp2(static_cast<double>(x[i]))));
  };
  constexpr std::uint32_t kStep = 8209;  // every exponent, scattered mantissas
  float x[16];
  const auto bits_of = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  for (std::uint32_t bits = 0; bits + 16 * kStep <= bits_of(127.0F);) {
    for (int i = 0; i < 16; ++i, bits += kStep)
      x[i] = std::bit_cast<float>(bits) * (i % 2 == 0 || bits > bits_of(126.0F) ? 1.0F : -1.0F);
    check(x);
  }
  for (float whole = -126; whole < 127; ++whole) {
    EXPECT_EQ(exp2_of(whole), std::ldexp(1.0F, static_cast<int>(whole)));
    for (int i = 0; i < 16; ++i) x[i] = whole + 0.5F + static_cast<float>(i - 8) * 0x1p-15F;
    check(x);
  }
  EXPECT_LT(worst, 1.0);
}

TEST(Exp2Lanes, ClampAndKeepNans) {
  EXPECT_EQ(exp2_of(-126.5F), 0x1p-126F);
  EXPECT_EQ(exp2_of(-std::numeric_limits<float>::infinity()), 0x1p-126F);
  EXPECT_EQ(exp2_of(128), 0x1p127F);
  EXPECT_EQ(exp2_of(std::numeric_limits<float>::infinity()), 0x1p127F);
  EXPECT_TRUE(std::isnan(exp2_of(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(exp2_of(-std::numeric_limits<float>::quiet_NaN())));
}

TEST(Silu, IsItsDefinitionToTwoUnitsAboveMinusOne) {
  double worst = 0;
  for (float g = -1; g < 20; g += 0x1p-11F) {
    if (g == 0) continue;
    const double x = g;
    worst = std::max(worst, ulps(silu(splat(g)).v[3], x / (1 + std::exp(-x))));
  }
  EXPECT_LT(worst, 2.0);
}

}  // namespace
}  // namespace emlx
