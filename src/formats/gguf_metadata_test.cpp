#include "formats/gguf_metadata.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "formats/gguf_test_writer.h"
#include "formats/gguf_vocab.h"
#include "formats/test_support.h"

namespace emlx {
namespace {

// Owns the bytes its metadata points into.
struct Parsed {
  explicit Parsed(const GgufTestWriter& writer)
      : file(writer.file()), metadata(parse_gguf(raw_bytes(file), "test").metadata) {}
  std::string file;
  GgufMetadata metadata;
};

void expect_refused(const GgufTestWriter& writer, std::string_view part) {
  expect_error(ErrorCode::InvalidFile, part, [&] { Parsed parsed(writer); });
}

TEST(GgufMetadata, ReadsEveryTypeOfValue) {
  const auto bytes = [](auto value) { return GgufTestWriter::bytes(value); };
  GgufTestWriter writer;
  writer.raw("u8", GgufType::UInt8, bytes(std::uint8_t{200}))
      .raw("i8", GgufType::Int8, bytes(std::int8_t{-3}))
      .raw("u16", GgufType::UInt16, bytes(std::uint16_t{60000}))
      .raw("i16", GgufType::Int16, bytes(std::int16_t{-300}))
      .raw("u32", GgufType::UInt32, bytes(std::uint32_t{4000000000}))
      .raw("i32", GgufType::Int32, bytes(std::int32_t{-70000}))
      .raw("u64", GgufType::UInt64, bytes(std::uint64_t{1} << 40))
      .raw("i64", GgufType::Int64, bytes(-(std::int64_t{1} << 40)))
      .raw("f32", GgufType::Float32, bytes(0.5F))
      .raw("f64", GgufType::Float64, bytes(0.1))
      .boolean("bool", true)
      .text("text", "caf\xc3\xa9")
      .numbers<std::int32_t>("ints", GgufType::Int32, {1, -2})
      .numbers<float>("floats", GgufType::Float32, {0.25F, -1.0F})
      .texts("texts", {"a", "", "b c"})
      .texts("none", {});
  const Parsed parsed(writer);
  const GgufMetadata& metadata = parsed.metadata;
  EXPECT_EQ(metadata.integer("u8"), 200);
  EXPECT_EQ(metadata.integer("i8"), -3);
  EXPECT_EQ(metadata.integer("u16"), 60000);
  EXPECT_EQ(metadata.integer("i16"), -300);
  EXPECT_EQ(metadata.integer("u32"), 4000000000);
  EXPECT_EQ(metadata.integer("i32"), -70000);
  EXPECT_EQ(metadata.integer("u64"), std::int64_t{1} << 40);
  EXPECT_EQ(metadata.integer("i64"), -(std::int64_t{1} << 40));
  EXPECT_EQ(metadata.number("f32"), 0.5);
  EXPECT_EQ(metadata.number("f64"), 0.1);
  EXPECT_EQ(metadata.number("i8"), -3);
  EXPECT_EQ(metadata.boolean("bool"), true);
  EXPECT_EQ(metadata.text("text"), "caf\xc3\xa9");
  EXPECT_EQ(metadata.integers("ints"), (std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(metadata.numbers("floats"), (std::vector<double>{0.25, -1}));
  EXPECT_EQ(metadata.texts("texts"), (std::vector<std::string>{"a", "", "b c"}));
  EXPECT_EQ(metadata.texts("none"), std::vector<std::string>());
  EXPECT_EQ(metadata.integer("absent"), std::nullopt);
  EXPECT_EQ(metadata.texts("absent"), std::nullopt);
}

TEST(GgufMetadata, ValuesOfAnotherKindAreErrors) {
  GgufTestWriter writer;
  writer.text("text", "a").u32("n", 1).f32("f", 1).texts("texts", {"a"}).text("bad", "\xff");
  writer.raw("big", GgufType::UInt64, GgufTestWriter::bytes(std::uint64_t{1} << 63));
  writer.texts("bad texts", {"a", "\xff"});
  const Parsed parsed(writer);
  const GgufMetadata& metadata = parsed.metadata;
  const auto refused = [](std::string_view part, auto action) {
    expect_error(ErrorCode::InvalidFile, part, action);
  };
  refused(R"(test: "text": expected an integer)", [&] { metadata.integer("text"); });
  refused(R"("f": expected an integer)", [&] { metadata.integer("f"); });
  refused(R"("big": expected an integer of 63 bits)", [&] { metadata.integer("big"); });
  refused(R"("texts": expected UTF-8 text)", [&] { metadata.text("texts"); });
  refused(R"("bad": expected UTF-8 text)", [&] { metadata.text("bad"); });
  refused(R"("bad texts": expected a list)", [&] { metadata.texts("bad texts"); });
  refused(R"("text": expected a list)", [&] { metadata.texts("text"); });
  refused(R"("texts": expected a list of numbers)", [&] { metadata.numbers("texts"); });
  refused(R"("n": expected a bool)", [&] { metadata.boolean("n"); });
}

TEST(GgufMetadata, RefusesMalformedPairs) {
  expect_refused(GgufTestWriter().u32("a", 1).u32("a", 2), R"(once, got "a" again)");
  expect_refused(GgufTestWriter().u32("", 1), "a metadata key");
  expect_refused(GgufTestWriter().u32("\xff", 1), "a metadata key");
  expect_refused(GgufTestWriter().u32(std::string(70000, 'k'), 1), "a metadata key");
  expect_refused(GgufTestWriter().raw("a", static_cast<GgufType>(13), "1234"),
                 R"("a": expected a value type of 0 to 12, got 13)");
  expect_refused(GgufTestWriter().raw("a", GgufType::Bool, "\x02"), "a bool of 0 or 1, got 2");
}

TEST(GgufMetadata, LengthsAreCheckedBeforeAnythingIsRead) {
  const auto most = std::numeric_limits<std::uint64_t>::max();
  expect_refused(GgufTestWriter().raw("a", GgufType::String, GgufTestWriter::bytes(most)),
                 fmt::format("expected {} bytes of \"a\"", most));
  for (const GgufType type :
       {GgufType::UInt8, GgufType::Float64, GgufType::String, GgufType::Array})
    expect_refused(GgufTestWriter().array("a", type, most / 2, ""),
                   fmt::format("expected {} elements", most / 2));
}

TEST(GgufMetadata, ArraysNestOnlySoDeep) {
  const auto nested = [](int depth) {
    std::string value = GgufTestWriter::array_bytes(GgufType::UInt8, 1, "x");
    for (int i = 1; i < depth; ++i) value = GgufTestWriter::array_bytes(GgufType::Array, 1, value);
    return GgufTestWriter().raw("a", GgufType::Array, value).u32("n", 5);
  };
  EXPECT_EQ(Parsed(nested(8)).metadata.integer("n"), 5);
  expect_refused(nested(9), "at most 8 arrays in arrays");
  expect_refused(nested(1000), "at most 8 arrays in arrays");
}

GgufTestWriter vocab_file() {
  GgufTestWriter writer;
  writer.text("tokenizer.ggml.model", "gpt2")
      .text("tokenizer.ggml.pre", "smollm")
      .texts("tokenizer.ggml.tokens", {"<end>", "a", "b", "ab"})
      .texts("tokenizer.ggml.merges", {"a b"});
  return writer;
}

TEST(GgufVocab, ReadsWhatATokenizerNeeds) {
  GgufTestWriter writer = vocab_file();
  writer.numbers<std::int32_t>("tokenizer.ggml.token_type", GgufType::Int32, {3, 1, 1, 1})
      .numbers<float>("tokenizer.ggml.scores", GgufType::Float32, {0, -1, -2, -3})
      .u32("tokenizer.ggml.eos_token_id", 0)
      .u32("tokenizer.ggml.eot_token_id", 3)
      .boolean("tokenizer.ggml.add_bos_token", false);
  const Parsed parsed(writer);
  const VocabData vocab = read_gguf_vocab(parsed.metadata);
  EXPECT_EQ(vocab.model, "gpt2");
  EXPECT_EQ(vocab.pre, "smollm");
  EXPECT_EQ(vocab.tokens[3], "ab");
  EXPECT_EQ(vocab.types[0], VocabTokenType::Control);
  EXPECT_EQ(vocab.scores[3], -3.0F);
  EXPECT_EQ(vocab.merges, std::vector<std::string>{"a b"});
  EXPECT_EQ(vocab.eos, 0);
  EXPECT_EQ(vocab.bos, std::nullopt);
  EXPECT_EQ(vocab.add_bos, false);
  EXPECT_EQ(vocab.add_eos, std::nullopt);
  EXPECT_EQ(read_gguf_eos(parsed.metadata, vocab), (std::vector<TokenId>{0, 3}));
}

TEST(GgufVocab, ListsAndIdsMustFitTheVocabulary) {
  const auto refused = [](const GgufTestWriter& writer, std::string_view part) {
    const Parsed parsed(writer);
    expect_error(ErrorCode::InvalidFile, part,
                 [&] { read_gguf_eos(parsed.metadata, read_gguf_vocab(parsed.metadata)); });
  };
  refused(GgufTestWriter(), "tokenizer.ggml.model is missing");
  refused(GgufTestWriter().text("tokenizer.ggml.model", "gpt2"),
          "tokenizer.ggml.tokens is missing");
  refused(GgufTestWriter().text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", {}),
          "expected 1 to");
  refused(vocab_file().u32("tokenizer.ggml.bos_token_id", 4), "a token id below 4, got 4");
  refused(vocab_file().u32("tokenizer.ggml.eot_token_id", 4), "a token id below 4, got 4");
  refused(vocab_file().numbers<std::int32_t>("tokenizer.ggml.token_type", GgufType::Int32, {1}),
          "expected 4 entries, got 1");
  refused(vocab_file().numbers<std::int32_t>("tokenizer.ggml.token_type", GgufType::Int32,
                                             {1, 1, 1, 7}),
          "types of 1 to 6, got 7");
  refused(vocab_file().numbers<float>("tokenizer.ggml.scores", GgufType::Float32, {1}),
          "expected 4 entries, got 1");
  refused(
      vocab_file().numbers<double>("tokenizer.ggml.scores", GgufType::Float64, {0, 0, 0, 1e300}),
      "finite float scores");
}

}  // namespace
}  // namespace emlx
