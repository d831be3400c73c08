#include "base/quote.h"

#include <gtest/gtest.h>

#include <string>

namespace emlx {
namespace {

TEST(Quote, StaysOnOneLineOfUtf8) {
  EXPECT_EQ(quote("a\nb\"\xff"), "\"a\\nb\\\"\xef\xbf\xbd\"");
}

TEST(Quote, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(quote("abcdef", 6), "\"abcdef\"");
  EXPECT_EQ(quote("abcdefg", 6), "\"abcdef...\"");
  EXPECT_EQ(quote("abcd\xe2\x82\xac", 6), "\"abcd...\"");
}

}  // namespace
}  // namespace emlx
