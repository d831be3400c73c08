#include "tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "base/utf8.h"
#include "tokenizer/test_support.h"

namespace emlx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string refusal(const std::string& file) {
  return error_of([&] { Tokenizer::from_json(file); });
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  return text.replace(text.find(what), what.size(), with);
}

TEST(Tokenizer, EncodesAddedTokensAndTheTextBetween) {
  TokenizerFile file;
  file.merges = {{"h", "i"}, {" ", "hi"}};
  file.added_tokens = R"([{"id":258,"content":"<s>","special":true},{"id":259,"content":"<t>"}])";
  const Tokenizer tokenizer = Tokenizer::from_json(file.text());
  EXPECT_THAT(tokenizer.encode("hi hi<s><t>hi", false), ElementsAre(256, 257, 258, 259, 256));
  EXPECT_THAT(tokenizer.encode("", true), IsEmpty());
  EXPECT_EQ(tokenizer.vocab_size(), 260);
}

TEST(Tokenizer, NormalizesTextButNotRawTokens) {
  TokenizerFile file;
  file.normalizer =
      R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Sequence","normalizers":[]}]})";
  file.added_tokens = R"([{"id":256,"content":"\u212B","normalized":false}])";
  const Tokenizer tokenizer = Tokenizer::from_json(file.text());
  EXPECT_THAT(tokenizer.encode("e\u0301\u212B", false), ElementsAre(0xC3, 0xA9, 256));
}

TEST(Tokenizer, FindsAndDecodesNormalizedTokensNormalized) {
  TokenizerFile file;
  file.normalizer = R"({"type":"NFC"})";
  file.decoder = "null";
  file.added_tokens = R"([{"id":256,"content":"e\u0301","normalized":true}])";
  const Tokenizer tokenizer = Tokenizer::from_json(file.text());
  EXPECT_THAT(tokenizer.encode("\u00E9e\u0301", false), ElementsAre(256, 256));
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{256}, false), "\u00E9");
  EXPECT_EQ(tokenizer.token_text(256), "e\u0301");
}

TEST(Tokenizer, PutsTheTemplateAroundTheTextOnDemand) {
  TokenizerFile file;
  file.added_tokens = R"([{"id":256,"content":"<s>","special":true}])";
  file.post_processor =
      R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},
          {"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"<s>","type_id":0}}],
          "special_tokens":{"<s>":{"id":"<s>","ids":[256],"tokens":["<s>"]}}})";
  const Tokenizer tokenizer = Tokenizer::from_json(file.text());
  EXPECT_THAT(tokenizer.encode("a", true), ElementsAre(256, 'a', 256));
  EXPECT_THAT(tokenizer.encode("a", false), ElementsAre('a'));
  EXPECT_THAT(tokenizer.encode("<s>a", true), ElementsAre(256, 256, 'a', 256));
  EXPECT_THAT(refusal(replaced(file.text(), "[256]", "[257]")),
              HasSubstr("ids below 257, got 257"));
}

TEST(Tokenizer, TakesIllFormedTextForReplacementCharacters) {
  const Tokenizer tokenizer = Tokenizer::from_json(TokenizerFile().text());
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\xFF\xE2\x80z", false), false), "a\uFFFD\uFFFDz");
  EXPECT_THAT(tokenizer.encode("\xFF", false), ElementsAre(0xEF, 0xBF, 0xBD));
}

TEST(Tokenizer, DecodesBytesLossilyOverTokens) {
  const Tokenizer tokenizer = Tokenizer::from_json(TokenizerFile().text());
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{0xC3, 0xA9, 0xE2, 0x80}, false), "\u00E9\uFFFD");
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{}, false), "");
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{-1, 256, 2147483647, 'a'}, false), "a");
}

TEST(Tokenizer, DescribesItsTokens) {
  TokenizerFile file;
  file.added_tokens =
      R"([{"id":256,"content":"<|a b|>","special":true},{"id":257,"content":"<t>"}])";
  const Tokenizer tokenizer = Tokenizer::from_json(file.text());
  EXPECT_EQ(tokenizer.token_text(' '), "\u0120");
  EXPECT_EQ(tokenizer.token_text(256), "<|a b|>");
  EXPECT_EQ(tokenizer.token_text(-1) + tokenizer.token_text(258), "");
  EXPECT_EQ(tokenizer.token_id("<t>"), 257);
  EXPECT_EQ(tokenizer.token_id("\u0120"), ' ');
  EXPECT_EQ(tokenizer.token_id(" "), std::nullopt);
  EXPECT_TRUE(tokenizer.is_special(256));
  EXPECT_FALSE(tokenizer.is_special(257));
  EXPECT_FALSE(tokenizer.is_special(999));
}

TEST(Tokenizer, EncodesFromManyThreadsAtOnce) {
  TokenizerFile file;
  file.normalizer = R"({"type":"NFC"})";
  file.merges = {{"a", "b"}, {"ab", "c"}, {" ", "abc"}};
  const Tokenizer tokenizer = Tokenizer::from_json(file.text());
  std::string text;
  for (int i = 0; i < 500; ++i) text += " abc e\u0301 12 <x>";
  std::vector<std::vector<TokenId>> results(4);
  std::vector<std::thread> threads;
  threads.reserve(results.size());
  for (auto& result : results) threads.emplace_back([&] { result = tokenizer.encode(text, true); });
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
  EXPECT_EQ(tokenizer.decode(results[0], true).size(), text.size() - 500);  // the accents composed
}

TEST(Tokenizer, RefusesFilesThatAreNoTokenizer) {
  for (const char* file : {"", "{", "[]", "null", "{}", "{\"model\":1}", "{\"model\":{}}",
                           "{\"model\":{\"type\":\"BPE\"}}", "version https://git-lfs", "\xFF"})
    EXPECT_THAT(refusal(file), HasSubstr("invalid_file: tokenizer: expected")) << file;
}

TEST(Tokenizer, ReadsFilesLargerThanOtherJson) {
  const std::string file = TokenizerFile().text() + std::string(JsonLimits().max_bytes, ' ');
  EXPECT_EQ(Tokenizer::from_json(file).vocab_size(), 256);
}

TEST(Tokenizer, RefusesPartsItDoesNotKnowByName) {
  TokenizerFile file;
  file.normalizer = R"({"type":"Lowercase"})";
  EXPECT_THAT(refusal(file.text()), HasSubstr("unsupported: tokenizer: expected a normalizer"));
  EXPECT_THAT(refusal(file.text()), HasSubstr("\"Lowercase\""));
  file.normalizer = "null";
  file.decoder = R"({"type":"Sequence","decoders":[{"type":"ByteFallback"}]})";
  EXPECT_THAT(refusal(file.text()), HasSubstr("a ByteLevel decoder, got \"Sequence\""));
  for (const char* name : {"unigram", "bytefallback", "punct", "wordpiece_lower"})
    EXPECT_THAT(refusal(fixture(std::string("tokenizer/synthetic/") + name + ".json")),
                HasSubstr("unsupported: tokenizer: expected"))
        << name;
}

TEST(Tokenizer, MessagesAreOneLineWhateverTheFileHolds) {
  const std::string message = refusal(R"({"model":{"type":"A\nB"}})");
  EXPECT_THAT(message, HasSubstr(R"(got "A\nB")"));
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(Tokenizer, RefusesDeepNestingWithoutRecursingIntoIt) {
  TokenizerFile file;
  std::string deep;
  for (int i = 0; i < 1'000'000; ++i) deep += R"({"type":"Sequence","normalizers":[)";
  file.normalizer = deep;
  EXPECT_THAT(refusal(file.text()), HasSubstr("invalid_file: tokenizer: expected JSON"));
}

}  // namespace
}  // namespace emlx
