#include "base/utf8.h"

#include <gtest/gtest.h>

namespace emlx {
namespace {

TEST(Utf8, RoundTripsEveryCodePoint) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    append_utf8(text, c);
    const DecodedChar decoded = decode_utf8(text);
    ASSERT_TRUE(decoded.valid) << static_cast<unsigned>(c);
    ASSERT_EQ(decoded.code_point, c);
    ASSERT_EQ(decoded.length, static_cast<int>(text.size()));
  }
}

TEST(Utf8, ReplacesMaximalSubparts) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(replace_invalid_utf8("a\xE2\x80"), "a" + r);
  EXPECT_EQ(replace_invalid_utf8("\xE2\x80 \x8D"), r + " " + r);
  EXPECT_EQ(replace_invalid_utf8("\xC0\xAF"), r + r);          // overlong
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), r + r + r);  // surrogate
  EXPECT_EQ(replace_invalid_utf8("\xF4\x90\x80\x80"), r + r + r + r);
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F\x98x"), r + "x");
}

TEST(Utf8, KnowsWhichTailsMayStillBeCompleted) {
  EXPECT_EQ(incomplete_utf8_tail(""), 0u);
  EXPECT_EQ(incomplete_utf8_tail("abc"), 0u);
  EXPECT_EQ(incomplete_utf8_tail("a\xE2"), 1u);
  EXPECT_EQ(incomplete_utf8_tail("a\xE2\x80"), 2u);
  EXPECT_EQ(incomplete_utf8_tail("a\xE2\x80\x8D"), 0u);
  EXPECT_EQ(incomplete_utf8_tail("\xF0\x9F\x98"), 3u);
  EXPECT_EQ(incomplete_utf8_tail("\x80"), 0u);
  EXPECT_EQ(incomplete_utf8_tail("\xE0\x80"), 0u);  // no character starts so
}

TEST(Utf8, FindsTheFirstAndTheLastCharacter) {
  for (const std::string character : {"a", "\u00E9", "\u4E00", "\U0001F600"}) {
    EXPECT_EQ(first_char(character + "b\u00E9"), character);
    EXPECT_EQ(last_char("\u00E9b" + character), character);
    EXPECT_EQ(last_char(character), character);
  }
}

TEST(Utf8, ConvertsToUtf32) {
  EXPECT_EQ(to_utf32("a\u00E9\U0001F600"), U"a\u00E9\U0001F600");
  EXPECT_EQ(to_utf32("\xFF"), std::u32string(1, kReplacementCharacter));
  EXPECT_FALSE(is_valid_utf8("\xFF"));
  EXPECT_TRUE(is_valid_utf8("a\xC3\xA9"));
}

}  // namespace
}  // namespace emlx
