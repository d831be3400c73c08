#include "formats/safetensors.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/mapped_file.h"
#include "formats/json_file.h"
#include "formats/test_support.h"

namespace emlx {
namespace {

std::string file_bytes(std::string_view header, std::string_view data) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>((header.size() >> (8 * i)) & 0xFF);
  return file.append(header).append(data);
}

// {"NAME":{"dtype":"U8","shape":[SIZE],"data_offsets":[BEGIN,BEGIN+SIZE]}}'s inner part.
std::string entry(const std::string& name, int begin, int size) {
  return fmt::format(R"("{}":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}})", name, size,
                     begin, begin + size);
}

void expect_refused(const std::string& file, std::string_view part,
                    ErrorCode code = ErrorCode::InvalidFile) {
  expect_error(code, part, [&] { parse_safetensors(raw_bytes(file), "test"); });
}

TEST(Safetensors, ReadsTensorsInTheOrderOfTheirData) {
  const std::string file = file_bytes(
      R"({"__metadata__":{"format":"mlx"},"b":{"dtype":"F16","shape":[1,2],"data_offsets":[2,6]},)"
      R"("a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},)"
      R"("empty":{"dtype":"F32","shape":[3,0],"data_offsets":[2,2]}}   )",
      "abCDEF");
  const auto tensors = parse_safetensors(raw_bytes(file), "test");
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].dtype, DType::I8);
  EXPECT_EQ(tensors[1].name, "empty");
  EXPECT_EQ(tensors[2].name, "b");
  EXPECT_EQ(tensors[2].shape, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(
      std::string(reinterpret_cast<const char*>(tensors[2].data.data()), tensors[2].data.size()),
      "CDEF");
}

TEST(Safetensors, MetadataOfNullIsNone) {
  EXPECT_TRUE(
      parse_safetensors(raw_bytes(file_bytes(R"({"__metadata__":null})", "")), "test").empty());
}

// Files from public bug reports; expected.json says what the safetensors package makes of them.
TEST(Safetensors, AgreesWithTheReferenceOnBadFiles) {
  const std::filesystem::path folder = std::filesystem::path(EMLX_TEST_DATA) / "safetensors";
  const JsonValue expected = read_json_object(folder / "expected.json", 1 << 20);
  ASSERT_EQ(expected.get_object().size(), 14U);
  for (const auto& item : expected.get_object()) {
    const std::string name(item.key());
    const MappedFile file(folder / name);
    if (const JsonValue* shapes = item.value().get_object().if_contains("ok")) {
      const auto tensors = parse_safetensors(file.bytes(), name);
      ASSERT_EQ(tensors.size(), shapes->get_object().size()) << name;
      for (const TensorView& tensor : tensors)
        EXPECT_EQ(JsonValue(JsonArray(tensor.shape.begin(), tensor.shape.end())),
                  shapes->get_object().at(tensor.name));
    } else {
      expect_error(ErrorCode::InvalidFile, name, [&] { parse_safetensors(file.bytes(), name); });
    }
  }
}

TEST(Safetensors, SaysWhatIsWrongWithAFile) {
  expect_refused("", "the file is empty");
  expect_refused("1234567", "got 7 bytes");
  expect_refused("version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "Git LFS pointer");
  expect_refused("<!DOCTYPE html><html>", "HTML page");
  expect_refused("PK\x03\x04 and more bytes", "zip archive");
  expect_refused(file_bytes("{}", "").substr(0, 8), "expected a header of 2 bytes");
  expect_refused(file_bytes("[]", ""), "expected a JSON object");
  expect_refused(file_bytes(" {}", ""), "expected a JSON object");
  expect_refused(file_bytes("", ""), "incomplete");
  expect_refused(file_bytes("{} {", ""), "extra data");
}

TEST(Safetensors, RefusesBadEntries) {
  expect_refused(file_bytes(R"({"a":1})", ""), R"(tensor "a": expected a JSON object)");
  expect_refused(file_bytes(R"({"a":{"shape":[],"data_offsets":[0,1]}})", "x"), "dtype is missing");
  expect_refused(file_bytes(R"({"a":{"dtype":1,"shape":[],"data_offsets":[0,1]}})", "x"),
                 "expected a dtype name");
  expect_refused(file_bytes(R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", "x"),
                 "shape is missing");
  expect_refused(file_bytes(R"({"a":{"dtype":"U8","shape":[1]}})", "x"), "data_offsets is missing");
  expect_refused(file_bytes(R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", "x"),
                 "expected shape of integers >= 0, got \"1.0\"");
  expect_refused(file_bytes(R"({"a":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})", "x"),
                 "expected shape to be a list");
  expect_refused(file_bytes(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,1]}})", "x"),
                 "list of 2 integers");
  expect_refused(file_bytes(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", "x"),
                 "in order, got [1, 0]");
  expect_refused(
      file_bytes(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551615]}})",
                 "x"),
      "data_offsets of integers");
  expect_refused(file_bytes(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", "x"),
                 "expected shape of integers >= 0, got \"-1\"");
  expect_refused(file_bytes(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[-1,0]}})", "x"),
                 "expected data_offsets of integers >= 0, got \"-1\"");
  expect_refused(file_bytes(R"({"__metadata__":{"a":1}})", ""), "__metadata__");
  expect_refused(file_bytes(R"({"__metadata__":[]})", ""), "__metadata__");
}

TEST(Safetensors, NamesElementTypesItDoesNotRead) {
  expect_refused(file_bytes(R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "x"),
                 "F8_E4M3 is not supported", ErrorCode::Unsupported);
  expect_refused(file_bytes(R"({"a":{"dtype":"Q4_0","shape":[1],"data_offsets":[0,1]}})", "x"),
                 "expected a safetensors dtype, got \"Q4_0\"");
}

TEST(Safetensors, RefusesSizesThatDoNotFit) {
  expect_refused(file_bytes(R"({"a":{"dtype":"U16","shape":[1],"data_offsets":[0,1]}})", "x"),
                 "expected U16 [1] to take 2 bytes, got 1");
  expect_refused(
      file_bytes(R"({"a":{"dtype":"U8","shape":[4294967296,4294967297],"data_offsets":[0,0]}})",
                 ""),
      "impossibly many");
  expect_refused(file_bytes("{" + entry("a", 0, 4) + "}", "abc"), "a file that ends at 3");
}

TEST(Safetensors, DataMustFillTheFileWithoutHoleOrOverlap) {
  EXPECT_NO_THROW(parse_safetensors(
      raw_bytes(file_bytes("{" + entry("b", 2, 2) + "," + entry("a", 0, 2) + "}", "abcd")),
      "test"));
  expect_refused(file_bytes("{" + entry("a", 0, 3) + "," + entry("b", 2, 2) + "}", "abcd"),
                 "tensors overlap");
  expect_refused(file_bytes("{" + entry("a", 0, 1) + "," + entry("b", 2, 2) + "}", "abcd"),
                 "a hole");
  expect_refused(file_bytes("{" + entry("a", 1, 3) + "}", "abcd"), "a hole");
  expect_refused(file_bytes("{" + entry("a", 0, 3) + "}", "abcd"), "not fully covered");
  expect_refused(file_bytes("{}", "abcd"), "not fully covered");
  expect_refused(file_bytes("{" + entry("a", 0, 4) + "," + entry("b", 0, 4) + "}", "abcd"),
                 "tensors overlap");
}

TEST(Safetensors, RefusesATensorNamedTwice) {
  expect_refused(file_bytes("{" + entry("a", 0, 4) + "," + entry("a", 0, 4) + "}", "abcd"),
                 R"("a" again)");
}

// Truncation and damage of a good file give an error or a valid reading, never a crash.
TEST(Safetensors, SurvivesTruncationAndDamageAtEveryByte) {
  const std::string good =
      file_bytes("{" + entry("a", 0, 3) + "," + entry("b", 3, 5) + "}", "abcdefgh");
  ASSERT_EQ(parse_safetensors(raw_bytes(good), "test").size(), 2U);
  for (std::size_t length = 0; length < good.size(); ++length) {
    const std::vector<char> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_THROW(parse_safetensors(std::as_bytes(std::span(cut)), "test"), Error) << length;
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = good;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      try {
        std::size_t bytes = 0;
        for (const auto& tensor : parse_safetensors(raw_bytes(damaged), "test"))
          bytes += tensor.data.size();
        EXPECT_EQ(bytes, 8U);
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()), "");
      }
    }
  }
}

TEST(Safetensors, TakesAllWeightFilesOfAFolder) {
  const TestFolder folder;
  folder.write("model-1.safetensors", file_bytes("{" + entry("b", 0, 1) + "}", "B"));
  folder.write("model-2.safetensors", file_bytes("{" + entry("a", 0, 1) + "}", "A"));
  folder.write("adapter.safetensors", "not read");
  folder.write("model.safetensors.txt", "not read");
  const TensorSet tensors = open_safetensors(folder.path());
  ASSERT_EQ(tensors.tensors().size(), 2U);
  EXPECT_EQ(tensors.tensors()[0].name, "a");
  EXPECT_EQ(tensors.require("b").data[0], std::byte{'B'});
  EXPECT_EQ(tensors.find("c"), nullptr);
  expect_error(ErrorCode::InvalidFile, R"(tensor "c" is missing)", [&] { tensors.require("c"); });
}

TEST(Safetensors, WithoutAnIndexATensorMayComeOnce) {
  const TestFolder folder;
  folder.write("model-1.safetensors", file_bytes("{" + entry("a", 0, 1) + "}", "1"));
  folder.write("model-2.safetensors", file_bytes("{" + entry("a", 0, 1) + "}", "2"));
  expect_error(ErrorCode::InvalidFile, R"("a" twice)", [&] { open_safetensors(folder.path()); });
}

TEST(Safetensors, FolderWithoutWeightsIsNamed) {
  const TestFolder folder;
  expect_error(ErrorCode::InvalidFile, "model*.safetensors",
               [&] { open_safetensors(folder.path()); });
  expect_error(ErrorCode::InvalidFile, "cannot list", [&] { open_safetensors(folder / "none"); });
}

class SafetensorsIndex : public testing::Test {
 protected:
  SafetensorsIndex() {
    folder_.write("model-1.safetensors", file_bytes("{" + entry("a", 0, 1) + "}", "1"));
    folder_.write("model-2.safetensors",
                  file_bytes("{" + entry("a", 0, 1) + "," + entry("b", 1, 1) + "}", "23"));
    // Stray, with another shape.
    folder_.write("model.safetensors", file_bytes("{" + entry("b", 0, 2) + "}", "45"));
  }
  void write_index(std::string_view text) const {
    folder_.write("model.safetensors.index.json", text);
  }
  void expect_refused(std::string_view part) const {
    expect_error(ErrorCode::InvalidFile, part, [&] { open_safetensors(folder_.path()); });
  }
  TestFolder folder_;
};

TEST_F(SafetensorsIndex, DecidesWhichFileATensorComesFrom) {
  write_index(R"({"weight_map":{"a":"model-1.safetensors","b":"model-2.safetensors"}})");
  const TensorSet tensors = open_safetensors(folder_.path());
  ASSERT_EQ(tensors.tensors().size(), 2U);
  EXPECT_EQ(tensors.require("a").data[0], std::byte{'1'});
  EXPECT_EQ(tensors.require("b").data[0], std::byte{'3'});
}

TEST_F(SafetensorsIndex, NamesTheMissingFileOrTensor) {
  write_index(R"({"weight_map":{"a":"model-1.safetensors","b":"model-3.safetensors"}})");
  expect_refused(R"(names "model-3.safetensors", which is missing)");
  write_index(R"({"weight_map":{"b":"model-1.safetensors"}})");
  expect_refused(R"(model-1.safetensors: tensor "b" is missing)");
}

TEST_F(SafetensorsIndex, MustBeAMapOfPlainFileNames) {
  write_index("not JSON");
  expect_refused("expected JSON");
  write_index("[]");
  expect_refused("expected a JSON object");
  write_index(R"({"weight_map":{}})");
  expect_refused("weight_map");
  for (const char* name : {R"("../model-1.safetensors")", R"("/etc/passwd")", R"("..")", R"("")",
                           R"("sub/model.safetensors")", R"("a\u0000b")", R"(".")", "1"}) {
    write_index(fmt::format(R"({{"weight_map":{{"a":{}}}}})", name));
    expect_refused("expected the name of a file in the same folder");
  }
}

// A shard that is shorter than its header says must never be read past its end.
TEST_F(SafetensorsIndex, RefusesAShortShard) {
  write_index(R"({"weight_map":{"a":"model-1.safetensors","b":"model-2.safetensors"}})");
  const auto shard = folder_ / "model-2.safetensors";
  std::filesystem::resize_file(shard, std::filesystem::file_size(shard) - 1);
  expect_refused("model-2.safetensors: tensor \"b\": expected data up to byte 2");
}

}  // namespace
}  // namespace emlx
