#include "engine/stop_checker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace emlx {
namespace {

// Everything that comes out for `text` cut into pieces of `size` bytes, and what was still held.
struct Outcome {
  std::string passed, held;
  bool matched;
  bool operator==(const Outcome&) const = default;
};

Outcome run(const std::vector<std::string>& stops, std::string_view text, std::size_t size) {
  StopChecker checker(stops);
  std::string passed;
  for (std::size_t at = 0; at < text.size(); at += size)
    passed += checker.append(text.substr(at, size));
  std::string held = checker.finish();
  return {passed, held, checker.matched()};
}

TEST(StopChecker, CutsBeforeAStopStringHoweverTheTextIsCut) {
  struct Case {
    std::vector<std::string> stops;
    std::string text, passed, held;
    bool matched;
  };
  const std::vector<Case> cases = {
      {{"beta gamma"}, "alpha beta gamma delta", "alpha ", "", true},
      {{"DEFGHIJ"}, "ABCDEFGHIJK", "ABC", "", true},
      {{"aab"}, "aaaab", "aa", "", true},         // a border is kept when a match breaks off
      {{"abab!"}, "ababab!", "ab", "", true},     //
      {{"stop"}, "no st", "no ", "st", false},    // the text ends inside a beginning
      {{"abcd", "bc"}, "xabcd", "xa", "", true},  // the first to be complete
      {{"bc", "abc"}, "xabc", "x", "", true},     // the longest of those that end together
      {{"xyz", "yq"}, "axyq", "ax", "", true},    // the shorter beginning was held too
      {{"\xe2\x82\xac"}, "1 \xe2\x82\xac", "1 ", "", true},
      {{}, "free", "free", "", false},
  };
  for (const Case& c : cases)
    for (std::size_t size = 1; size <= c.text.size(); ++size)
      EXPECT_EQ(run(c.stops, c.text, size), (Outcome{c.passed, c.held, c.matched}))
          << c.text << " in pieces of " << size;
}

TEST(StopChecker, HoldsBackWhatMayBeTheBeginningOfAStopString) {
  StopChecker checker({"DEF", "EX"});
  EXPECT_EQ(checker.append("ABCD"), "ABC");
  EXPECT_EQ(checker.append("E"), "");
  EXPECT_EQ(checker.append("G"), "DEG");
  EXPECT_EQ(checker.append("D"), "");
  EXPECT_EQ(checker.append("EX"), "D");
  EXPECT_TRUE(checker.matched());
  EXPECT_EQ(checker.append("more"), "");
}

TEST(StopChecker, AgreesWithASearchOfTheWholeText) {
  std::uint64_t state = 1;
  const auto next = [&](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % below;
  };
  const auto word = [&](std::size_t length) {
    std::string text;
    while (text.size() < length) text += static_cast<char>('a' + next(2));
    return text;
  };
  int matches = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::vector<std::string> stops{word(1 + next(6)), word(3 + next(6))};
    const std::string text = word(1 + next(30));
    std::size_t end = std::string::npos, begin = 0;
    for (const std::string& stop : stops) {
      const std::size_t at = text.find(stop);
      if (at == std::string::npos || at + stop.size() > end) continue;
      begin = at + stop.size() < end ? at : std::min(begin, at);
      end = at + stop.size();
    }
    const Outcome outcome = run(stops, text, 1 + next(4));
    const bool found = end != std::string::npos;
    matches += found ? 1 : 0;
    ASSERT_EQ(outcome.matched, found) << text << " / " << stops[0] << " / " << stops[1];
    ASSERT_EQ(outcome.passed + outcome.held, found ? text.substr(0, begin) : text);
  }
  EXPECT_GT(matches, 500);
  EXPECT_LT(matches, 1950);
}

}  // namespace
}  // namespace emlx
