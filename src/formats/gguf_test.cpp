#include "formats/gguf.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "formats/gguf_test_writer.h"
#include "formats/test_support.h"

namespace emlx {
namespace {

constexpr std::uint32_t kF32 = 0, kF16 = 1, kQ4_0 = 2, kQ8_0 = 8, kQ4_K = 12;

GgufTestWriter small_file() {
  GgufTestWriter writer;
  writer.text("general.architecture", "llama").u32("n", 7).texts("list", {"a", "", "b"});
  writer.tensor("w", {2, 3}, kF16, "0123456789ab")
      .tensor("q", {32, 1}, kQ8_0, std::string(34, 'q'));
  return writer;
}

void expect_refused(const std::string& file, std::string_view part,
                    ErrorCode code = ErrorCode::InvalidFile) {
  expect_error(code, part, [&] { parse_gguf(raw_bytes(file), "test"); });
}

TEST(Gguf, ReadsTensorsWithTheirAxesOutermostFirst) {
  for (const std::uint32_t version : {2U, 3U}) {
    GgufTestWriter writer = small_file();
    writer.version = version;
    const std::string file = writer.file();
    const GgufContents contents = parse_gguf(raw_bytes(file), "test");
    ASSERT_EQ(contents.tensors.size(), 2U);
    EXPECT_EQ(contents.tensors[0].name, "w");
    EXPECT_EQ(contents.tensors[0].dtype, DType::F16);
    EXPECT_EQ(contents.tensors[0].shape, (std::vector<std::int64_t>{3, 2}));
    EXPECT_EQ(contents.tensors[0].data[11], std::byte{'b'});
    EXPECT_EQ(contents.tensors[1].dtype, DType::Q8_0);
    EXPECT_EQ(contents.tensors[1].data.size(), 34U);
    EXPECT_EQ(contents.tensors[1].data[0], std::byte{'q'});
  }
}

TEST(Gguf, PlacesDataAtTheFilesOwnAlignment) {
  GgufTestWriter writer;
  writer.alignment = 128;
  writer.u32("general.alignment", 128)
      .tensor("a", {1}, kF32, "aaaa")
      .tensor("b", {1}, kF32, "bbbb");
  const std::string file = writer.file();
  const GgufContents contents = parse_gguf(raw_bytes(file), "test");
  EXPECT_EQ(contents.tensors[1].data[0], std::byte{'b'});
  EXPECT_EQ(contents.tensors[1].data.data() - contents.tensors[0].data.data(), 128);
}

TEST(Gguf, ReadsAFileWithoutTensors) {
  EXPECT_TRUE(parse_gguf(raw_bytes(GgufTestWriter().u32("a", 1).file()), "test").tensors.empty());
  const std::string unpadded = "GGUF" + GgufTestWriter::bytes(3) + std::string(16, '\0');
  EXPECT_TRUE(parse_gguf(raw_bytes(unpadded), "test").tensors.empty());
}

TEST(Gguf, SaysWhatIsWrongWithAFile) {
  expect_refused("", "the file is empty");
  expect_refused("GGU", "expected a GGUF file");
  expect_refused("version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer");
  expect_refused("GGUF", "4 bytes of version");
  GgufTestWriter writer = small_file();
  writer.version = 1;
  expect_refused(writer.file(), "version 1 is not supported", ErrorCode::Unsupported);
  writer.version = 4;
  expect_refused(writer.file(), "expected GGUF version 2 or 3, got 4");
  writer.version = 0x03000000;
  expect_refused(writer.file(), "big-endian", ErrorCode::Unsupported);
  expect_refused(small_file().u32("split.count", 2).file(), "split", ErrorCode::Unsupported);
}

TEST(Gguf, CountsAreCheckedAgainstTheFileBeforeAnythingIsRead) {
  const auto head = [](std::uint64_t tensors, std::uint64_t pairs) {
    return "GGUF" + GgufTestWriter::bytes(3) + GgufTestWriter::bytes(tensors) +
           GgufTestWriter::bytes(pairs) + std::string(64, '\0');
  };
  const auto most = std::numeric_limits<std::uint64_t>::max();
  expect_refused(head(most, 0), fmt::format("expected {} tensors", most));
  expect_refused(head(0, most), fmt::format("expected {} metadata pairs", most));
  expect_refused(head(0, 5), "expected 5 metadata pairs, got a file that has 64 bytes left");
}

TEST(Gguf, NamesTensorTypesItDoesNotRead) {
  expect_refused(GgufTestWriter().tensor("w", {256}, kQ4_K, std::string(144, 'x')).file(),
                 R"(tensor "w": tensor type Q4_K is not supported)", ErrorCode::Unsupported);
  expect_refused(GgufTestWriter().tensor("w", {256}, 24, std::string(256, 'x')).file(),
                 "tensor type I8 is not supported", ErrorCode::Unsupported);
  expect_refused(GgufTestWriter().tensor("w", {256}, 4, "x").file(),
                 "tensor type 4 is not supported", ErrorCode::Unsupported);
}

TEST(Gguf, RefusesBadShapes) {
  const auto shaped = [](const std::vector<std::uint64_t>& axes, std::uint32_t type = kF32) {
    return GgufTestWriter().tensor("w", axes, type, std::string(64, 'x')).file();
  };
  EXPECT_NO_THROW(parse_gguf(raw_bytes(shaped({2, 2, 2, 2})), "test"));
  expect_refused(shaped({}), "expected 1 to 4 axes, got 0");
  expect_refused(shaped({1, 1, 1, 1, 1}), "expected 1 to 4 axes, got 5");
  expect_refused(shaped({0}), "expected axes of at least 1, got 0");
  expect_refused(shaped({std::uint64_t{1} << 63}), "expected axes of at least 1");
  expect_refused(shaped({std::uint64_t{1} << 32, std::uint64_t{1} << 32}), "not a possible size");
  expect_refused(shaped({16, 2}, kQ4_0), "Q4_0 [2, 16] is not a possible size");
}

TEST(Gguf, RefusesBadNames) {
  expect_refused(GgufTestWriter().tensor("", {1}, kF32, "aaaa").file(), "a tensor name in UTF-8");
  expect_refused(GgufTestWriter().tensor("\xff", {1}, kF32, "aaaa").file(),
                 "a tensor name in UTF-8");
}

TEST(Gguf, DataMustBeAlignedInsideAndApart) {
  const std::string data(64, 'x');
  const auto placed = [&](std::uint64_t offset) {
    return GgufTestWriter().tensor("a", {8}, kF32, data).tensor_at("b", {4}, kF32, offset).file();
  };
  EXPECT_NO_THROW(parse_gguf(raw_bytes(placed(32)), "test"));
  expect_refused(placed(40), "expected an offset aligned to 32, got 40");
  expect_refused(placed(0), "tensors overlap");
  expect_refused(placed(64), "truncated?");
  expect_refused(placed(std::uint64_t{1} << 63), "truncated?");
  expect_refused(placed(std::numeric_limits<std::uint64_t>::max() - 31), "truncated?");
}

TEST(Gguf, AlignmentMustBeAPowerOfTwo) {
  for (const std::uint32_t alignment : {0U, 24U, 0x80000000U})
    expect_refused(GgufTestWriter().u32("general.alignment", alignment).file(), "a power of two");
  expect_refused(GgufTestWriter().text("general.alignment", "32").file(), "an integer");
}

TEST(Gguf, SurvivesTruncationAndDamageAtEveryByte) {
  const std::string good = small_file().file();
  const auto read_all = [](std::span<const std::byte> file) {
    const GgufContents contents = parse_gguf(file, "test");
    std::size_t bytes = 0;
    for (const TensorView& tensor : contents.tensors) bytes += tensor.data.size();
    contents.metadata.text("general.architecture");
    contents.metadata.integer("n");
    contents.metadata.texts("list");
    return bytes;
  };
  ASSERT_EQ(read_all(raw_bytes(good)), 12U + 34U);
  for (std::size_t length = 0; length < good.size(); ++length) {
    const std::vector<char> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_THROW(read_all(std::as_bytes(std::span(cut))), Error) << length;
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = good;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      try {
        read_all(raw_bytes(damaged));
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()), "");
      }
    }
  }
}

TEST(Gguf, OpensAFile) {
  const TestFolder folder;
  folder.write("model.gguf", small_file().file());
  const GgufFile file = open_gguf(folder / "model.gguf");
  EXPECT_EQ(file.metadata.integer("n"), 7);
  EXPECT_EQ(file.tensors->require("w").data[0], std::byte{'0'});
}

TEST(Gguf, RefusesATensorNamedTwice) {
  const TestFolder folder;
  folder.write(
      "model.gguf",
      GgufTestWriter().tensor("w", {1}, kF32, "aaaa").tensor("w", {1}, kF32, "aaaa").file());
  expect_error(ErrorCode::InvalidFile, R"("w" twice)", [&] { open_gguf(folder / "model.gguf"); });
}

}  // namespace
}  // namespace emlx
