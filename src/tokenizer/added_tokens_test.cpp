#include "tokenizer/added_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tokenizer/test_support.h"

namespace emlx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TokenTable table(std::initializer_list<std::string_view> texts) {
  TokenTable vocab(texts.size());
  TokenId id = 0;
  for (const std::string_view text : texts) vocab.add(text, id++);
  return vocab;
}

AddedTokens load(std::string_view list, const TokenTable& vocab = table({"a"}),
                 const char* normalizer = R"({"type":"NFC"})") {
  return AddedTokens(parse_json(list, "test"), vocab, Normalizer(parse_json(normalizer, "test")));
}

std::string refusal(std::string_view list) {
  return error_of([&] { load(list); });
}

// Segments as text, those that are tokens as [text].
std::vector<std::string> show(const std::vector<AddedTokens::Segment>& segments) {
  std::vector<std::string> shown;
  shown.reserve(segments.size());
  for (const auto& segment : segments)
    shown.push_back(segment.token ? "[" + std::string(segment.text) + "]"
                                  : std::string(segment.text));
  return shown;
}

// The white space around a token belongs to it as its file says.
TEST(AddedTokens, TakeWhiteSpaceAlongAsTheReferenceDoes) {
  const JsonValue expected =
      parse_json(fixture("tokenizer/tok_synthetic_expected.json"), "expected");
  for (const char* name : {"added_plain", "added_lstrip", "added_rstrip", "added_both"}) {
    const std::string path = std::string("tokenizer/synthetic/") + name + ".json";
    const JsonValue file = parse_json(fixture(path), name);
    const AddedTokens added(file.at("added_tokens"),
                            table({"<unk>", "a", "b", "ab", "xTOKy", "x", "y"}),
                            Normalizer(file.at("normalizer")));
    for (const JsonValue& row : expected.at(name).as_array()) {
      std::vector<std::string> theirs, ours;
      for (std::size_t i = 0; i < row.at("ids").as_array().size(); ++i)
        if (row.at("ids").at(i) == 7) theirs.emplace_back(row.at("tokens").at(i).as_string());
      for (const auto& segment : added.split_normalized(row.at("text").as_string()))
        if (segment.token == 7) ours.emplace_back(segment.text);
      EXPECT_EQ(ours, theirs) << name << " " << row.at("text").as_string();
    }
  }
}

TEST(AddedTokens, MatchTheLeftmostThenTheLongest) {
  const AddedTokens added = load(R"([{"id":1,"content":"<a>","special":true},
                                     {"id":2,"content":"<a><b>","special":true},
                                     {"id":3,"content":"><","special":true}])");
  EXPECT_THAT(show(added.split_raw("x<a><b><a><c")), ElementsAre("x", "[<a><b>]", "[<a>]", "<c"));
  EXPECT_THAT(show(added.split_raw("<a")), ElementsAre("<a"));
  EXPECT_THAT(show(added.split_raw("")), IsEmpty());
}

TEST(AddedTokens, SingleWordsNeedAnEdgeOnBothSides) {
  const AddedTokens added =
      load(R"([{"id":1,"content":"TOK","single_word":true,"normalized":false}])");
  EXPECT_THAT(show(added.split_raw("TOK TOKx xTOK \u00E9TOK -TOK-")),
              ElementsAre("[TOK]", " TOKx xTOK \u00E9TOK -", "[TOK]", "-"));
  EXPECT_THAT(show(added.split_raw("TOK\u0301 _TOK")), ElementsAre("TOK\u0301 _TOK"));
}

TEST(AddedTokens, StripAllUnicodeWhiteSpaceButNothingTwice) {
  const AddedTokens both =
      load(R"([{"id":1,"content":"T","lstrip":true,"rstrip":true,"normalized":false}])");
  EXPECT_THAT(show(both.split_raw("a\u3000\tT\u0085\u2028T\u00A0b")),
              ElementsAre("a", "[\u3000\tT\u0085\u2028]", "[T\u00A0]", "b"));
  EXPECT_THAT(show(both.split_raw("\u200BT")), ElementsAre("\u200B", "[T]"));
}

TEST(AddedTokens, LookForNormalizedTokensInNormalizedText) {
  const AddedTokens added = load(R"([{"id":1,"content":"e\u0301","normalized":true},
                                     {"id":2,"content":"o\u0301","normalized":false}])");
  EXPECT_THAT(show(added.split_normalized("x\u00E9e\u0301")),
              ElementsAre("x", "[\u00E9]", "e\u0301"));
  EXPECT_THAT(show(added.split_raw("\u00F3o\u0301")), ElementsAre("\u00F3", "[o\u0301]"));
  EXPECT_EQ(added.find(1)->content, "e\u0301");
  EXPECT_EQ(added.find(1)->normalized_content, "\u00E9");
}

TEST(AddedTokens, HaveIdsAfterTheVocabularyUnlessTheyAreInIt) {
  const AddedTokens added = load(R"([{"id":2,"content":"x"},{"id":0,"content":"a","special":true},
                                     {"id":3,"content":"y"}])",
                                 table({"a", "b"}));
  EXPECT_EQ(added.find("x"), 2);
  EXPECT_EQ(added.find("a"), 0);
  EXPECT_EQ(added.find("b"), std::nullopt);
  EXPECT_EQ(added.find(1), nullptr);
  EXPECT_TRUE(added.is_special("a"));
  EXPECT_FALSE(added.is_special("x"));
  EXPECT_EQ(added.id_end(), 4);
}

TEST(AddedTokens, RefusesDamagedFiles) {
  for (const char* list :
       {"{}", "[1]", "[{}]", R"([{"id":1}])", R"([{"id":1,"content":2}])",
        R"([{"id":"1","content":"x"}])", R"([{"id":1,"content":"x","special":1}])"})
    EXPECT_THAT(refusal(list), HasSubstr("invalid_file: tokenizer: expected")) << list;
  for (const char* id : {"0", "2", "-1", "1000000000", "2147483648", "null"})
    EXPECT_THAT(refusal(std::string(R"([{"content":"x","id":)") + id + "}]"),
                HasSubstr("invalid_file: tokenizer: expected"))
        << id;
  EXPECT_THAT(refusal(R"([{"id":1,"content":"x"},{"id":2,"content":"x"}])"), HasSubstr("twice"));
  EXPECT_THAT(refusal(R"([{"id":1,"content":"e\u0301"},{"id":2,"content":"\u00E9"}])"),
              HasSubstr("twice"));
  EXPECT_THAT(refusal(R"([{"id":1,"content":""}])"), HasSubstr("content"));
  EXPECT_EQ(refusal("null"), "");
}

}  // namespace
}  // namespace emlx
