#include "tokenizer/vocab_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/test_support.h"
#include "tokenizer/tokenizer.h"

namespace emlx {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Bytes at 0..255, then " a", "ab", and a token of each other type.
VocabData vocab(std::string pre) {
  VocabData data;
  data.model = "gpt2";
  data.pre = std::move(pre);
  for (int byte = 0; byte < 256; ++byte)
    data.tokens.push_back(bytes_to_chars(std::string(1, static_cast<char>(byte))));
  data.types.assign(256, VocabTokenType::Normal);
  auto add = [&](const char* text, VocabTokenType type) {
    data.tokens.emplace_back(text);
    data.types.push_back(type);
  };
  add("\u0120a", VocabTokenType::Normal);
  add("ab", VocabTokenType::Normal);
  add("<|end|>", VocabTokenType::Control);
  add("<think>", VocabTokenType::UserDefined);
  add("[PAD260]", VocabTokenType::Unused);
  data.merges = {"\u0120 a"};
  data.bos = 258;
  return data;
}

std::string refusal(const VocabData& data) {
  return error_of([&] { tokenizer_json_from_vocab(data); });
}

std::vector<std::string> split(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> tokens;
  for (const TokenId id : tokenizer.encode(text, true)) tokens.push_back(tokenizer.token_text(id));
  return tokens;
}

TEST(TokenizerFromVocab, MakesTheFileOfSmollm) {
  const JsonValue file = parse_json(tokenizer_json_from_vocab(vocab("smollm")), "test");
  EXPECT_EQ(to_json(file.at("normalizer")), "null");
  EXPECT_EQ(
      to_json(file.at("pre_tokenizer")),
      R"({"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},)"
      R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}]})");
  EXPECT_EQ(to_json(file.at("post_processor")), "null");
  EXPECT_EQ(file.at("decoder").at("type"), "ByteLevel");
  EXPECT_EQ(to_json(file.at("added_tokens").at(0)),
            R"({"id":258,"content":"<|end|>","single_word":false,"lstrip":false,"rstrip":false,)"
            R"("normalized":false,"special":true})");
  EXPECT_EQ(to_json(file.at("model").at("merges")), "[[\"\u0120\",\"a\"]]");
  EXPECT_EQ(file.at("model").at("vocab").at("<|end|>"), 258);
}

TEST(TokenizerFromVocab, IsTheTokenizerOfItsFile) {
  const VocabData data = vocab("smollm");
  const Tokenizer direct = Tokenizer::from_vocab(data);
  const Tokenizer by_file = Tokenizer::from_json(tokenizer_json_from_vocab(data));
  constexpr std::string_view kText = "x a12 <|end|><think>\u00E9";
  EXPECT_EQ(direct.encode(kText, true), by_file.encode(kText, true));
  EXPECT_THAT(split(direct, " a12<|end|>ab"),
              ElementsAre("\u0120a", "1", "2", "<|end|>", "a", "b"));
}

TEST(TokenizerFromVocab, TypesDecideWhatIsSpecial) {
  const Tokenizer tokenizer = Tokenizer::from_vocab(vocab("smollm"));
  EXPECT_TRUE(tokenizer.is_special(258));
  EXPECT_FALSE(tokenizer.is_special(259));
  EXPECT_THAT(tokenizer.encode("<think>", false), ElementsAre(259));
  EXPECT_EQ(tokenizer.token_text(260), "");  // padding of the embedding
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{258, 259, 260}, true), "<think>");
  VocabData untyped = vocab("smollm");
  untyped.types.clear();
  EXPECT_TRUE(Tokenizer::from_vocab(untyped).is_special(258));  // BOS
}

TEST(TokenizerFromVocab, ThePreTokenizersNameDecidesHowTextIsCut) {
  EXPECT_THAT(split(Tokenizer::from_vocab(vocab("gpt-2")), "12\te\u0301"),
              ElementsAre("1", "2", "\u0109", "e", "\u00CC", "\u0123"));
  EXPECT_THAT(split(Tokenizer::from_vocab(vocab("qwen2")), "e\u0301"),
              ElementsAre("\u00C3", "\u00A9"));
  // Llama 3: BOS, and words of the vocabulary need no merges.
  EXPECT_THAT(split(Tokenizer::from_vocab(vocab("llama-bpe")), "ab"), ElementsAre("<|end|>", "ab"));
}

TEST(TokenizerFromVocab, KnowsEveryPreTokenizerByItsNames) {
  const auto file = [](const char* pre) { return tokenizer_json_from_vocab(vocab(pre)); };
  const std::vector<std::string> kinds = {file("gpt-2"), file("smollm"), file("qwen2"),
                                          file("llama-bpe")};
  EXPECT_EQ(std::set(kinds.begin(), kinds.end()).size(), kinds.size());
  EXPECT_EQ(file("deepseek-r1-qwen"), file("qwen2"));
  EXPECT_EQ(file("llama-v3"), file("llama-bpe"));
  EXPECT_EQ(file("llama3"), file("llama-bpe"));
}

TEST(TokenizerFromVocab, DoesNotGuessThePreTokenizer) {
  EXPECT_THAT(refusal(vocab("")), AllOf(HasSubstr("unsupported: tokenizer: expected "),
                                        HasSubstr("tokenizer.ggml.pre"), HasSubstr("got \"\"")));
  EXPECT_THAT(refusal(vocab("default")), HasSubstr("got \"default\""));
}

TEST(TokenizerFromVocab, AddsBosAndEosAsTheFileSays) {
  VocabData data = vocab("llama-bpe");
  data.add_bos = false;
  EXPECT_THAT(split(Tokenizer::from_vocab(data), "ab"), ElementsAre("ab"));
  data.add_bos = true;
  data.eos = 258;
  data.add_eos = true;
  EXPECT_THAT(split(Tokenizer::from_vocab(data), "ab"), ElementsAre("<|end|>", "ab", "<|end|>"));
  EXPECT_EQ(parse_json(tokenizer_json_from_vocab(data), "test")
                .at("post_processor")
                .at("pair")
                .as_array()
                .size(),
            6u);
  data.add_space_prefix = true;
  EXPECT_THAT(split(Tokenizer::from_vocab(data), "a"),
              ElementsAre("<|end|>", "\u0120a", "<|end|>"));
}

TEST(TokenizerFromVocab, RefusesWhatItDoesNotKnowByName) {
  VocabData data = vocab("smollm");
  data.model = "llama";
  EXPECT_THAT(refusal(data), HasSubstr("unsupported: tokenizer: expected a vocabulary of model"));
  EXPECT_THAT(refusal(vocab("tekken")), HasSubstr("got \"tekken\""));
}

TEST(TokenizerFromVocab, RefusesDamagedVocabularies) {
  const VocabData good = vocab("smollm");
  VocabData data = good;
  data.types.pop_back();
  EXPECT_THAT(refusal(data), HasSubstr("invalid_file: tokenizer: expected 261 token types"));
  data = good;
  data.eos = 261;
  EXPECT_THAT(refusal(data), HasSubstr("id below 261, got 261"));
  data.eos = -1;
  EXPECT_THAT(refusal(data), HasSubstr("got -1"));
  data = good;
  data.tokens[5] = data.tokens[6];
  EXPECT_THAT(refusal(data), HasSubstr("got ids 5 and 6"));
  data = good;
  data.tokens[5] = "\xFF";
  EXPECT_THAT(refusal(data), HasSubstr("in UTF-8"));
  data = good;
  data.merges.emplace_back("ab");
  EXPECT_THAT(refusal(data), HasSubstr("a merge of two tokens, got \"ab\""));
  data = good;
  data.merges.emplace_back("a \u4E00");
  EXPECT_THAT(error_of([&] { Tokenizer::from_vocab(data); }), HasSubstr("tokens in model.vocab"));
}

}  // namespace
}  // namespace emlx
