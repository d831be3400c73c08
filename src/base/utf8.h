// UTF-8 without a locale.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace emlx {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// One step of decoding.
struct DecodedChar {
  char32_t code_point;  // kReplacementCharacter if the bytes are not UTF-8
  int length;           // bytes consumed, at least 1
  bool valid;
};

// Decodes the character at `text[0]`; `text` must not be empty. An ill-formed sequence consumes its
// maximal subpart (Unicode 15, section 3.9, "U+FFFD Substitution of Maximal Subparts", as Python
// and Rust do).
DecodedChar decode_utf8(std::string_view text) noexcept;

// The first and the last character of `text`, which must be UTF-8 and not empty.
std::string_view first_char(std::string_view text) noexcept;
std::string_view last_char(std::string_view text) noexcept;

// Appends `code_point` in UTF-8; surrogates and values above U+10FFFF become U+FFFD.
void append_utf8(std::string& out, char32_t code_point);

bool is_valid_utf8(std::string_view text) noexcept;

// `bytes` with every ill-formed sequence replaced by one U+FFFD.
std::string replace_invalid_utf8(std::string_view bytes);

// Number of bytes at the end of `bytes` (0 to 3) that start a character whose remaining bytes may
// still come.
std::size_t incomplete_utf8_tail(std::string_view bytes) noexcept;

std::u32string to_utf32(std::string_view text);  // ill-formed sequences become U+FFFD

}  // namespace emlx
