#include "tokenizer/byte_level.h"

#include <array>

#include "base/utf8.h"

namespace emlx {
namespace {

constexpr int kAlphabetEnd = 0x144;  // 188 bytes stand for themselves, 68 for U+0100..U+0143

struct Alphabet {
  std::array<char16_t, 256> chars{};
  std::array<std::int16_t, kAlphabetEnd> bytes{};  // -1: not in the alphabet

  constexpr Alphabet() {
    bytes.fill(-1);
    char16_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
      chars[byte] = printable ? static_cast<char16_t>(byte) : next++;
      bytes[chars[byte]] = static_cast<std::int16_t>(byte);
    }
  }
};
constexpr Alphabet kAlphabet;

}  // namespace

char32_t byte_to_char(std::uint8_t byte) noexcept {
  return kAlphabet.chars[byte];
}

std::optional<std::uint8_t> char_to_byte(char32_t c) noexcept {
  if (c >= kAlphabetEnd || kAlphabet.bytes[c] < 0) return std::nullopt;
  return static_cast<std::uint8_t>(kAlphabet.bytes[c]);
}

std::string bytes_to_chars(std::string_view bytes) {
  std::string chars;
  chars.reserve(bytes.size() * 2);
  for (const char byte : bytes) append_utf8(chars, byte_to_char(static_cast<std::uint8_t>(byte)));
  return chars;
}

void append_bytes_of_chars(std::string& bytes, std::string_view chars) {
  const std::size_t start = bytes.size();
  for (std::string_view rest = chars; !rest.empty();) {
    const DecodedChar decoded = decode_utf8(rest);
    const auto byte = char_to_byte(decoded.code_point);
    if (!byte) {
      bytes.resize(start);
      bytes += chars;
      return;
    }
    bytes += static_cast<char>(*byte);
    rest.remove_prefix(decoded.length);
  }
}

}  // namespace emlx
