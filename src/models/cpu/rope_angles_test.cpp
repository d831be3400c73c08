#include "models/cpu/rope_angles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <vector>

namespace emlx {
namespace {

using Step = std::function<long double(int)>;  // radians a position, of a pair

// One float32 ulp of `expected`, where the angle's own error in doubles is smaller than that.
void expect_close(float got, long double expected, double angle) {
  const auto nearest = static_cast<float>(expected);
  const float ulp = std::nextafter(std::abs(nearest), 2.0F) - std::abs(nearest);
  const double allowed = ulp + angle * 20 * std::numeric_limits<double>::epsilon();
  EXPECT_NEAR(got, nearest, allowed) << "angle " << angle;
}

void expect_angles(const RopeSpec& spec, const Step& step) {
  const RopeAngles angles(spec);
  ASSERT_EQ(angles.pairs(), spec.dims / 2);
  std::vector<float> cosines(static_cast<std::size_t>(angles.pairs())), sines(cosines);
  for (const int position : {0, 1, 2, 63, 64, 1000, 4097, 40959, 131071, 1 << 20, (1 << 26) - 1}) {
    angles.write(position, cosines.data(), sines.data());
    for (int i = 0; i < angles.pairs(); ++i) {
      const long double angle = position * step(i);
      const auto at = static_cast<std::size_t>(i);
      expect_close(cosines[at], std::cos(angle), static_cast<double>(angle));
      expect_close(sines[at], std::sin(angle), static_cast<double>(angle));
    }
  }
}

Step plain(const RopeSpec& spec) {
  return [spec](int i) {
    return std::pow(static_cast<long double>(spec.theta), -2.0L * i / spec.dims);
  };
}

TEST(RopeAngles, AreThoseOfTheMathLibrary) {
  for (const float theta : {1e4F, 1e5F, 1e6F, 5e5F})
    for (const int dims : {16, 24, 64, 80, 128}) {
      const RopeSpec spec{.dims = dims, .theta = theta};
      expect_angles(spec, plain(spec));
    }
}

TEST(RopeAngles, LinearOnesAreScaled) {
  const RopeSpec spec{.kind = RopeSpec::Kind::Linear, .dims = 64, .theta = 1e4F, .scale = 0.25F};
  expect_angles(spec, [&](int i) { return plain(spec)(i) / 4; });
}

// Turns over the original context decide: few are stretched, many kept, others between.
TEST(RopeAngles, Llama3StretchesLongWavelengths) {
  const RopeSpec spec{.kind = RopeSpec::Kind::Llama3,
                      .dims = 128,
                      .theta = 5e5F,
                      .factor = 32,
                      .low_freq_factor = 1,
                      .high_freq_factor = 4,
                      .original_max_positions = 8192};
  int kept = 0, stretched = 0, between = 0;
  const auto step = [&](int i) -> long double {
    const long double fast = plain(spec)(i),
                      turns = 8192 * fast / (2 * std::numbers::pi_v<long double>);
    const long double part = (turns - 1) / (4 - 1);
    if (part >= 1) return ++kept, fast;
    if (part <= 0) return ++stretched, fast / 32;
    return ++between, part * fast + (1 - part) * fast / 32;
  };
  expect_angles(spec, step);
  EXPECT_GT(kept, 0);
  EXPECT_GT(stretched, 0);
  EXPECT_GT(between, 0);
}

TEST(RopeAngles, OfNoDimensionsAreNone) {
  EXPECT_EQ(RopeAngles({.dims = 0}).pairs(), 0);
}

}  // namespace
}  // namespace emlx
