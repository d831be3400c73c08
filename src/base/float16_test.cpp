#include "base/float16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace emlx {
namespace {

TEST(Float16, ReadsEveryKindOfValue) {
  EXPECT_EQ(float16_to_float(0x3C00), 1.0F);
  EXPECT_EQ(float16_to_float(0xC000), -2.0F);
  EXPECT_EQ(float16_to_float(0x7BFF), 65504.0F);
  EXPECT_EQ(float16_to_float(0x0400), 0x1p-14F);
  EXPECT_EQ(float16_to_float(0x0001), 0x1p-24F);
  EXPECT_EQ(float16_to_float(0x83FF), -1023 * 0x1p-24F);
  EXPECT_TRUE(std::signbit(float16_to_float(0x8000)));
  EXPECT_EQ(float16_to_float(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(float16_to_float(0x7C01)));
}

TEST(Float16, EveryValueSurvivesTheWayToFloatAndBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = float16_to_float(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(float_to_float16(value), bits);
  }
}

// Between two neighbours the nearer one wins, and in the middle the even one.
TEST(Float16, RoundsToNearestEven) {
  for (std::uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const float low = float16_to_float(static_cast<std::uint16_t>(bits));
    const float high = float16_to_float(static_cast<std::uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    EXPECT_EQ(float_to_float16(middle), bits % 2 == 0 ? bits : bits + 1);
    EXPECT_EQ(float_to_float16(std::nextafter(middle, low)), bits);
    EXPECT_EQ(float_to_float16(-std::nextafter(middle, high)), 0x8000U | (bits + 1));
  }
}

TEST(Float16, WhatIsTooLargeBecomesInfinity) {
  EXPECT_EQ(float_to_float16(std::nextafter(65520.0F, 0.0F)), 0x7BFF);
  EXPECT_EQ(float_to_float16(65520.0F), 0x7C00);
  EXPECT_EQ(float_to_float16(-1e30F), 0xFC00);
  EXPECT_EQ(float_to_float16(std::numeric_limits<float>::quiet_NaN()), 0x7E00);
}

TEST(BFloat16, IsTheUpperHalfOfAFloat) {
  EXPECT_EQ(bfloat16_to_float(0x3F80), 1.0F);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(bfloat16_to_float(0xC2F7)), 0xC2F70000U);
}

}  // namespace
}  // namespace emlx
