#include "models/affine.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/float16.h"
#include "base/mapped_file.h"
#include "formats/test_support.h"

namespace emlx {
namespace {

constexpr int kRows = 8, kCols = 64, kHeads = 2;

std::vector<float> dequantize(const AffineMatrix& matrix) {
  std::vector<float> values;
  for (int row = 0; row < matrix.rows; ++row) {
    for (int col = 0; col < matrix.cols; ++col) {
      const auto at = static_cast<std::size_t>(row) * static_cast<std::size_t>(matrix.cols) +
                      static_cast<std::size_t>(col);
      const std::size_t group = at / static_cast<std::size_t>(matrix.group_size);
      const std::size_t bit = at * static_cast<std::size_t>(matrix.bits);
      const std::uint32_t q = (matrix.packed[bit / 32] >> (bit % 32)) & ((1U << matrix.bits) - 1);
      values.push_back(matrix.scales[group] * static_cast<float>(q) + matrix.biases[group]);
    }
  }
  return values;
}

// Fixtures were made by tests/data/gguf_blocks/make.py with another implementation.
class AffineBlocks : public testing::TestWithParam<DType> {
 protected:
  AffineBlocks() : blocks_(path(".blocks")), values_(path(".values")) {}

  std::filesystem::path path(const char* suffix) const {
    return std::filesystem::path(EMLX_TEST_DATA) / "gguf_blocks" /
           (std::string(to_string(GetParam())) + suffix);
  }
  Matrix matrix() const {
    return {.name = "test",
            .rows = kRows,
            .cols = kCols,
            .encoding = MatrixEncoding::GgufBlock,
            .dtype = GetParam(),
            .data = blocks_.bytes(),
            .interleaved_heads = kHeads};
  }
  std::vector<float> expected() const {
    std::vector<float> values(values_.bytes().size() / sizeof(float));
    std::memcpy(values.data(), values_.bytes().data(), values_.bytes().size());
    return values;
  }

  MappedFile blocks_, values_;
};

// Q4_1 adds a float16 that need not be a multiple of the scale, so the reference's float32 sum
// rounds as ours does; the other two are exact.
TEST_P(AffineBlocks, HoldTheSameValuesWithTheRowsInOrder) {
  const AffineMatrix affine = to_affine(matrix());
  EXPECT_EQ(affine.bits, GetParam() == DType::Q8_0 ? 8 : 4);
  EXPECT_EQ(affine.group_size, 32);
  EXPECT_EQ(affine.packed.size(), static_cast<std::size_t>(kRows * kCols * affine.bits / 32));
  EXPECT_EQ(dequantize(affine), expected());
}

TEST_P(AffineBlocks, ScalesAndBiasesAreFloat16sTimesPowersOfTwo) {
  const AffineMatrix affine = to_affine(matrix());
  for (const auto* list : {&affine.scales, &affine.biases})
    for (const float value : *list) EXPECT_EQ(float16_to_float(float_to_float16(value)), value);
}

INSTANTIATE_TEST_SUITE_P(Types, AffineBlocks,
                         testing::Values(DType::Q4_0, DType::Q4_1, DType::Q8_0),
                         [](const auto& type) { return std::string(to_string(type.param)); });

TEST(Affine, TakesOnlyGgufBlocks) {
  expect_error(ErrorCode::InvalidArgument, "expected a matrix of GGUF blocks",
               [] { to_affine(Matrix{.name = "dense"}); });
}

TEST(Affine, UndoesInterleavedRows) {
  // Two heads of four: the file has each head's rows 0, 2, 1, 3.
  const std::string file = "00221133446655770";
  const auto rows = ordered_rows(raw_bytes(file).first(16), 8, 2);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(rows.data()), rows.size()),
            "0011223344556677");
  const auto plain = ordered_rows(raw_bytes("aabb"), 2, 0);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(plain.data()), plain.size()), "aabb");
}

}  // namespace
}  // namespace emlx
