#include "base/quote.h"

#include <gtest/gtest.h>

#include <string>

namespace emlx {
namespace {

TEST(Quote, StaysOnOneLineOfUtf8) {
  EXPECT_EQ(quote("a\nb\"\xff"), "\"a\\nb\\\"\xef\xbf\xbd\"");
}

TEST(Quote, ShowsWhatWouldSteerATerminalOrTurnTheText) {
  EXPECT_EQ(quote("a\x1b[2J\x7f\u0080\u009f"), R"("a\u001b[2J\u007f\u0080\u009f")");
  EXPECT_EQ(quote("\u2028\u2029\u202a\u202e\u2066\u2069"),
            R"("\u2028\u2029\u202a\u202e\u2066\u2069")");
  EXPECT_EQ(quote("~\u00a0\u2027\u202f\u2065\u206a"), "\"~\u00a0\u2027\u202f\u2065\u206a\"");
}

TEST(Quote, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(quote("abcdef", 6), "\"abcdef\"");
  EXPECT_EQ(quote("abcdefg", 6), "\"abcdef...\"");
  EXPECT_EQ(quote("abcd\xe2\x82\xac", 6), "\"abcd...\"");
}

}  // namespace
}  // namespace emlx
