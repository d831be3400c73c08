#include "tokenizer/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/test_support.h"

namespace emlx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> split_by(const JsonValue& file, std::string_view text) {
  PreTokenizer::Pieces pieces;
  PreTokenizer(file).split(text, pieces);
  return {pieces.views.begin(), pieces.views.end()};
}

std::vector<std::string> split(std::string_view file, std::string_view text) {
  return split_by(parse_json(file, "test"), text);
}

std::string refusal(std::string_view file) {
  return error_of([&] { PreTokenizer(parse_json(file, "test")); });
}

TEST(PreTokenizer, SplitsAsTheReferenceDoes) {
  const JsonValue expected = parse_json(fixture("tokenizer/pretok_expected.json"), "expected");
  for (const char* name : {"split_regex_isolated", "digits_True", "digits_False"}) {
    const std::string path = std::string("tokenizer/synthetic/") + name + ".json";
    const JsonValue file = parse_json(fixture(path), name);
    for (const JsonValue& row : expected.at(name).as_array()) {
      std::vector<std::string> pieces;
      for (const JsonValue& piece : row.at(1).as_array())
        pieces.emplace_back(piece.at(0).as_string());
      EXPECT_EQ(split_by(file.at("pre_tokenizer"), row.at(0).as_string()), pieces) << name;
    }
  }
}

TEST(PreTokenizer, NoneLeavesTextWhole) {
  EXPECT_THAT(split("null", "a b"), ElementsAre("a b"));
  EXPECT_THAT(split("null", ""), IsEmpty());
}

TEST(PreTokenizer, SequenceAppliesItsStepsInOrder) {
  constexpr std::string_view kFile =
      R"({"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},
          {"type":"ByteLevel","add_prefix_space":false,"use_regex":true}]})";
  EXPECT_THAT(split(kFile, "a 12's"), ElementsAre("a", " ", "1", "2", "'s"));
  EXPECT_TRUE(PreTokenizer(parse_json(kFile, "test")).byte_level());
}

TEST(PreTokenizer, AddsAPrefixSpaceToEachWordThatComesIn) {
  EXPECT_THAT(split(R"({"type":"ByteLevel","add_prefix_space":true,"use_regex":true})", "a b"),
              ElementsAre(" a", " b"));
  EXPECT_THAT(split(R"({"type":"ByteLevel"})", "a b"), ElementsAre(" a", " b"));  // the defaults
  EXPECT_THAT(split(R"({"type":"ByteLevel","use_regex":false})", " a"), ElementsAre(" a"));
  EXPECT_THAT(split(R"({"type":"Sequence","pretokenizers":[{"type":"Digits"},
                        {"type":"ByteLevel","add_prefix_space":true,"use_regex":false}]})",
                    "a1 b"),
              ElementsAre(" a", " 1", " b"));
}

TEST(PreTokenizer, RefusesWhatItDoesNotKnowByName) {
  EXPECT_THAT(refusal(R"({"type":"Metaspace"})"), HasSubstr("unsupported: tokenizer: expected a "));
  EXPECT_THAT(refusal(R"({"type":"Metaspace"})"), HasSubstr("\"Metaspace\""));
  const std::string split = R"({"type":"Split","behavior":"Isolated","pattern":)";
  EXPECT_THAT(refusal(split + R"({"Regex":"\\w+"}})"), HasSubstr(R"(got "\\w+")"));
  EXPECT_THAT(refusal(split + R"({"String":" "}})"), HasSubstr("a Split by Regex"));
  const std::string removed = R"({"type":"Split","pattern":{"Regex":"\\p{N}{1,3}"},"behavior":)";
  EXPECT_THAT(refusal(removed + R"("Removed"})"), HasSubstr("\"Removed\""));
  EXPECT_THAT(refusal(removed + R"("Isolated","invert":true})"), HasSubstr("inverted"));
  EXPECT_THAT(
      refusal(R"({"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"Digits"}]})"),
      HasSubstr("ByteLevel as the last"));
}

TEST(PreTokenizer, RefusesDamagedFiles) {
  for (const char* file : {"[]", "1", "{}", R"({"type":1})", R"({"type":"Sequence"})",
                           R"({"type":"Sequence","pretokenizers":{}})", R"({"type":"Split"})",
                           R"({"type":"Split","pattern":{"Regex":1},"behavior":"Isolated"})",
                           R"({"type":"ByteLevel","use_regex":"yes"})"})
    EXPECT_THAT(refusal(file), HasSubstr("invalid_file: tokenizer: expected")) << file;
}

}  // namespace
}  // namespace emlx
