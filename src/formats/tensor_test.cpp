#include "formats/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "formats/test_support.h"

namespace emlx {
namespace {

using Shape = std::vector<std::int64_t>;

TEST(Tensor, SizesArePlainElementsOrWholeBlocks) {
  EXPECT_EQ(byte_size(DType::F32, Shape{}), 4);
  EXPECT_EQ(byte_size(DType::F16, Shape{3, 5}), 30);
  EXPECT_EQ(byte_size(DType::U64, Shape{7, 0}), 0);
  EXPECT_EQ(byte_size(DType::Q4_0, Shape{2, 64}), 2 * 2 * 18);
  EXPECT_EQ(byte_size(DType::Q4_1, Shape{2, 64}), 2 * 2 * 20);
  EXPECT_EQ(byte_size(DType::Q8_0, Shape{2, 64}), 2 * 2 * 34);
}

TEST(Tensor, BlocksDoNotCrossRows) {
  EXPECT_EQ(byte_size(DType::Q4_0, Shape{4, 16}), std::nullopt);
  EXPECT_EQ(byte_size(DType::Q8_0, Shape{}), std::nullopt);
}

TEST(Tensor, ImpossibleSizesAreNoSize) {
  EXPECT_EQ(byte_size(DType::U8, Shape{-1}), std::nullopt);
  EXPECT_EQ(byte_size(DType::U8, Shape{INT64_MAX}), INT64_MAX);
  EXPECT_EQ(byte_size(DType::U8, Shape{INT64_MAX, 2}), std::nullopt);
  EXPECT_EQ(byte_size(DType::U16, Shape{INT64_MAX}), std::nullopt);
  EXPECT_EQ(byte_size(DType::F32, Shape{std::int64_t{1} << 32, std::int64_t{1} << 32}),
            std::nullopt);
}

TEST(Tensor, ReadsUnalignedElementsOfThreeTypes) {
  // -2.5 after one byte of something else.
  const auto read = [](std::string_view bytes, DType dtype) {
    return read_float(raw_bytes(bytes).data() + 1, dtype);
  };
  EXPECT_EQ(read(std::string_view("x\0\0\x20\xC0", 5), DType::F32), -2.5F);
  EXPECT_EQ(read(std::string_view("x\0\xC1", 3), DType::F16), -2.5F);
  EXPECT_EQ(read("x\x20\xC0", DType::BF16), -2.5F);
}

TEST(Tensor, NamesAndShapesPrint) {
  EXPECT_STREQ(to_string(DType::BF16), "BF16");
  EXPECT_STREQ(to_string(DType::Q4_1), "Q4_1");
  EXPECT_EQ(to_string(Shape{2, 3}), "[2, 3]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

}  // namespace
}  // namespace emlx
