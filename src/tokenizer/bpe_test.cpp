#include "tokenizer/bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>

#include "tokenizer/test_support.h"

namespace emlx {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<TokenId> encode(const Bpe& bpe, std::string_view word) {
  Bpe::Workspace workspace;
  std::vector<TokenId> ids;
  bpe.encode(word, ids, workspace);
  return ids;
}

Bpe model(std::string_view file, bool byte_level = false) {
  return Bpe(parse_json(file, "test").as_object(), byte_level);
}

std::string refusal(std::string_view file) {
  return error_of([&] { model(file); });
}

TEST(Bpe, MergesTheBestRankFirst) {
  const Bpe bpe = model(R"({"vocab":{"a":0,"b":1,"c":2,"bc":3,"ab":4},"merges":["b c","a b"]})");
  EXPECT_THAT(encode(bpe, "abc"), ElementsAre(0, 3));
  EXPECT_THAT(encode(bpe, "abab"), ElementsAre(4, 4));
  EXPECT_THAT(encode(bpe, "a"), ElementsAre(0));
  EXPECT_THAT(encode(bpe, ""), IsEmpty());
}

TEST(Bpe, MergesTheLeftmostOfEqualRanks) {
  const Bpe bpe = model(R"({"vocab":{"a":0,"aa":1,"aaa":2},"merges":["a a","aa a"]})");
  EXPECT_THAT(encode(bpe, "aaa"), ElementsAre(2));
  EXPECT_THAT(encode(bpe, "aaaaa"), ElementsAre(1, 2));
}

TEST(Bpe, MergesAcrossResultsOfMerges) {
  const Bpe bpe = model(R"({"vocab":{"a":0,"b":1,"ab":2,"abab":3,"bab":4},
                            "merges":["a b","b ab","ab ab"]})");
  EXPECT_THAT(encode(bpe, "abab"), ElementsAre(3));
  EXPECT_THAT(encode(bpe, "babab"), ElementsAre(4, 2));
}

TEST(Bpe, ReadsMergesAsStringsAndAsPairs) {
  constexpr std::string_view kVocab = R"({"vocab":{"a":0," ":1,"a ":2,"aa":3},"merges":)";
  const Bpe pairs = model(std::string(kVocab) + R"([["a"," "],["a","a"]]})");
  EXPECT_THAT(encode(pairs, "a aa"), ElementsAre(2, 3));
  const Bpe strings = model(std::string(kVocab) + R"(["#version: 0.2","a a"]})");
  EXPECT_THAT(encode(strings, "aa"), ElementsAre(3));
}

TEST(Bpe, IgnoresMergesForWordsOfTheVocabularyWhenAsked) {
  for (const char* name : {"ignore_merges_true", "ignore_merges_false"}) {
    const JsonValue expected = parse_json(fixture("tokenizer/tok_synthetic_expected.json"), name);
    const std::string path = std::string("tokenizer/synthetic/") + name + ".json";
    const JsonValue file = parse_json(fixture(path), name);
    const Bpe bpe(file.at("model").as_object(), false);
    for (const JsonValue& row : expected.at(name).as_array()) {
      std::vector<TokenId> ids;
      for (const JsonValue& id : row.at("ids").as_array())
        ids.push_back(static_cast<TokenId>(id.as_int64()));
      EXPECT_EQ(encode(bpe, row.at("text").as_string()), ids) << name;
    }
  }
}

TEST(Bpe, IgnoresMergesInTheByteLevelAlphabetToo) {
  TokenizerFile file;
  file.merges = {{" ", "a"}, {" a", "b"}};
  JsonObject object = file.model();
  object["merges"].as_array().pop_back();  // " ab" is in the vocabulary, but no merge makes it
  EXPECT_THAT(encode(Bpe(object, true), " ab"), ElementsAre(256, 'b'));
  object["ignore_merges"] = true;
  EXPECT_THAT(encode(Bpe(object, true), " ab"), ElementsAre(257));
}

TEST(Bpe, UsesTheUnknownTokenOrNothing) {
  const std::string file = R"({"vocab":{"a":0,"?":1},"merges":[])";
  EXPECT_THAT(encode(model(file + "}"), "xya"), ElementsAre(0));
  EXPECT_THAT(encode(model(file + R"(,"unk_token":"?"})"), "\u4E00ya?"), ElementsAre(1, 1, 0, 1));
  EXPECT_THAT(encode(model(file + R"(,"unk_token":"?","fuse_unk":true})"), "xya?z"),
              ElementsAre(1, 0, 1, 1));
}

TEST(Bpe, TheLaterOfEqualMergesHolds) {
  const Bpe bpe =
      model(R"({"vocab":{"a":0,"b":1,"c":2,"ab":3,"bc":4},"merges":["a b","b c","a b"]})");
  EXPECT_THAT(encode(bpe, "abc"), ElementsAre(0, 4));
}

// The definition: while some neighbours merge, merge the leftmost pair of the best rank.
std::vector<std::string> merge_by_definition(std::vector<std::string> symbols,
                                             const TokenizerFile& file) {
  for (;;) {
    std::size_t best_rank = file.merges.size(), best = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
      for (std::size_t rank = 0; rank < best_rank; ++rank)
        if (file.merges[rank] == std::pair{symbols[i], symbols[i + 1]}) {
          best_rank = rank;
          best = i;
        }
    if (best_rank == file.merges.size()) return symbols;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(Bpe, AgreesWithTheDefinitionOnRandomMerges) {
  std::mt19937 random(11);
  for (int run = 0; run < 300; ++run) {
    TokenizerFile file;
    std::vector<std::string> tokens = {"a", "b", "c"};
    for (int i = 0; i < 12; ++i) {
      const std::pair merge{tokens[random() % tokens.size()], tokens[random() % tokens.size()]};
      const std::string made = merge.first + merge.second;
      if (std::find(tokens.begin(), tokens.end(), made) != tokens.end()) continue;
      file.merges.push_back(merge);
      tokens.push_back(made);
    }
    const JsonObject object = file.model();
    const Bpe bpe(object, true);
    for (int text = 0; text < 20; ++text) {
      std::vector<std::string> symbols(random() % 40);
      for (std::string& symbol : symbols) symbol = tokens[random() % 3];
      std::string word, shown;
      for (const std::string& symbol : symbols) word += symbol;
      for (const TokenId id : encode(bpe, word)) shown += std::string(*bpe.vocab().text(id)) + ' ';
      std::string expected;
      for (const std::string& symbol : merge_by_definition(symbols, file)) expected += symbol + ' ';
      ASSERT_EQ(shown, expected);
    }
  }
}

// Eight letters merge into one token, as in Qwen's vocabulary.
TEST(Bpe, AWordOfAMillionLettersTakesAboutTenTimesAsLongAsOneOfAHundredThousand) {
  TokenizerFile file;
  file.merges = {{"a", "a"}, {"aa", "aa"}, {"aaaa", "aaaa"}};
  const Bpe bpe(file.model(), true);
  auto seconds = [&](std::size_t length) {
    double best = 1e9;
    for (int run = 0; run < 3; ++run) {
      const std::string word(length, 'a');
      const auto start = std::chrono::steady_clock::now();
      const auto ids = encode(bpe, word);
      best = std::min(
          best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      EXPECT_EQ(ids.size(), length / 8);
      EXPECT_THAT(ids, Each(258));
    }
    return best;
  };
  const double short_time = seconds(100'000);
  EXPECT_LE(seconds(1'000'000), 25 * short_time);
}

TEST(Bpe, RefusesDamagedFiles) {
  EXPECT_THAT(refusal("{}"), HasSubstr("the model to have 'vocab'"));
  EXPECT_THAT(refusal(R"({"vocab":[],"merges":[]})"), HasSubstr("model.vocab to be an object"));
  EXPECT_THAT(refusal(R"({"vocab":{}})"), HasSubstr("the model to have 'merges'"));
  EXPECT_THAT(refusal(R"({"vocab":{},"merges":{}})"), HasSubstr("model.merges to be an array"));
  const std::string vocab = R"({"vocab":{"a":0,"b":1},"merges":)";
  EXPECT_THAT(refusal(vocab + R"(["a b"]})"), HasSubstr("tokens in model.vocab, got \"ab\""));
  EXPECT_THAT(refusal(vocab + R"(["a c"]})"), HasSubstr("tokens in model.vocab, got \"c\""));
  for (const char* merges : {"[1]", R"(["ab"])", R"(["a b c"])", R"([["a"]])", R"([["a",1]])",
                             R"([["a","b","a"]])", "[null]"})
    EXPECT_THAT(refusal(vocab + merges + "}"), HasSubstr("invalid_file: tokenizer: expected"))
        << merges;
  EXPECT_THAT(refusal(vocab + R"([],"unk_token":"?"})"), HasSubstr("unk_token"));
}

TEST(Bpe, RefusesBadIds) {
  for (const char* id :
       {"-1", "1.5", "\"1\"", "null", "1000000000", "2147483648", "18446744073709551615"})
    EXPECT_THAT(refusal(std::string(R"({"merges":[],"vocab":{"a":)") + id + "}}"),
                HasSubstr("invalid_file: tokenizer: expected"))
        << id;
  EXPECT_THAT(refusal(R"({"merges":[],"vocab":{"a":0,"b":0}})"), HasSubstr("one token with id 0"));
}

TEST(Bpe, RefusesOptionsItDoesNotKnow) {
  const std::string file = R"({"vocab":{"a":0},"merges":[],)";
  for (const char* option :
       {R"("dropout":0.1)", R"("byte_fallback":true)", R"("continuing_subword_prefix":"##")",
        R"("end_of_word_suffix":"</w>")"})
    EXPECT_THAT(refusal(file + option + "}"), HasSubstr("unsupported: tokenizer: expected"))
        << option;
  EXPECT_EQ(
      refusal(file + R"("dropout":0.0,"continuing_subword_prefix":"","end_of_word_suffix":null})"),
      "");
}

}  // namespace
}  // namespace emlx
