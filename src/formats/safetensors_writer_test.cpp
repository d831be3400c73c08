#include "formats/safetensors_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "formats/safetensors.h"
#include "formats/test_support.h"

namespace emlx {
namespace {

const std::vector<TensorInfo> kTensors = {{"half", DType::F16, {3}},
                                          {"b", DType::U32, {1, 2}},
                                          {"a", DType::F32, {1}},
                                          {"none", DType::F32, {0}}};

TEST(SafetensorsWriter, WritesWhatTheReaderReads) {
  const TestFolder folder;
  SafetensorsWriter writer(folder / "model.safetensors", kTensors);
  writer.write("half", raw_bytes("HALVES"));
  writer.write("a", raw_bytes("aaaa"));
  writer.write("none", {});
  writer.write("b", raw_bytes("bbbbBBBB"));
  EXPECT_FALSE(std::filesystem::exists(folder / "model.safetensors"));
  writer.finish();
  EXPECT_FALSE(std::filesystem::exists(folder / "model.safetensors.part"));

  const MappedFile file(folder / "model.safetensors");
  std::string order;
  for (const TensorView& tensor : parse_safetensors(file.bytes(), "test")) {
    order += tensor.name + " ";
    const auto offset = static_cast<std::size_t>(tensor.data.data() - file.bytes().data());
    EXPECT_EQ(offset % static_cast<std::size_t>(block_layout(tensor.dtype).bytes), 0U);
  }
  EXPECT_EQ(order, "a b none half ");
  const TensorSet tensors = open_safetensors(folder.path());
  EXPECT_EQ(tensors.require("b").shape, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(tensors.require("half").data[5], std::byte{'S'});
}

TEST(SafetensorsWriter, LeavesNothingBehindUnlessFinished) {
  const TestFolder folder;
  {
    SafetensorsWriter writer(folder / "model.safetensors", kTensors);
    writer.write("a", raw_bytes("aaaa"));
    expect_error(ErrorCode::InvalidArgument, R"("b" was not written)", [&] { writer.finish(); });
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SafetensorsWriter, TakesExactlyWhatWasAnnounced) {
  const TestFolder folder;
  SafetensorsWriter writer(folder / "model.safetensors", kTensors);
  writer.write("a", raw_bytes("aaaa"));
  const auto refused = [&](const char* name, const char* data, const char* part) {
    expect_error(ErrorCode::InvalidArgument, part, [&] { writer.write(name, raw_bytes(data)); });
  };
  refused("a", "aaaa", "no such tensor");
  refused("c", "aaaa", "no such tensor");
  refused("half", "HALF", "expected 6");
}

TEST(SafetensorsWriter, RefusesImpossibleTensors) {
  const TestFolder folder;
  const auto refused = [&](std::vector<TensorInfo> tensors, const char* part) {
    expect_error(ErrorCode::InvalidArgument, part,
                 [&] { SafetensorsWriter(folder / "x", std::move(tensors)); });
  };
  refused({{"a", DType::F32, {1}}, {"a", DType::F32, {1}}}, "is there already");
  refused({{"a", DType::Q4_0, {32}}}, "no possible tensor");
  refused({{"a", DType::F32, {-1}}}, "no possible tensor");
}

TEST(AtomicFile, SaysWhichFileTheSystemRefused) {
  const TestFolder folder;
  expect_error(ErrorCode::InvalidFile, "none/file",
               [&] { write_text_file(folder / "none/file", "text"); });
}

}  // namespace
}  // namespace emlx
