#include "tokenizer/unicode.h"

#include <gtest/gtest.h>

namespace emlx {
namespace {

int count(CharProperty property) {
  int found = 0;
  for (const auto value : char_properties()) found += (value & property) != 0 ? 1 : 0;
  return found;
}

// Counted with HF tokenizers 0.23.3 over all characters; tests/tokenizer_parity compares each.
TEST(CharProperties, AreThoseOfTheReference) {
  EXPECT_EQ(count(kLetter), 141028);
  EXPECT_EQ(count(kNumber), 1911);
  EXPECT_EQ(count(kSpace), 25);
  EXPECT_EQ(count(kNumeric), 1924);
  EXPECT_EQ(count(kWord), 144667);
}

TEST(CharProperties, FollowTheVersionOfEachPart) {
  const CharPropertyTable& properties = char_properties();
  EXPECT_EQ(properties[U'\U00011DE0'] & (kNumber | kNumeric), kNumeric);  // a digit of Unicode 17
  EXPECT_EQ(properties[U'\u1C89'] & kLetter, kLetter);                    // a letter of Unicode 16
  EXPECT_EQ(properties[U'\u24B6'] & (kLetter | kWord), kWord);            // circled A
  EXPECT_EQ(properties[U'\u180E'] & kSpace, 0);
  EXPECT_EQ(properties[0x10FFFF], 0);
}

}  // namespace
}  // namespace emlx
