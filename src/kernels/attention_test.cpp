#include <gtest/gtest.h>

#include "kernels/test_support.h"

namespace emlx {
namespace {

constexpr KvKind kKvKinds[] = {KvKind::F32, KvKind::F16, KvKind::I8};
constexpr double kUlp = 0x1p-23;  // of 1

// Blocks of one KV head, the part of another head before it, and what was written to them.
struct Cache {
  Cache(Random& random, KvKind kind, int head_dim, int position_count,
        std::byte stale = std::byte{0xff})
      : layout(kv_layout(kind, head_dim)), positions(position_count) {
    for (int start = 0; start < positions; start += kKvBlock) {
      memory.emplace_back(2 * layout.bytes);
      std::fill(memory.back().begin(), memory.back().end(), stale);
      blocks.push_back(memory.back().data());
    }
    for (int position = 0; position < positions; ++position) {
      keys.push_back(random_floats(random, size()));
      values.push_back(random_floats(random, size()));
      write(scalar_kernels(), position);
    }
  }

  std::size_t size() const { return static_cast<std::size_t>(layout.head_dim); }
  std::byte* head(int position) const {
    return memory[static_cast<std::size_t>(position / kKvBlock)].data() + layout.bytes;
  }
  void write(const KernelTable& table, int position) const {
    const auto i = static_cast<std::size_t>(position);
    table.kv_write(layout, head(position), position % kKvBlock, keys[i].data(), values[i].data());
  }

  // What a position's element is stored as, read as kernel_table.h lays it out.
  double stored(const std::byte* part, std::size_t element, std::size_t scale_offset,
                int position) const {
    if (layout.kind == KvKind::F32) return read_float(part + element * 4, FloatKind::F32);
    if (layout.kind == KvKind::F16) return read_float(part + element * 2, FloatKind::F16);
    const std::byte* scales = head(position) + scale_offset;
    const auto slot = static_cast<std::size_t>(position % kKvBlock);
    return static_cast<double>(read_float(scales + slot * 4, FloatKind::F32)) *
           static_cast<std::int8_t>(part[element]);
  }
  double key(int position, std::size_t d) const {
    return stored(head(position), d * kKvBlock + static_cast<std::size_t>(position % kKvBlock),
                  layout.key_scale_offset, position);
  }
  double value(int position, std::size_t d) const {
    return stored(head(position) + layout.value_offset,
                  static_cast<std::size_t>(position % kKvBlock) * size() + d,
                  layout.value_scale_offset, position);
  }

  KvLayout layout;
  int positions;
  std::vector<Buffer<std::byte>> memory;
  std::vector<const std::byte*> blocks;
  std::vector<Buffer<float>> keys, values;
};

// Queries [columns][heads][head_dim] of a sequence's last columns, an odd stride between columns.
struct Queries {
  Queries(Random& random, const Cache& cache, int column_count, int head_count)
      : columns(column_count),
        heads(head_count),
        size(cache.size()),
        stride(size * static_cast<std::size_t>(heads) + 3),
        values(random_floats(random, stride * static_cast<std::size_t>(columns) - 3,
                             1.44F / std::sqrt(static_cast<float>(size)))) {}

  const float* at(int column, int head) const {
    return values.data() + static_cast<std::size_t>(column) * stride +
           static_cast<std::size_t>(head) * size;
  }

  int columns, heads;
  std::size_t size, stride;
  Buffer<float> values;
};

// Outputs [columns][heads][head_dim] of a part of the queries.
struct Part {
  int column, columns, head, heads;
};
Buffer<float> attend(const KernelTable& table, const Cache& cache, const Queries& queries,
                     const Part& part) {
  const std::size_t stride = cache.size() * static_cast<std::size_t>(part.heads);
  Buffer<float> out(stride * static_cast<std::size_t>(part.columns));
  const Buffer<float> scratch(attention_scratch(cache.layout.head_dim));
  std::fill(scratch.begin(), scratch.end(), kNan);
  table.attend(cache.layout, {.blocks = cache.blocks.data(),
                              .head_offset = cache.layout.bytes,
                              .queries = queries.at(part.column, part.head),
                              .outputs = out.data(),
                              .query_stride = queries.stride,
                              .output_stride = stride,
                              .columns = part.columns,
                              .heads = part.heads,
                              .first_position = cache.positions - queries.columns + part.column,
                              .scratch = scratch.data()});
  return out;
}
Buffer<float> attend(const KernelTable& table, const Cache& cache, const Queries& queries) {
  return attend(table, cache, queries, {0, queries.columns, 0, queries.heads});
}

void expect_same_on_every_isa(const Cache& cache, const Queries& queries) {
  SCOPED_TRACE(fmt::format("KV kind {}, head {}, {} columns, {} heads, {} positions",
                           static_cast<int>(cache.layout.kind), cache.size(), queries.columns,
                           queries.heads, cache.positions));
  const Buffer<float> expected = attend(scalar_kernels(), cache, queries);
  on_every_isa([&](const KernelTable& table) {
    EXPECT_TRUE(same_bits(attend(table, cache, queries), expected));
  });
}

TEST(KvLayout, WritesAreTheSameBytesOnEveryInstructionSet) {
  Random random(1);
  for (const KvKind kind : kKvKinds)
    for (const int head_dim : {16, 48, 128, 1024}) {
      const Cache expected(random, kind, head_dim, 70, std::byte{0});
      on_every_isa([&](const KernelTable& table) {
        Cache cache(random, kind, head_dim, 70, std::byte{0});
        for (std::size_t i = 0; i < 70; ++i) {
          std::copy_n(expected.keys[i].data(), cache.size(), cache.keys[i].data());
          std::copy_n(expected.values[i].data(), cache.size(), cache.values[i].data());
          cache.write(table, static_cast<int>(i));
        }
        for (std::size_t block = 0; block < 2; ++block)
          EXPECT_TRUE(same_bits(cache.memory[block].data() + cache.layout.bytes,
                                expected.memory[block].data() + cache.layout.bytes,
                                cache.layout.bytes));
      });
    }
}

TEST(KvLayout, HoldsWhatWasWrittenAsItsKindCan) {
  Random random(2);
  for (const KvKind kind : kKvKinds) {
    const Cache cache(random, kind, 80, 67);
    const auto check = [&](double stored, const Buffer<float>& row, std::size_t d) {
      double most = 0;
      for (const float x : row) most = std::max(most, std::abs(static_cast<double>(x)));
      const float half = float16_to_float(float_to_float16(row[d]));
      const double wanted = kind == KvKind::F16 ? half : row[d];
      ASSERT_NEAR(stored, wanted, kind == KvKind::I8 ? most / 254 * (1 + 8 * kUlp) : 0);
    };
    for (int position = 0; position < 67; ++position)
      for (std::size_t d = 0; d < 80; ++d) {
        check(cache.key(position, d), cache.keys[static_cast<std::size_t>(position)], d);
        check(cache.value(position, d), cache.values[static_cast<std::size_t>(position)], d);
      }
    for (std::size_t i = 0; i < cache.layout.bytes; ++i)
      ASSERT_EQ(cache.memory[0][i], std::byte{0xff}) << "the other head's part";
  }
}

TEST(AttentionTask, GivesTheSameBitsOnEveryInstructionSet) {
  Random random(3);
  for (const KvKind kind : kKvKinds)
    for (const int head_dim : {16, 32, 48, 64, 80, 96, 128, 256})
      for (const auto& [columns, heads, positions] :
           {std::array{1, 1, 1}, {1, 2, 64}, {1, 3, 65}, {2, 7, 129}, {2, 8, 193}}) {
        const Cache cache(random, kind, head_dim, positions);
        expect_same_on_every_isa(cache, Queries(random, cache, columns, heads));
      }
}

TEST(AttentionTask, GivesTheSameBitsForEveryColumnCount) {
  Random random(4);
  for (int columns = 1; columns <= 64; ++columns) {
    const Cache cache(random, kKvKinds[columns % 3], 32, columns + columns % 7 * 11);
    expect_same_on_every_isa(cache, Queries(random, cache, columns, 1));
  }
}

TEST(AttentionTask, AQueryIsTheSameAloneAndInAnyGroup) {
  Random random(5);
  for (const KvKind kind : kKvKinds) {
    const Cache cache(random, kind, 48, 161);
    const Queries queries(random, cache, 16, 4);
    on_every_isa([&](const KernelTable& table) {
      std::vector<float> alone;
      for (int column = 0; column < 16; ++column)
        for (int head = 0; head < 4; ++head)
          for (const float x : attend(table, cache, queries, {column, 1, head, 1}))
            alone.push_back(x);
      for (const int heads : {1, 2, 3, 4})
        for (int columns = 1; columns <= 16; ++columns) {
          const int first = random.below(17 - columns), head = random.below(5 - heads);
          const Buffer<float> out = attend(table, cache, queries, {first, columns, head, heads});
          for (int c = 0; c < columns; ++c)
            EXPECT_TRUE(same_bits(out.data() + AffineMatrix::count(c * heads, 48),
                                  alone.data() + AffineMatrix::count((first + c) * 4 + head, 48),
                                  AffineMatrix::count(heads, 48)))
                << columns << " columns, " << heads << " heads";
        }
    });
  }
}

// Errors of a score (its chain of fma, and 2^x of it) move weights; those of the sums add to them.
TEST(AttentionTask, IsExactToItsRoundings) {
  Random random(6);
  for (const KvKind kind : kKvKinds)
    for (const auto& [head_dim, positions] : {std::pair{64, 5}, {128, 200}, {32, 1500}}) {
      const Cache cache(random, kind, head_dim, positions);
      const Queries queries(random, cache, 3, 2);
      const Buffer<float> out = attend(fastest_kernels(), cache, queries);
      for (int row = 0; row < 6; ++row) {
        const float* const query = queries.at(row / 2, row % 2);
        const int seen = positions - 2 + row / 2;
        std::vector<double> weights;
        double total = 0, worst = 0;
        for (int position = 0; position < seen; ++position) {
          double score = 0, terms = 0;
          for (std::size_t d = 0; d < cache.size(); ++d) {
            score += query[d] * cache.key(position, d);
            terms += std::abs(query[d] * cache.key(position, d));
          }
          weights.push_back(std::exp2(score));
          total += weights.back();
          worst = std::max(worst, terms);
        }
        const double roundings = worst * (head_dim + 2) + 16 + positions;
        for (std::size_t d = 0; d < cache.size(); ++d) {
          double exact = 0, terms = 0;
          for (int position = 0; position < seen; ++position) {
            const double term =
                weights[static_cast<std::size_t>(position)] * cache.value(position, d) / total;
            exact += term;
            terms += std::abs(term);
          }
          ASSERT_NEAR(out[static_cast<std::size_t>(row) * cache.size() + d], exact,
                      terms * roundings * kUlp);
        }
      }
    }
}

double mean_change(const Buffer<float>& a, const Buffer<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(static_cast<double>(a[i]) - b[i]);
  return sum / static_cast<double>(a.size());
}

TEST(AttentionTask, NansAndInfinitiesReachTheQueriesThatSeeThemAndNoOther) {
  Random random(7);
  constexpr int kPositions = 140, kColumns = 24, kSize = 48, kFirst = kPositions - kColumns;
  for (const KvKind kind : kKvKinds) {
    const Cache cache(random, kind, kSize, kPositions);
    const Queries queries(random, cache, kColumns, 2);
    for (float& x : queries.values) x = std::abs(x);  // an infinite key's scores are +infinity
    on_every_isa([&](const KernelTable& table) {
      const Buffer<float> before = attend(table, cache, queries);
      for (const int position : {3, 70, kFirst, kFirst + 7, kFirst + 13, kPositions - 1})
        for (const float bad : {kNan, -kNan, kInfinity})
          for (const bool in_key : {true, false}) {
            const auto i = static_cast<std::size_t>(position);
            const auto spoilt = static_cast<std::size_t>(random.below(kSize));
            float& x = in_key ? cache.keys[i][spoilt] : cache.values[i][spoilt];
            const float good = std::exchange(x, bad);
            cache.write(table, position);
            const Buffer<float> now = attend(table, cache, queries);
            x = good;
            cache.write(table, position);
            const bool whole_row = in_key || kind == KvKind::I8;
            for (std::size_t at = 0; at < now.size(); ++at) {
              const int column = static_cast<int>(at) / (2 * kSize);
              const bool sees = kFirst + column >= position;
              if (sees && (whole_row || at % kSize == spoilt))
                ASSERT_FALSE(std::isfinite(now[at])) << position << ", column " << column;
              else
                ASSERT_EQ(now[at], before[at]) << position << ", column " << column;
            }
          }
      // A query's own NaN or infinity stays in its row.
      float& q = queries.values[queries.stride * 5 + kSize + 3];
      const float good = std::exchange(q, kNan);
      const Buffer<float> now = attend(table, cache, queries);
      q = good;
      for (std::size_t at = 0; at < now.size(); ++at)
        ASSERT_TRUE(at / kSize == 11 ? std::isnan(now[at]) : now[at] == before[at]);
    });
  }
}

TEST(AttentionTask, ScoresOfMinusInfinityWeighNothing) {
  Random random(8);
  const Cache cache(random, KvKind::F32, 16, 70);
  const Queries queries(random, cache, 1, 1);
  for (float& x : queries.values) x = std::abs(x);
  on_every_isa([&](const KernelTable& table) {
    const auto with = [&](float key, float value) {
      cache.keys[9][4] = key;
      for (float& x : cache.values[9]) x = value;
      cache.write(table, 9);
      return attend(table, cache, queries);
    };
    EXPECT_TRUE(same_bits(with(-kInfinity, 1), with(-kInfinity, -1)));
    EXPECT_GT(mean_change(with(0, 1), with(0, -1)), 1e-4);
  });
}

TEST(AttentionTask, WhatAQueryDoesNotSeeChangesNothing) {
  for (const KvKind kind : kKvKinds)
    for (const int positions : {1, 17, 63, 66, 100}) {
      Random random(9), same(9);
      const Cache nans(random, kind, 32, positions, std::byte{0xff});
      const Cache zeros(same, kind, 32, positions, std::byte{0});
      const Queries queries(random, nans, std::min(positions, 9), 3);
      on_every_isa([&](const KernelTable& table) {
        EXPECT_TRUE(same_bits(attend(table, nans, queries), attend(table, zeros, queries)));
      });
    }
}

// The highest score's weight is 1 however large it is, and one far below it adds nothing.
TEST(AttentionTask, LargeScoresNeitherOverflowNorVanish) {
  Random random(10);
  const Cache cache(random, KvKind::F32, 16, 200);
  const Queries queries(random, cache, 1, 1);
  for (const int winner : {0, 63, 64, 199})
    on_every_isa([&](const KernelTable& table) {
      for (int position = 0; position < 200; ++position) {
        for (std::size_t d = 0; d < 16; ++d)
          cache.keys[static_cast<std::size_t>(position)][d] =
              queries.values[d] * (position == winner ? 1e6F : -1e6F * (1 + position));
        cache.write(table, position);
      }
      EXPECT_TRUE(
          same_bits(attend(table, cache, queries), cache.values[static_cast<std::size_t>(winner)]));
    });
}

}  // namespace
}  // namespace emlx
