#include "chat/jinja/unicode_text.h"

#include <gtest/gtest.h>

namespace emlx::jinja {
namespace {

TEST(UnicodeText, MapsCaseAsPythonDoes) {
  EXPECT_EQ(to_upper("straße ŉ ﬁ ǆ éΩ"), "STRASSE ʼN FI Ǆ ÉΩ");
  EXPECT_EQ(to_lower("ÀÉ İ Ǆ ŁΩ"), "àé i̇ ǆ łω");
  EXPECT_EQ(capitalize("ǆABC"), "ǅabc");
  EXPECT_EQ(capitalize("ßX"), "Ssx");
  EXPECT_EQ(to_title("they're x1y ǆa"), "They'Re X1Y ǅa");
  EXPECT_EQ(to_upper(""), "");
}

TEST(UnicodeText, EndsWordsWithAFinalSigma) {
  EXPECT_EQ(to_lower("ΑΣ ΑΣΑ Σ ΑΣ."), "ας ασα σ ας.");
}

TEST(UnicodeText, KnowsClasses) {
  EXPECT_TRUE(is_alpha(U'你') && is_alpha(U'é') && !is_alpha(U'1') && !is_alpha(0x1F600));
  EXPECT_TRUE(is_digit(0x664) && is_digit(U'²') && !is_digit(U'½') && is_numeric(U'½'));
  EXPECT_TRUE(is_lowercase(U'ª') && is_uppercase(U'Ⅷ') && is_cased(0x1C5) && !is_cased(U'你'));
  EXPECT_TRUE(is_space(0xA0) && is_space(0x3000) && is_space(0x1C) && !is_space(0x200B));
  EXPECT_TRUE(is_line_end(0x2028) && is_line_end(0x85) && !is_line_end(0x1F) && !is_line_end(' '));
  EXPECT_TRUE(is_printable(U' ') && is_printable(U'é') && !is_printable(0xA0) &&
              !is_printable(0x200D));
}

TEST(UnicodeText, CountsCharacters) {
  EXPECT_EQ(character_count("aé你😀"), 4u);
  EXPECT_EQ(byte_offset("aé你😀", 2), 3u);
  EXPECT_EQ(byte_offset("aé", 2), 3u);
  EXPECT_EQ(byte_offset("aé", 9), 3u);
}

}  // namespace
}  // namespace emlx::jinja
