#include "tokenizer/nfc.h"

#include <gtest/gtest.h>

#include <string>

#include "base/utf8.h"

namespace emlx {
namespace {

std::u32string nfc(std::u32string_view text) {
  std::string utf8, storage;
  for (const char32_t c : text) append_utf8(utf8, c);
  return to_utf32(to_nfc(utf8, storage));
}

TEST(Nfc, ComposesLettersAndMarks) {
  EXPECT_EQ(nfc(U"cafe\u0301!"), U"caf\u00E9!");
  EXPECT_EQ(nfc(U"e\u0323\u0302"), U"\u1EC7");       // two marks, one after the other
  EXPECT_EQ(nfc(U"\u1E9B\u0323"), U"\u1E9B\u0323");  // no such pair
  EXPECT_EQ(nfc(U"\u00E9\u0301"), U"\u00E9\u0301");  // a letter that decomposes first
}

TEST(Nfc, ReplacesSingletonsAndExclusions) {
  EXPECT_EQ(nfc(U"\u212B"), U"\u00C5");
  EXPECT_EQ(nfc(U"\u2126\uF900"), U"\u03A9\u8C48");
  EXPECT_EQ(nfc(U"\u0958"), U"\u0915\u093C");  // excluded from composition
  EXPECT_EQ(nfc(U"\u0344"), U"\u0308\u0301");  // two marks stay two marks
  EXPECT_EQ(nfc(U"\u0CCA\u0CD5"), U"\u0CCB");  // three levels deep
}

TEST(Nfc, OrdersMarksAndRespectsBlocking) {
  EXPECT_EQ(nfc(U"q\u0307\u0323"), U"q\u0323\u0307");
  EXPECT_EQ(nfc(U"d\u0307\u0323"), U"\u1E0D\u0307");
  EXPECT_EQ(nfc(U"a\u0315\u0300\u05AE\u0300b"), U"\u00E0\u05AE\u0300\u0315b");
  EXPECT_EQ(nfc(U"a\u035B\u0301"), U"a\u035B\u0301");  // blocked: the same class between
  EXPECT_EQ(nfc(U"\u0301a"), U"\u0301a");              // a mark without a letter
}

TEST(Nfc, ComposesHangul) {
  EXPECT_EQ(nfc(U"\u1112\u1161\u11AB"), U"\uD55C");
  EXPECT_EQ(nfc(U"\uAC00\u11A8"), U"\uAC01");
  EXPECT_EQ(nfc(U"\uAC01\u11A8"), U"\uAC01\u11A8");
  EXPECT_EQ(nfc(U"\uAC00\u11A7"), U"\uAC00\u11A7");
  EXPECT_EQ(nfc(U"\uD7A3\u1112"), U"\uD7A3\u1112");
}

// Marks of Unicode 10 and later are unknown to the reference's normalizer and stay in place.
TEST(Nfc, LeavesCharactersYoungerThanUnicode9) {
  EXPECT_EQ(nfc(U"a\u0301\u0D3B\u0316"), U"\u00E1\u0D3B\u0316");
  EXPECT_EQ(nfc(U"\U00011935\U00011930"), U"\U00011935\U00011930");
}

TEST(Nfc, ReturnsTheTextItselfWhereNothingCanChange) {
  const std::string text = "plain, caf\u00E9 \u6F22\u5B57 \uD55C";
  std::string storage;
  EXPECT_EQ(to_nfc(text, storage).data(), text.data());
}

TEST(Nfc, NormalizesEachPlaceOfALongText) {
  const std::u32string unit = U"xe\u0301y\u212B ";
  std::u32string text, expected;
  for (int i = 0; i < 3; ++i) {
    text += unit;
    expected += U"x\u00E9y\u00C5 ";
  }
  EXPECT_EQ(nfc(text), expected);
  EXPECT_EQ(nfc(U"\u0061" + std::u32string(100000, U'\u0316')).size(), 100001u);
}

}  // namespace
}  // namespace emlx
