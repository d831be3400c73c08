#include "kernels/packed_matrix.h"

#include <gtest/gtest.h>

#include "kernels/test_support.h"

namespace emlx {
namespace {

// A column of zeros and one 32767 is quantized exactly, so its product is a column of the matrix.
void expect_every_weight(const AffineMatrix& matrix) {
  const Panels<AffinePanels> panels = pack(matrix);
  const std::size_t stride = static_cast<std::size_t>(panels.count) * kPanelRows;
  Random random(0);
  Inputs in(random, matrix.cols, 64);
  Buffer<float> y(stride * 64);
  for (int first = 0; first < matrix.cols; first += 64) {
    const int columns = std::min(64, matrix.cols - first);
    for (float& x : in.x) x = 0;
    for (int c = 0; c < columns; ++c) in.column(c)[first + c] = 32767;
    const Quantized x(fastest_kernels(), in, matrix.group, 0, columns);
    fastest_kernels().matmul_affine(panels.view, 0, panels.count, x.view(), columns,
                                    {y.data(), stride, Epilogue::Store, nullptr});
    for (int c = 0; c < columns; ++c)
      for (int row = 0; row < static_cast<int>(stride); ++row) {
        const double weight = row < matrix.rows ? matrix.weight(row, first + c) : 0;
        ASSERT_EQ(y[static_cast<std::size_t>(c) * stride + static_cast<std::size_t>(row)],
                  static_cast<float>(32767 * weight))
            << "row " << row << ", column " << first + c;
      }
  }
}

// 40 rows: the second panel's other 24 must give zeros.
TEST(AffineRows, EveryWeightOfEveryWidthArrivesExactly) {
  Random random(1);
  for (const int bits : {2, 3, 4, 5, 6, 8})
    for (const int group : {32, 64, 128})
      for (const FloatKind kind : kFloatKinds) {
        SCOPED_TRACE(fmt::format("{} bits, group {}", bits, group));
        AffineMatrix matrix(random, 40, rounded_up(160, group), bits, group, kind);
        for (std::size_t at = 0; at < matrix.scales.size(); at += float_bytes(kind)) {
          write_float(matrix.scales.data() + at, kind, std::ldexp(1.0F, -random.below(4)));
          write_float(matrix.biases.data() + at, kind, static_cast<float>(-random.below(16)));
        }
        expect_every_weight(matrix);
      }
}

TEST(AffineRows, PanelsHoldWhatIsSaidOfThem) {
  EXPECT_EQ(panel_bits(2), 4);
  EXPECT_EQ(panel_bits(4), 4);
  EXPECT_EQ(panel_bits(5), 8);
  EXPECT_EQ(affine_panel_bytes(128, 3, 64, FloatKind::F16), 2U * (64 * 16 + 2 * 32 * 2));
  EXPECT_EQ(affine_panel_bytes(128, 6, 128, FloatKind::F32), 128U * 32 + 2 * 32 * 4);
  EXPECT_EQ(dense_panel_bytes(64, FloatKind::BF16), 64U * 32 * 2);
}

TEST(AffineRows, ARowTouchesItsOwnPlacesOnly) {
  Random random(2);
  for (const int bits : {3, 4, 6, 8}) {
    const AffineMatrix matrix(random, 2, 128, bits, 64, FloatKind::F16);
    const std::size_t size = affine_panel_bytes(128, bits, 64, FloatKind::F16);
    Buffer<std::byte> both(size), first(size), second(size);
    pack_affine_row(matrix.packed(), 0, both.data(), 17);
    pack_affine_row(matrix.packed(), 1, both.data(), 2);
    pack_affine_row(matrix.packed(), 0, first.data(), 17);
    pack_affine_row(matrix.packed(), 1, second.data(), 2);
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_EQ(both[i], first[i] | second[i]);
      ASSERT_TRUE(first[i] == std::byte{0} || second[i] == std::byte{0});
    }
  }
}

TEST(DensePanels, HoldARowAtItsPlaceInEveryColumn) {
  Random random(3);
  for (const FloatKind kind : kFloatKinds) {
    const std::size_t size = float_bytes(kind);
    Buffer<std::byte> row(70 * size), panel(dense_panel_bytes(128, kind));
    for (std::byte& byte : row) byte = static_cast<std::byte>(random.bits() | 1);
    pack_dense_row(row.data(), 70, kind, panel.data(), 19);
    for (std::size_t i = 0; i < panel.size(); ++i) {
      const std::size_t col = i / size / kPanelRows;
      const bool here = i / size % kPanelRows == 19 && col < 70;
      ASSERT_EQ(panel[i], here ? row[col * size + i % size] : std::byte{0});
    }
  }
}

}  // namespace
}  // namespace emlx
