#include <gtest/gtest.h>

#include "kernels/test_support.h"

namespace emlx {
namespace {

constexpr double kUlp = 0x1p-23;  // of 1

TEST(QuantizedColumns, AreTheSameBitsOnEveryInstructionSet) {
  Random random(1);
  for (const int group : {32, 64, 128})
    for (const int columns : {1, 2, 8, 9, 23}) {
      const Inputs in(random, group * 5, columns, 1);
      const Quantized expected(scalar_kernels(), in, group);
      on_every_isa([&](const KernelTable& table) {
        const Quantized x(table, in, group);
        EXPECT_TRUE(same_bits(x.values, expected.values));
        EXPECT_TRUE(same_bits(x.scales, expected.scales));
        EXPECT_TRUE(same_bits(x.sums, expected.sums));
      });
    }
}

// Where kernel_table.h says an input and a group of it stand.
struct Places {
  int cols, group, columns;
  int width(int column) const { return std::min(kBlockColumns, columns - column / 8 * 8); }
  std::size_t value(int column, int k) const {
    const std::size_t block = place(column / 8, 8 * cols, 0);
    return block + place(k / 32, width(column) * 32, column % 8 * 32 + k % 32);
  }
  std::size_t scale(int column, int k) const {
    const std::size_t block = place(column / 8, 8 * (cols / group), 0);
    return block + place(k / group, width(column), column % 8);
  }
};

TEST(QuantizedColumns, HoldEveryInputToHalfAStepOfItsGroup) {
  Random random(2);
  for (const int group : {32, 64, 128})
    for (const float size : {1e-28F, 1.0F, 1e37F}) {
      const Inputs in(random, group * 3, 13);
      for (float& x : in.x) x *= size;
      const Quantized x(fastest_kernels(), in, group);
      const Places places{in.cols, group, 13};
      for (int c = 0; c < 13; ++c)
        for (int first = 0; first < in.cols; first += group) {
          double most = 0, sum = 0;
          for (int k = first; k < first + group; ++k)
            most = std::max(most, std::abs(static_cast<double>(in.column(c)[k])));
          const double scale = x.scales[places.scale(c, first)];
          EXPECT_NEAR(scale, most / 32767, scale * kUlp);
          for (int k = first; k < first + group; ++k) {
            const int q = x.values[places.value(c, k)];
            sum += q;
            ASSERT_LE(std::abs(q), 32767);
            ASSERT_NEAR(q * scale, in.column(c)[k], most * (0.5 / 32767 + 2 * kUlp));
          }
          EXPECT_EQ(x.sums[places.scale(c, first)], static_cast<float>(scale * sum));
        }
    }
}

TEST(QuantizedColumns, RoundTiesToEven) {
  Random random(3);
  const Inputs in(random, 32, 1);
  const float given[] = {32767, 0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 100.5F, -32766.5F};
  const int wanted[] = {32767, 0, 2, 2, 0, -2, 100, -32766};
  std::fill(in.x.begin(), in.x.end(), 0.0F);
  std::copy(std::begin(given), std::end(given), in.x.begin());
  on_every_isa([&](const KernelTable& table) {
    const Quantized x(table, in, 32);
    EXPECT_EQ(x.scales[0], 1);
    for (std::size_t i = 0; i < std::size(wanted); ++i) EXPECT_EQ(x.values[i], wanted[i]);
  });
}

TEST(QuantizedColumns, AGroupWithoutAFiniteMaximumHasScaleNanAndATinyOneZero) {
  Random random(4);
  const Inputs in(random, 96, 3);
  on_every_isa([&](const KernelTable& table) {
    const Quantized before(table, in, 32);
    for (const float bad : {kNan, -kNan, kInfinity, -kInfinity}) {
      const float good = std::exchange(in.column(1)[32 + random.below(32)], bad);
      const Quantized x(table, in, 32);
      for (float& value : in.x)
        if (!std::isfinite(value)) value = good;
      for (std::size_t i = 0; i < 9; ++i) {  // [3 groups][3 columns]
        EXPECT_EQ(std::isnan(x.scales[i]), i == 4);
        EXPECT_EQ(std::isnan(x.sums[i]), i == 4);
        for (std::size_t k = 0; k < 32; ++k)
          EXPECT_EQ(x.values[i * 32 + k], i == 4 ? 0 : before.values[i * 32 + k]);
      }
    }
    const Inputs tiny(random, 64, 1);
    for (int i = 0; i < 64; ++i) tiny.x[static_cast<std::size_t>(i)] = i < 32 ? 9e-31F : 1e-30F;
    const Quantized x(table, tiny, 32);
    EXPECT_EQ(x.scales[0], 0);
    EXPECT_EQ(x.values[0], 0);
    EXPECT_GT(x.scales[1], 0);
    EXPECT_EQ(x.values[32], 32767);
  });
}

TEST(KernelTable, RmsNormIsExactToAFewRoundingsAndTheSameEverywhere) {
  Random random(5);
  for (const auto& [size, padded] :
       {std::pair{1, 16}, {16, 16}, {48, 48}, {70, 128}, {576, 576}, {2560, 2560}}) {
    const auto n = static_cast<std::size_t>(padded);
    const Buffer<float> x = random_floats(random, n), weight = random_floats(random, n);
    std::fill(x.begin() + size, x.end(), 0.0F);
    std::fill(weight.begin() + size, weight.end(), 0.0F);
    double squares = 0;
    for (const float value : x) squares += static_cast<double>(value) * value;
    const double factor = 1 / std::sqrt(squares / size + static_cast<double>(1e-6F));
    Buffer<float> expected(n), out(n);
    scalar_kernels().rms_norm(x.data(), weight.data(), size, padded, 1e-6F, expected.data());
    for (std::size_t i = 0; i < n; ++i)
      EXPECT_NEAR(expected[i], x[i] * factor * weight[i],
                  std::abs(expected[i]) * (padded / 64.0 + 8) * kUlp / 2);
    on_every_isa([&](const KernelTable& table) {
      table.rms_norm(x.data(), weight.data(), size, padded, 1e-6F, out.data());
      EXPECT_TRUE(same_bits(out, expected));
      const float good = std::exchange(x[0], kNan);
      table.rms_norm(x.data(), weight.data(), size, padded, 1e-6F, out.data());
      for (int i = 0; i < size; ++i) EXPECT_TRUE(std::isnan(out[static_cast<std::size_t>(i)]));
      x[0] = kInfinity;
      table.rms_norm(x.data(), weight.data(), size, padded, 1e-6F, out.data());
      EXPECT_TRUE(std::isnan(out[0]));
      x[0] = good;
    });
  }
}

struct RopeCase {
  int size, pairs;
  bool norm;
  float factor;
};

TEST(RopeRow, TurnsPairsExactlyToAFewRoundingsAndTheSameEverywhere) {
  Random random(6);
  for (const RopeCase& test : {RopeCase{2, 1, false, 1},
                               {10, 5, true, 1},
                               {16, 8, false, 0.25F},
                               {40, 20, true, 0.3F},
                               {64, 32, true, 1},
                               {80, 16, false, 1},
                               {96, 18, true, 0.1F},
                               {100, 50, true, 1},
                               {128, 64, true, 0.12F},
                               {256, 128, false, 3},
                               {32, 0, true, 0.5F}}) {
    const int padded = rounded_up(test.size, 16);
    const auto n = static_cast<std::size_t>(padded), pairs = static_cast<std::size_t>(test.pairs);
    const Buffer<float> x = random_floats(random, n), weight = random_floats(random, n);
    std::fill(x.begin() + test.size, x.end(), 0.0F);
    std::fill(weight.begin() + test.size, weight.end(), 0.0F);
    Buffer<float> cosines(pairs), sines(pairs), normed = random_floats(random, n), out(n), again(n);
    for (std::size_t i = 0; i < pairs; ++i) {
      const float angle = random.uniform(0, 6);
      cosines[i] = std::cos(angle);
      sines[i] = std::sin(angle);
    }
    const RopeRow rope{cosines.data(), sines.data(), test.pairs};
    const float* const gain = test.norm ? weight.data() : nullptr;
    std::copy(x.begin(), x.end(), normed.begin());
    if (test.norm)
      scalar_kernels().rms_norm(x.data(), gain, test.size, padded, 1e-5F, normed.data());
    on_every_isa([&](const KernelTable& table) {
      table.head_rope(x.data(), gain, test.size, padded, 1e-5F, rope, test.factor, out.data());
      for (std::size_t i = 0; i < n; ++i) {
        double turned = normed[i], terms = std::abs(turned);
        if (i < 2 * pairs) {
          const double a = normed[i % pairs], b = normed[i % pairs + pairs];
          const double c = cosines[i % pairs], s = sines[i % pairs];
          turned = i < pairs ? a * c - b * s : b * c + a * s;
          terms = std::abs(a) + std::abs(b);
        }
        ASSERT_NEAR(out[i], turned * test.factor, terms * test.factor * 1.5 * kUlp) << i;
      }
      std::copy(x.begin(), x.end(), again.begin());
      table.head_rope(again.data(), gain, test.size, padded, 1e-5F, rope, test.factor,
                      again.data());
      EXPECT_TRUE(same_bits(again, out)) << "in place";
      scalar_kernels().head_rope(x.data(), gain, test.size, padded, 1e-5F, rope, test.factor,
                                 again.data());
      EXPECT_TRUE(same_bits(again, out));
    });
  }
}

// exp(-g) stops at 2^127, so that below -88 (where silu is under 1e-36) only the absolute error is
// small.
TEST(KernelTable, SiluMulIsExactToItsRoundings) {
  Random random(8);
  constexpr std::size_t kMany = 64 * 1000;
  Buffer<float> gate(kMany), up = random_floats(random, kMany), expected(kMany), out(kMany);
  for (float& g : gate) g = random.uniform(-88, 100) * random.uniform(0, 1);
  const float special[] = {0, -0.0F, 1e-40F, 1e38F, -100, -1000, -1e4F};
  std::copy(std::begin(special), std::end(special), gate.begin());
  scalar_kernels().silu_mul(gate.data(), up.data(), kMany, expected.data());
  for (std::size_t i = 0; i < kMany; ++i) {
    const double g = gate[i], wanted = g / (1 + std::exp(-g)) * up[i];
    // -g log2(e) is rounded, which exp raises to an error of its size.
    const double roundings = 4 + (g < 0 ? 1.5 * -g : 0);
    ASSERT_NEAR(expected[i], wanted,
                std::abs(wanted) * roundings * kUlp / 2 + std::abs(g * up[i]) * 0x1p-126 + 0x1p-148)
        << g;
  }
  on_every_isa([&](const KernelTable& table) {
    table.silu_mul(gate.data(), up.data(), kMany, out.data());
    EXPECT_TRUE(same_bits(out, expected));
  });
}

TEST(KernelTable, SiluMulKeepsNansAndInfinities) {
  on_every_isa([](const KernelTable& table) {
    const float bad[] = {kNan, kInfinity, -kInfinity};
    Buffer<float> gate(16), up(16), out(16);
    for (std::size_t i = 0; i < 16; ++i) {
      gate[i] = i < 3 ? bad[i] : 1;
      up[i] = i >= 3 && i < 6 ? bad[i - 3] : 2;
    }
    table.silu_mul(gate.data(), up.data(), 16, out.data());
    for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(std::isfinite(out[i]), i >= 6) << i;
  });
}

TEST(LogSumExp, IsExactToRoundingForEveryCountAndTheSameEverywhere) {
  Random random(9);
  for (int count = 1; count <= 81; ++count) {
    const int n = count <= 80 ? count : 151936;
    Buffer<float> logits = random_floats(random, static_cast<std::size_t>(n), 6);
    if (n > 20) logits[5] = -500;
    const LogSumExp expected = scalar_kernels().log_sum_exp(logits.data(), n);
    EXPECT_EQ(expected.max, *std::max_element(logits.begin(), logits.end()));
    double sum = 0, bound = n * 0x1p-126;
    for (const float logit : logits) {
      const double below = static_cast<double>(logit) - expected.max;
      sum += std::exp(below);
      bound += std::exp(below) * (2 * -below + n / 16.0 + 8) * kUlp / 2;
    }
    EXPECT_NEAR(expected.sum, sum, bound) << n;
    on_every_isa([&](const KernelTable& table) {
      const LogSumExp got = table.log_sum_exp(logits.data(), n);
      EXPECT_TRUE(same_bits(&got.max, &expected.max, 1));
      EXPECT_TRUE(same_bits(&got.sum, &expected.sum, 1));
    });
  }
}

TEST(LogSumExp, HasNoFiniteSumIfALogitIsNanOrInfinite) {
  for (const int n : {1, 15, 16, 17, 40})
    for (int at = 0; at < n; ++at)
      on_every_isa([&](const KernelTable& table) {
        Buffer<float> logits(static_cast<std::size_t>(n));
        for (const float bad : {kNan, -kNan, kInfinity}) {
          logits[static_cast<std::size_t>(at)] = bad;
          EXPECT_TRUE(std::isnan(table.log_sum_exp(logits.data(), n).sum)) << at << " of " << n;
        }
        logits[static_cast<std::size_t>(at)] = -kInfinity;
        const float sum = table.log_sum_exp(logits.data(), n).sum;
        EXPECT_TRUE(n == 1 ? std::isnan(sum) : sum == static_cast<float>(n - 1)) << sum;
      });
}

TEST(KernelTable, FirstAtLeastFindsTheFirstOfTies) {
  Random random(10);
  for (int n = 0; n <= 70; ++n)
    for (int repeat = 0; repeat < 20; ++repeat) {
      Buffer<float> logits(static_cast<std::size_t>(n));
      for (float& logit : logits) {
        logit = static_cast<float>(random.below(8 + n));
        if (random.below(12) == 0) logit = random.below(2) == 0 ? kNan : -kInfinity;
      }
      const float least = static_cast<float>(5 + n);
      int expected = 0;
      while (expected < n && !(logits[static_cast<std::size_t>(expected)] - 1 >= least)) ++expected;
      on_every_isa([&](const KernelTable& table) {
        EXPECT_EQ(table.first_at_least(logits.data(), n, 1, least), expected);
        EXPECT_EQ(table.first_at_least(logits.data(), n, kNan, kNan), n);
      });
    }
}

}  // namespace
}  // namespace emlx
