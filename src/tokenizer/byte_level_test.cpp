#include "tokenizer/byte_level.h"

#include <gtest/gtest.h>

namespace emlx {
namespace {

std::string bytes_of(std::string_view chars) {
  std::string bytes = "|";
  append_bytes_of_chars(bytes, chars);
  return bytes;
}

TEST(ByteLevel, NamesEveryByteByOneCharacter) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(bytes_of(bytes_to_chars(all)), "|" + all);
  EXPECT_EQ(bytes_to_chars(" a\n\x7F\xA0\xAD\xAE\xFF"),
            "\u0120a\u010A\u0121\u0142\u0143\u00AE\u00FF");
}

TEST(ByteLevel, LeavesForeignTextAsItIs) {
  EXPECT_EQ(bytes_of("a b"), "|a b");  // a space is no character of the alphabet
  EXPECT_EQ(bytes_of("\u0120\u4E00"), "|\u0120\u4E00");
  EXPECT_EQ(bytes_of("\u0144"), "|\u0144");
  EXPECT_EQ(bytes_of("\u00E9"), "|\xE9");
  EXPECT_EQ(char_to_byte(0x110000), std::nullopt);
}

}  // namespace
}  // namespace emlx
