#include "tokenizer/split_patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace emlx {
namespace {

using testing::ElementsAre;
using Pieces = std::vector<std::string_view>;

Pieces split(Splitter splitter, std::string_view text) {
  Pieces pieces;
  splitter(text, pieces);
  return pieces;
}
Pieces gpt2(std::string_view text) {
  return split(find_splitter(kGpt2Pattern), text);
}
Pieces qwen2(std::string_view text) {
  return split(find_splitter(kQwen2Pattern), text);
}
Pieces llama3(std::string_view text) {
  return split(find_splitter(kLlama3Pattern), text);
}

TEST(SplitPatterns, UnknownOnesHaveNoMatcher) {
  EXPECT_EQ(find_splitter(R"(\w+|[^\w\s]+)"), nullptr);
  EXPECT_EQ(find_splitter(""), nullptr);
}

TEST(SplitPatterns, Gpt2KeepsNumbersWholeAndContractionsLowerCase) {
  EXPECT_THAT(gpt2("I've 123 items!"), ElementsAre("I", "'ve", " 123", " items", "!"));
  EXPECT_THAT(gpt2("I'VE"), ElementsAre("I", "'", "VE"));
  EXPECT_THAT(gpt2("a->b"), ElementsAre("a", "->", "b"));
  EXPECT_THAT(gpt2("\tx"), ElementsAre("\t", "x"));
}

TEST(SplitPatterns, Qwen2SplitsDigitsOneByOneAndKeepsSymbolRuns) {
  EXPECT_THAT(qwen2("x->1234"), ElementsAre("x", "->", "1", "2", "3", "4"));
  EXPECT_THAT(qwen2("f(x):\n\ny"), ElementsAre("f", "(x", "):\n\n", "y"));
  EXPECT_THAT(qwen2(" -5"), ElementsAre(" -", "5"));
  EXPECT_THAT(qwen2("\tx \nx"), ElementsAre("\tx", " \n", "x"));
  EXPECT_THAT(qwen2("\nx\ry"), ElementsAre("\n", "x", "\r", "y"));
}

TEST(SplitPatterns, Llama3GroupsUpToThreeDigits) {
  EXPECT_THAT(llama3("1234567 x"), ElementsAre("123", "456", "7", " x"));
  EXPECT_THAT(llama3("\u0661\u0662\u0663\u0664"), ElementsAre("\u0661\u0662\u0663", "\u0664"));
}

TEST(SplitPatterns, ContractionsIgnoreCaseAsTheRegexEngineDoes) {
  EXPECT_THAT(qwen2("we'Ll"), ElementsAre("we", "'Ll"));
  EXPECT_THAT(qwen2("x'Sy"), ElementsAre("x", "'S", "y"));
  EXPECT_THAT(qwen2("x'\u017Fy"), ElementsAre("x", "'\u017F", "y"));  // long s folds to s
  EXPECT_THAT(qwen2("x'ly"), ElementsAre("x", "'ly"));
  EXPECT_THAT(qwen2("x'r"), ElementsAre("x", "'r"));
  EXPECT_THAT(gpt2("x'\u017Fy"), ElementsAre("x", "'", "\u017Fy"));
}

TEST(SplitPatterns, SpaceRunsLeaveTheirLastSpaceToTheNextWord) {
  EXPECT_THAT(qwen2("a   b"), ElementsAre("a", "  ", " b"));
  EXPECT_THAT(qwen2("a  \t1"), ElementsAre("a", "  ", "\t", "1"));
  EXPECT_THAT(qwen2("a  "), ElementsAre("a", "  "));
  EXPECT_THAT(qwen2("\n\n  \n  b"), ElementsAre("\n\n  \n", " ", " b"));
  EXPECT_THAT(gpt2("a \n b"), ElementsAre("a", " \n", " b"));
  EXPECT_THAT(qwen2("\u00A0\u00A0x"), ElementsAre("\u00A0", "\u00A0x"));
  EXPECT_THAT(qwen2("\u3000\u2028!"), ElementsAre("\u3000", "\u2028", "!"));
}

TEST(SplitPatterns, DigitsFollowTheirOwnNotionOfADigit) {
  EXPECT_THAT(split(split_single_digits, "ab12\u00BD"), ElementsAre("ab", "1", "2", "\u00BD"));
  EXPECT_THAT(split(split_digit_runs, "ab12\u00BD c"), ElementsAre("ab", "12\u00BD", " c"));
  EXPECT_THAT(split(split_digit_runs, "1"), ElementsAre("1"));
  EXPECT_THAT(split(split_single_digits, "a\U00011DE0"), ElementsAre("a", "\U00011DE0"));
}

// Runs are scanned a fixed number of times; a backtracking matcher would take minutes here.
TEST(SplitPatterns, LongRunsTakeLinearTime) {
  const auto start = std::chrono::steady_clock::now();
  for (const char* unit : {" ", "\n", " \n", "'", "'l", "a", "1", "! "}) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    qwen2(text);
    gpt2(text);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace emlx
