// The real tokenizer.json of Qwen3: ids and texts that once went wrong elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/mapped_file.h"
#include "base/utf8.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer.h"

namespace emlx {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Ids = std::vector<TokenId>;

constexpr std::size_t kMaxFile = std::size_t{64} << 20;
const std::filesystem::path kFile = EMLX_REFERENCE_DIR "/qwen3/tokenizer.json";

class Qwen3Tokenizer : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (std::filesystem::is_regular_file(kFile))
      tokenizer_ = Tokenizer::from_json(read_text_file(kFile, kMaxFile));
  }
  static void TearDownTestSuite() { tokenizer_.reset(); }
  void SetUp() override {
    ASSERT_TRUE(tokenizer_) << "expected the real Qwen3 tokenizer at " << kFile << ", got no file";
  }

  static Ids encode(std::string_view text) { return tokenizer_->encode(text, true); }

  static std::vector<std::string> stream(const Ids& ids) {
    StreamDecoder decoder(*tokenizer_, true);
    std::vector<std::string> pieces;
    for (const TokenId id : ids) pieces.push_back(decoder.append(id));
    pieces.push_back(decoder.finish());
    return pieces;
  }

  static std::string joined(const std::vector<std::string>& pieces) {
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    return text;
  }

  static std::optional<Tokenizer> tokenizer_;
};
std::optional<Tokenizer> Qwen3Tokenizer::tokenizer_;

Ids ids_of(const JsonValue& list) {
  Ids ids;
  for (const JsonValue& id : list.as_array()) ids.push_back(static_cast<TokenId>(id.as_int64()));
  return ids;
}

JsonValue fixture(const char* name) {
  const std::filesystem::path path = std::filesystem::path(EMLX_TEST_DATA "/tokenizer") / name;
  return parse_json(read_text_file(path, kMaxFile), name);
}

TEST_F(Qwen3Tokenizer, KeepsSymbolRunsAndSplitsDigits) {
  EXPECT_THAT(encode("->"), ElementsAre(405));
  EXPECT_THAT(encode("(x):\n"), ElementsAre(2075, 982));
  EXPECT_THAT(encode("1234567890"), ElementsAre(16, 17, 18, 19, 20, 21, 22, 23, 24, 15));
  EXPECT_THAT(encode("3.14e-10"), ElementsAre(18, 13, 16, 19, 68, 12, 16, 15));
}

TEST_F(Qwen3Tokenizer, LeavesTheLastSpaceOfARunToTheNextWord) {
  EXPECT_THAT(encode("a  b"), ElementsAre(64, 220, 293));
  EXPECT_THAT(encode("def f():\n    return  x"), ElementsAre(750, 282, 3932, 262, 470, 220, 856));
  EXPECT_THAT(encode("\t\tx"), ElementsAre(197, 10225));
  EXPECT_THAT(encode("\r\nx"), ElementsAre(319, 87));
  EXPECT_THAT(encode("x \n"), ElementsAre(87, 715));
  EXPECT_THAT(encode("\n\n\n  \n"), ElementsAre(1406, 2303));
}

TEST_F(Qwen3Tokenizer, ComposesAccentsAndHangul) {
  EXPECT_THAT(encode("cafe\u0301"), ElementsAre(924, 58858));
  EXPECT_THAT(encode("caf\u00E9"), ElementsAre(924, 58858));
  EXPECT_THAT(encode("\u1112\u1161\u11AB"), ElementsAre(23573));
  EXPECT_THAT(encode("\uD55C"), ElementsAre(23573));
  EXPECT_THAT(encode("\u00C5ngstr\u00F6m \u212B"), ElementsAre(144044, 968, 495, 85584, 79252));
}

TEST_F(Qwen3Tokenizer, ATypedBackslashNIsNoLineBreak) {
  EXPECT_THAT(encode("a\\nb"), ElementsAre(64, 1699, 65));
  EXPECT_THAT(encode("a\nb"), ElementsAre(64, 198, 65));
}

TEST_F(Qwen3Tokenizer, KeepsJoinersModifiersAndSeparators) {
  const std::vector<std::pair<std::string, Ids>> cases = {
      {"\U0001F468\u200D\U0001F469\u200D\U0001F467", {145367, 378, 235, 145233, 378, 235, 145665}},
      {"\U0001F44D\U0001F3FD", {144349, 145375}},
      {"\U0001F3F3\uFE0F\u200D\U0001F308", {147233, 30543, 378, 235, 145354}},
      {"\u0E51\u0E52", {8158, 239, 8158, 240}},
      {"a\u2028b", {64, 378, 101, 65}}};
  for (const auto& [text, ids] : cases) {
    EXPECT_EQ(encode(text), ids);
    EXPECT_EQ(tokenizer_->decode(ids, true), text);  // they are in NFC
  }
}

TEST_F(Qwen3Tokenizer, AgreesWithTheReferenceOnItsRecordedTexts) {
  const JsonValue cases = fixture("tok_qwen3_expected.json");
  for (const JsonValue& one : cases.as_array()) {
    const Ids ids = ids_of(one.at("ids"));
    EXPECT_EQ(encode(one.at("text").as_string()), ids) << one.at("text");
    EXPECT_EQ(tokenizer_->decode(ids, false), one.at("decode").as_string());
  }
}

TEST_F(Qwen3Tokenizer, AgreesWithTheReferenceOnItsRecordedIds) {
  const JsonValue cases = fixture("detok_qwen3_expected.json");
  for (const JsonValue& one : cases.as_array()) {
    const Ids ids = ids_of(one.at("ids"));
    EXPECT_EQ(tokenizer_->decode(ids, true), one.at("decode_skip").as_string());
    EXPECT_EQ(tokenizer_->decode(ids, false), one.at("decode_keep").as_string());
    EXPECT_EQ(joined(stream(ids)), one.at("decode_skip").as_string());
  }
}

TEST_F(Qwen3Tokenizer, StreamsLettersThatAreSplitOverTokens) {
  const std::vector<std::string> czech = stream({87, 9843, 237, 58560});
  EXPECT_EQ(joined(czech), "x \u010F\u00E1b");
  EXPECT_THAT(czech, Each(Not(HasSubstr("\uFFFD"))));
  const std::vector<std::string> chinese = stream({55336, 76952, 122, 23836});
  EXPECT_EQ(joined(chinese), "Swift \u793E\u533A");
  EXPECT_THAT(chinese, Each(Not(HasSubstr("\uFFFD"))));
}

TEST_F(Qwen3Tokenizer, StreamsPastACharacterThatStaysIncomplete) {
  EXPECT_EQ(joined(stream({64, 378, 220, 235, 65})), "a\uFFFD \uFFFDb");
}

TEST_F(Qwen3Tokenizer, AStreamThatEndsInsideACharacterEndsWithOneReplacement) {
  EXPECT_THAT(stream({64, 378}), ElementsAre("a", "", "\uFFFD"));
}

TEST_F(Qwen3Tokenizer, DoesNotCleanUpSpaces) {
  for (const char* text : {" ...", " ,", "it 's", " !"})
    EXPECT_EQ(joined(stream(encode(text))), text);
}

TEST_F(Qwen3Tokenizer, EncodesOneWordOfAMillionLetters) {
  EXPECT_EQ(encode(std::string(100'000, 'a')).size(), 12'500u);
  EXPECT_EQ(encode(std::string(1'000'000, 'a')).size(), 125'000u);
}

TEST_F(Qwen3Tokenizer, KnowsItsSpecialTokens) {
  EXPECT_EQ(tokenizer_->vocab_size(), 151669);
  EXPECT_EQ(tokenizer_->token_id("<|im_end|>"), 151645);
  EXPECT_TRUE(tokenizer_->is_special(151645));
  EXPECT_FALSE(tokenizer_->is_special(151667));  // <think> is shown
  EXPECT_EQ(tokenizer_->decode(Ids{151700}, false), "");
}

}  // namespace
}  // namespace emlx
