#include <gtest/gtest.h>

#include "kernels/test_support.h"

namespace emlx {
namespace {

constexpr Epilogue kEpilogues[] = {Epilogue::Store, Epilogue::Add, Epilogue::SiluMul};

struct Run {
  Epilogue epilogue = Epilogue::Store;
  const float* bias = nullptr;
  int first = 0, last = -1;  // panels; -1: to the end
};

// Outputs [columns][32 panels], at first ramps, by `multiply`; where not written they stay.
template <typename Multiply>
Buffer<float> outputs(int columns, int panels, const Run& run, Multiply multiply) {
  const std::size_t stride = static_cast<std::size_t>(panels) * kPanelRows;
  Buffer<float> y(stride * static_cast<std::size_t>(columns));
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = 0.25F * static_cast<float>(i % 7);
  multiply(run.first, run.last < 0 ? panels : run.last,
           MatmulOutput{y.data(), stride, run.epilogue, run.bias});
  return y;
}

// The two kinds of matrices under one face: `product` multiplies inputs [first, first + columns).
struct Affine {
  Affine(Random& random, int rows, int cols, int bits, int group, FloatKind kind)
      : matrix(random, rows, cols, bits, group, kind), panels(pack(matrix)) {}

  Buffer<float> product(const KernelTable& table, const Inputs& in, int first, int columns,
                        const Run& run = {}) const {
    const Quantized x(table, in, matrix.group, first, columns);
    return outputs(columns, panels.count, run, [&](int from, int to, const MatmulOutput& out) {
      table.matmul_affine(panels.view, from, to, x.view(), columns, out);
    });
  }

  AffineMatrix matrix;
  Panels<AffinePanels> panels;
};

struct Dense {
  Dense(Random& random, int rows, int col_count, FloatKind float_kind)
      : cols(rounded_up(col_count, kRowPad)),
        kind(float_kind),
        panels{Buffer<std::byte>(dense_panel_bytes(cols, kind) * count(rows)), {}, count(rows)} {
    const std::size_t row_bytes = static_cast<std::size_t>(col_count) * float_bytes(kind);
    Buffer<std::byte> row(row_bytes);
    for (int i = 0; i < rows; ++i) {
      for (std::size_t at = 0; at < row_bytes; at += float_bytes(kind))
        write_float(row.data() + at, kind, random.normal());
      pack_dense_row(row.data(), col_count, kind,
                     panels.bytes.data() + static_cast<std::size_t>(i / kPanelRows) * panel_bytes(),
                     i % kPanelRows);
    }
    panels.view = {panels.bytes.data(), panel_bytes(), cols, kind};
  }

  static int count(int rows) { return rounded_up(rows, kPanelRows) / kPanelRows; }
  std::size_t panel_bytes() const { return dense_panel_bytes(cols, kind); }
  std::byte* element(int row, int col) const {
    return panels.bytes.data() + static_cast<std::size_t>(row / kPanelRows) * panel_bytes() +
           (static_cast<std::size_t>(col) * kPanelRows +
            static_cast<std::size_t>(row % kPanelRows)) *
               float_bytes(kind);
  }
  Buffer<float> product(const KernelTable& table, const Inputs& in, int first, int columns,
                        const Run& run = {}) const {
    return outputs(columns, panels.count, run, [&](int from, int to, const MatmulOutput& out) {
      table.matmul_dense(panels.view, from, to, in.column(first), in.stride, columns, out);
    });
  }

  int cols;
  FloatKind kind;
  Panels<DensePanels> panels;
};

template <typename Matrix>
void expect_same_on_every_isa(const Matrix& matrix, const Inputs& in, int columns,
                              const Run& run = {}) {
  SCOPED_TRACE(fmt::format("{} cols, {} columns", in.cols, columns));
  const Buffer<float> expected = matrix.product(scalar_kernels(), in, 0, columns, run);
  on_every_isa([&](const KernelTable& table) {
    EXPECT_TRUE(same_bits(matrix.product(table, in, 0, columns, run), expected));
  });
}

TEST(AffinePanels, GiveTheSameBitsOnEveryInstructionSet) {
  Random random(1);
  const Inputs in(random, 256, 17);
  const Buffer<float> bias = random_floats(random, 64);
  for (const int bits : {4, 8})
    for (const int group : {32, 64, 128})
      for (const FloatKind kind : kFloatKinds) {
        const Affine matrix(random, 64, in.cols, bits, group, kind);
        for (const int columns : {1, 2, 3, 7, 17})
          for (const Epilogue epilogue : kEpilogues)
            expect_same_on_every_isa(matrix, in, columns, {epilogue, bias.data()});
      }
}

// 5 panels: what is walked four at a time and what remains.
TEST(AffinePanels, GiveTheSameBitsForEveryColumnCount) {
  Random random(2);
  const Inputs in(random, 128, 64);
  const Affine matrix(random, 160, in.cols, 4, 64, FloatKind::F16);
  for (int columns = 1; columns <= 64; ++columns) expect_same_on_every_isa(matrix, in, columns);
}

TEST(AffinePanels, TakeRaggedColumnsFewRowsAndTheLargestSums) {
  Random random(3);
  for (const int cols : {32, 96, 160, 2560, 9728}) {
    const Inputs in(random, cols, 9);
    for (const int bits : {4, 8})
      expect_same_on_every_isa(Affine(random, 5, cols, bits, 32, FloatKind::BF16), in,
                               cols < 1000 ? 9 : 3);
  }
  Affine largest(random, 32, 256, 8, 128, FloatKind::F32);
  for (std::byte& byte : largest.matrix.values) byte = std::byte{255};
  largest.panels = pack(largest.matrix);
  const Inputs ones(random, 256, 3);
  for (float& x : ones.x) x = 7;
  expect_same_on_every_isa(largest, ones, 3);
  const Buffer<float> y = largest.product(fastest_kernels(), ones, 0, 1);
  for (int row = 0; row < 32; ++row) {
    double sum = 0;
    for (int col = 0; col < 256; ++col) sum += 7 * largest.matrix.weight(row, col);
    EXPECT_NEAR(y[static_cast<std::size_t>(row)], sum, 1e-5 * std::abs(sum) + 1e-3);
  }
}

// Exact inputs would leave |W| |x| roundings of float32; int16 adds half a step of each group.
TEST(AffinePanels, AreAsExactAsTheirInputsSteps) {
  Random random(4);
  const Inputs in(random, 512, 4);
  for (const int bits : {2, 3, 4, 5, 6, 8})
    for (const int group : {32, 64, 128}) {
      const Affine matrix(random, 64, in.cols, bits, group, FloatKind::F16);
      const Buffer<float> y = matrix.product(fastest_kernels(), in, 0, in.columns);
      for (int c = 0; c < in.columns; ++c)
        for (int row = 0; row < 64; ++row) {
          double exact = 0, steps = 0, terms = 0;
          for (int first = 0; first < in.cols; first += group) {
            double most = 0, weights = 0;
            for (int k = first; k < first + group; ++k) {
              const double x = in.column(c)[k], w = matrix.matrix.weight(row, k);
              exact += w * x;
              weights += std::abs(w);
              most = std::max(most, std::abs(x));
              terms += std::abs(x) * (std::abs(w - matrix.matrix.bias(row, k)) +
                                      std::abs(matrix.matrix.bias(row, k)));
            }
            steps += weights * most / 65534;
          }
          const int roundings = 2 * (in.cols / group) + 4;
          EXPECT_NEAR(y[place(c, 64, row)], exact, steps * (1 + 1e-3) + terms * roundings * 0x1p-24)
              << bits << " bits, group " << group;
        }
    }
}

TEST(DensePanels, GiveTheSameBitsOnEveryInstructionSet) {
  Random random(5);
  const Buffer<float> bias = random_floats(random, 64);
  for (const FloatKind kind : kFloatKinds)
    for (const int cols : {64, 96, 160, 9728}) {
      const Dense matrix(random, cols < 1000 ? 64 : 3, cols, kind);
      // An odd stride: no column but the first is aligned.
      const Inputs in(random, matrix.cols, cols < 1000 ? 9 : 2, 1);
      for (const Epilogue epilogue : kEpilogues)
        expect_same_on_every_isa(matrix, in, in.columns, {epilogue, bias.data()});
    }
}

TEST(DensePanels, GiveTheSameBitsForEveryColumnCount) {
  Random random(6);
  const Dense matrix(random, 64, 64, FloatKind::BF16);
  const Inputs in(random, 64, 64);
  for (int columns = 1; columns <= 64; ++columns) expect_same_on_every_isa(matrix, in, columns);
}

TEST(DensePanels, AreAsExactAsFloat32Sums) {
  Random random(7);
  for (const FloatKind kind : kFloatKinds) {
    const Dense matrix(random, 40, 448, kind);
    const int roundings = 448 / 4 + 2;
    const Inputs in(random, 448, 5);
    const Buffer<float> y = matrix.product(fastest_kernels(), in, 0, in.columns);
    for (int c = 0; c < in.columns; ++c)
      for (int row = 0; row < 64; ++row) {
        double exact = 0, terms = 0;
        for (int k = 0; k < in.cols; ++k) {
          const double term =
              static_cast<double>(read_float(matrix.element(row, k), kind)) * in.column(c)[k];
          exact += term;
          terms += std::abs(term);
        }
        if (row >= 40) {
          EXPECT_EQ(exact, 0) << "a row that is not there";
        }
        EXPECT_NEAR(y[place(c, 64, row)], exact, terms * roundings * 0x1p-24);
      }
  }
}

template <typename Matrix>
void expect_columns_alone_equal_columns_together(const Matrix& matrix, const Inputs& in) {
  on_every_isa([&](const KernelTable& table) {
    std::vector<Buffer<float>> alone;
    for (int c = 0; c < in.columns; ++c) alone.push_back(matrix.product(table, in, c, 1));
    for (int columns = 2; columns <= in.columns; ++columns) {
      const int first = columns % 3 < in.columns - columns ? columns % 3 : 0;
      const Buffer<float> together = matrix.product(table, in, first, columns);
      for (int c = 0; c < columns; ++c) {
        const int column = first + c;
        const Buffer<float>& expected = alone[static_cast<std::size_t>(column)];
        EXPECT_TRUE(same_bits(together.data() + static_cast<std::size_t>(c) * expected.size(),
                              expected.data(), expected.size()))
            << "column " << c << " of " << columns;
      }
    }
  });
}

TEST(AffinePanels, AColumnIsTheSameAloneAndAmongOthers) {
  Random random(8);
  const Inputs in(random, 64, 64);
  expect_columns_alone_equal_columns_together(Affine(random, 32, 64, 4, 32, FloatKind::F16), in);
  const Inputs fewer(random, 64, 20);
  expect_columns_alone_equal_columns_together(Affine(random, 32, 64, 8, 32, FloatKind::F16), fewer);
}

TEST(DensePanels, AColumnIsTheSameAloneAndAmongOthers) {
  Random random(9);
  const Inputs in(random, 64, 40, 3);
  expect_columns_alone_equal_columns_together(Dense(random, 32, 64, FloatKind::F32), in);
}

// Whatever follows a product is what the kernels for it alone would give.
template <typename Matrix>
void expect_epilogues_follow_products(const Matrix& matrix, const Inputs& in, const float* bias) {
  on_every_isa([&](const KernelTable& table) {
    const int columns = in.columns, rows = matrix.panels.count * kPanelRows;
    const auto product = [&](const Run& run) { return matrix.product(table, in, 0, columns, run); };
    const Buffer<float> plain = product({}), with_bias = product({Epilogue::Store, bias});
    const Buffer<float> added = product({Epilogue::Add, bias});
    const Buffer<float> gated = product({Epilogue::SiluMul, bias});
    const Buffer<float> before = outputs(columns, matrix.panels.count, {}, [](auto&&...) {});
    Buffer<float> activated(16);
    for (int c = 0; c < columns; ++c)
      for (int row = 0; row < rows; ++row) {
        const auto i = place(c, rows, row);
        EXPECT_EQ(with_bias[i], plain[i] + bias[row]);
        EXPECT_EQ(added[i], before[i] + with_bias[i]);
        if (row % 32 != 0) continue;
        const float* const panel = with_bias.data() + i;
        table.silu_mul(panel, panel + 16, 16, activated.data());
        EXPECT_TRUE(same_bits(gated.data() + place(c, rows, row / 2), activated.data(), 16));
      }
    const std::size_t half = static_cast<std::size_t>(rows / 2);
    EXPECT_TRUE(same_bits(gated.data() + half, before.data() + half, half));
  });
}

TEST(AffinePanels, EpiloguesFollowTheProduct) {
  Random random(10);
  const Inputs in(random, 128, 11);
  const Buffer<float> bias = random_floats(random, 64);
  expect_epilogues_follow_products(Affine(random, 64, 128, 4, 64, FloatKind::F32), in, bias.data());
  expect_epilogues_follow_products(Dense(random, 64, 128, FloatKind::F16), in, bias.data());
}

TEST(AffinePanels, OnlyTheGivenPanelsAreComputed) {
  Random random(11);
  const Inputs in(random, 64, 18);
  const Affine affine(random, 32 * 7, 64, 4, 32, FloatKind::F32);
  const Dense dense(random, 32 * 7, 64, FloatKind::F32);
  const auto check = [&](const KernelTable& table, const auto& matrix) {
    const Buffer<float> whole = matrix.product(table, in, 0, in.columns);
    const Buffer<float> before = outputs(in.columns, 7, {}, [](auto&&...) {});
    for (const auto& [first, last] : {std::pair{0, 0}, {1, 2}, {1, 6}, {2, 7}}) {
      const Buffer<float> part =
          matrix.product(table, in, 0, in.columns, {Epilogue::Store, nullptr, first, last});
      for (std::size_t i = 0; i < part.size(); ++i) {
        const int panel = static_cast<int>(i / kPanelRows) % 7;
        ASSERT_EQ(part[i], panel >= first && panel < last ? whole[i] : before[i]);
      }
    }
  };
  on_every_isa([&](const KernelTable& table) {
    check(table, affine);
    check(table, dense);
  });
}

// `spoilt` outputs are not finite, the others as before.
void expect_spoilt(const Buffer<float>& now, const Buffer<float>& before, auto spoilt) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (spoilt(static_cast<int>(i))) {
      ASSERT_FALSE(std::isfinite(now[i])) << i;
    } else {
      ASSERT_EQ(now[i], before[i]) << i;
    }
  }
}

TEST(AffinePanels, NansAndInfinitiesReachWhatDependsOnThemAndNothingElse) {
  Random random(12);
  const Inputs in(random, 128, 11);
  for (const FloatKind kind : kFloatKinds)
    for (const float bad : {kNan, kInfinity, -kInfinity})
      for (const Epilogue epilogue : {Epilogue::Store, Epilogue::SiluMul}) {
        Affine matrix(random, 32, 128, 4, 32, kind);
        const int rows = 32;
        const auto column_of = [](int i) { return i / rows; };
        const auto touches = [&](int i, int row) {
          return epilogue == Epilogue::Store ? i % rows == row : i % rows == row % 16;
        };
        on_every_isa([&](const KernelTable& table) {
          const auto product = [&] { return matrix.product(table, in, 0, 11, {epilogue}); };
          const Buffer<float> before = product();
          for (Buffer<std::byte>* part : {&matrix.matrix.scales, &matrix.matrix.biases}) {
            const int row = random.below(rows);
            std::byte* const at = part->data() + matrix.matrix.scale_at(row, random.below(4));
            const float good = read_float(at, kind);
            write_float(at, kind, bad);
            matrix.panels = pack(matrix.matrix);
            expect_spoilt(product(), before, [&](int i) { return touches(i, row); });
            write_float(at, kind, good);
            matrix.panels = pack(matrix.matrix);
          }
          float& x = in.column(6)[random.below(128)];
          const float good = std::exchange(x, bad);
          expect_spoilt(product(), before, [&](int i) {
            return column_of(i) == 6 && (epilogue == Epilogue::Store || i % rows < 16);
          });
          x = good;
        });
      }
}

TEST(DensePanels, NansAndInfinitiesReachWhatDependsOnThemAndNothingElse) {
  Random random(13);
  const Inputs in(random, 128, 11);
  for (const FloatKind kind : kFloatKinds)
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
      const Dense matrix(random, 32, 128, kind);
      on_every_isa([&](const KernelTable& table) {
        const Buffer<float> before = matrix.product(table, in, 0, 11);
        const int row = random.below(32), col = random.below(128);
        const float weight = read_float(matrix.element(row, col), kind);
        write_float(matrix.element(row, col), kind, bad);
        expect_spoilt(matrix.product(table, in, 0, 11), before,
                      [&](int i) { return i % 32 == row; });
        write_float(matrix.element(row, col), kind, weight);
        const float x = std::exchange(in.column(6)[col], bad);
        expect_spoilt(matrix.product(table, in, 0, 11), before, [](int i) { return i / 32 == 6; });
        in.column(6)[col] = x;
      });
    }
}

TEST(Buffer, EndsWhereMemoryEnds) {
  const Buffer<float> buffer(3);
  const volatile float* const end = buffer.data() + buffer.size();
  EXPECT_EQ(end[-1], 0);
  EXPECT_DEATH((void)*end, "");
}

}  // namespace
}  // namespace emlx
