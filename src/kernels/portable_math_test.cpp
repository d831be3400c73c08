#include "kernels/portable_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/test_support.h"

namespace emlx {
namespace {

constexpr int kMany = 100000;

// Distance in units of the last place of the exact value.
double ulps(double got, long double exact) {
  if (exact == 0) return got == 0 ? 0 : 1e9;
  const double unit = std::ldexp(1.0, std::ilogb(static_cast<double>(exact)) - 52);
  return static_cast<double>(std::abs(got - exact)) / unit;
}

TEST(PortableMath, LogIsWithinTwoUnitsOverAllNormalNumbers) {
  Random random(1);
  double worst = 0;
  const auto check = [&](double x) {
    worst = std::max(worst, ulps(portable_log(x), std::log(static_cast<long double>(x))));
  };
  for (int i = 0; i < kMany; ++i) {
    check(std::ldexp(1 + random.unit(), random.below(2046) - 1022));
    check(0.5 + 1.5 * random.unit());
    check(1 + (random.unit() - 0.5) * std::ldexp(1.0, -random.below(50)));
  }
  check(std::numeric_limits<double>::min());
  check(std::numeric_limits<double>::max());
  check(std::sqrt(2.0));
  EXPECT_LT(worst, 2);
  EXPECT_EQ(portable_log(1), 0);
}

TEST(PortableMath, ExpIsWithinTwoUnitsOverItsRange) {
  Random random(2);
  double worst = 0;
  const auto check = [&](double x) {
    worst = std::max(worst, ulps(portable_exp(x), std::exp(static_cast<long double>(x))));
  };
  for (int i = 0; i < kMany; ++i) {
    check(1400 * (random.unit() - 0.5));
    check((random.unit() - 0.5) * std::ldexp(1.0, -random.below(60)));
  }
  check(700);
  check(-700);
  EXPECT_LT(worst, 2);
  EXPECT_EQ(portable_exp(0), 1);
}

TEST(PortableMath, SineAndCosineAreExactTo1e15) {
  Random random(3);
  long double worst = 0;
  const auto check = [&](double x) {
    const SinCos got = portable_sincos(x);
    worst = std::max(worst, std::abs(got.sine - std::sin(static_cast<long double>(x))));
    worst = std::max(worst, std::abs(got.cosine - std::cos(static_cast<long double>(x))));
  };
  for (int i = 0; i < kMany; ++i) {
    check(0x1p27 * random.unit());
    check(std::ldexp(random.unit(), 27 - random.below(80)));
    check(std::round(random.unit() * 0x1p26) * 1.5707963267948966);  // a root of one of them
  }
  check(std::nextafter(0x1p27, 0));
  EXPECT_LT(worst, 1e-15L);
  EXPECT_EQ(portable_sincos(0).sine, 0);
  EXPECT_EQ(portable_sincos(0).cosine, 1);
}

}  // namespace
}  // namespace emlx
