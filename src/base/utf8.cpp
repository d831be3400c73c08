#include "base/utf8.h"

#include <cstdint>

namespace emlx {
namespace {

// Length a lead byte announces and the range its second byte may take (Unicode table 3-7); length
// 0: not a lead byte.
struct Lead {
  int length;
  unsigned char second_min, second_max;
};

Lead classify(unsigned char byte) noexcept {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// Bytes of `text` that are a well-formed start of the announced sequence, the lead byte included.
int well_formed_prefix(std::string_view text, Lead lead) noexcept {
  int count = 1;
  while (count < lead.length && count < static_cast<int>(text.size())) {
    const auto byte = static_cast<unsigned char>(text[count]);
    const unsigned char low = count == 1 ? lead.second_min : 0x80;
    const unsigned char high = count == 1 ? lead.second_max : 0xBF;
    if (byte < low || byte > high) break;
    ++count;
  }
  return count;
}

}  // namespace

DecodedChar decode_utf8(std::string_view text) noexcept {
  const auto first = static_cast<unsigned char>(text[0]);
  const Lead lead = classify(first);
  if (lead.length == 0) return {kReplacementCharacter, 1, false};
  const int count = well_formed_prefix(text, lead);
  if (count < lead.length) return {kReplacementCharacter, count, false};
  char32_t code_point = lead.length == 1 ? first : first & (0x7F >> lead.length);
  for (int i = 1; i < count; ++i)
    code_point = (code_point << 6) | (static_cast<unsigned char>(text[i]) & 0x3F);
  return {code_point, count, true};
}

std::string_view first_char(std::string_view text) noexcept {
  return text.substr(0, static_cast<std::size_t>(decode_utf8(text).length));
}

std::string_view last_char(std::string_view text) noexcept {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return text.substr(at);
}

void append_utf8(std::string& out, char32_t code_point) {
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000))
    code_point = kReplacementCharacter;
  const auto value = static_cast<std::uint32_t>(code_point);
  if (value < 0x80) {
    out += static_cast<char>(value);
  } else if (value < 0x800) {
    out += static_cast<char>(0xC0 | (value >> 6));
    out += static_cast<char>(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    out += static_cast<char>(0xE0 | (value >> 12));
    out += static_cast<char>(0x80 | ((value >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (value & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (value >> 18));
    out += static_cast<char>(0x80 | ((value >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((value >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (value & 0x3F));
  }
}

bool is_valid_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const DecodedChar decoded = decode_utf8(text);
    if (!decoded.valid) return false;
    text.remove_prefix(decoded.length);
  }
  return true;
}

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const DecodedChar decoded = decode_utf8(bytes);
    if (decoded.valid) {
      out.append(bytes.substr(0, decoded.length));
    } else {
      append_utf8(out, kReplacementCharacter);
    }
    bytes.remove_prefix(decoded.length);
  }
  return out;
}

std::size_t incomplete_utf8_tail(std::string_view bytes) noexcept {
  // The last lead byte is at most three bytes back.
  for (std::size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    const std::string_view tail = bytes.substr(bytes.size() - back);
    const Lead lead = classify(static_cast<unsigned char>(tail[0]));
    if (lead.length == 0) continue;
    const bool open = lead.length > static_cast<int>(back) &&
                      well_formed_prefix(tail, lead) == static_cast<int>(back);
    return open ? back : 0;
  }
  return 0;
}

std::u32string to_utf32(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const DecodedChar decoded = decode_utf8(text);
    out += decoded.code_point;
    text.remove_prefix(decoded.length);
  }
  return out;
}

}  // namespace emlx
