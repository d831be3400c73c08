#include "chat/jinja/unicode_text.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/utf8.h"

namespace emlx::jinja {
namespace {

struct Range {
  char32_t first, last;
};

// Every `stride`-th character from `first` to `last` maps to itself plus `offset`.
struct Run {
  char32_t first, last;
  std::uint32_t stride;
  std::int32_t offset;
};

struct Expansion {
  char32_t character;
  std::u32string_view text;
};

#include "chat/jinja/unicode_tables.inc"

bool contains(std::span<const Range> ranges, char32_t character) noexcept {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), character,
                       [](char32_t wanted, const Range& range) { return wanted < range.first; });
  return after != ranges.begin() && character <= std::prev(after)->last;
}

// Appends what `character` maps to; false (and nothing appended) if the tables do not name it.
bool append_mapped(std::string& out, char32_t character, std::span<const Run> runs,
                   std::span<const Expansion> expansions) {
  const auto after =
      std::upper_bound(runs.begin(), runs.end(), character,
                       [](char32_t wanted, const Run& run) { return wanted < run.first; });
  if (after != runs.begin()) {
    const Run& run = *std::prev(after);
    if (character <= run.last && (character - run.first) % run.stride == 0) {
      append_utf8(out, static_cast<char32_t>(static_cast<std::int64_t>(character) + run.offset));
      return true;
    }
  }
  const auto expansion = std::lower_bound(
      expansions.begin(), expansions.end(), character,
      [](const Expansion& entry, char32_t wanted) { return entry.character < wanted; });
  if (expansion == expansions.end() || expansion->character != character) return false;
  for (const char32_t part : expansion->text) append_utf8(out, part);
  return true;
}

void append_upper(std::string& out, char32_t character) {
  if (character < 0x80) {
    out += static_cast<char>(character >= 'a' && character <= 'z' ? character - 32 : character);
  } else if (!append_mapped(out, character, kUpperRuns, kUpperExpansions)) {
    append_utf8(out, character);
  }
}

void append_title(std::string& out, char32_t character) {
  if (!append_mapped(out, character, kTitleRuns, kTitleExpansions)) append_upper(out, character);
}

// `previous` (0: none) and `rest` are the surroundings, which decide the form of a sigma.
void append_lower(std::string& out, char32_t character, char32_t previous, std::string_view rest) {
  constexpr char32_t kSigma = 0x3A3, kFinalSigma = 0x3C2;
  if (character < 0x80) {
    out += static_cast<char>(character >= 'A' && character <= 'Z' ? character + 32 : character);
  } else if (character == kSigma && is_alpha(previous) &&
             (rest.empty() || !is_alpha(decode_utf8(rest).code_point))) {
    append_utf8(out, kFinalSigma);
  } else if (!append_mapped(out, character, kLowerRuns, kLowerExpansions)) {
    append_utf8(out, character);
  }
}

// Maps a text character by character; `starts_word` says of which ones to take the title case.
template <typename StartsWord>
std::string map_case(std::string_view text, StartsWord starts_word) {
  std::string out;
  out.reserve(text.size());
  char32_t previous = 0;
  for (std::size_t at = 0; at < text.size();) {
    const DecodedChar decoded = decode_utf8(text.substr(at));
    const bool first = at == 0;
    at += static_cast<std::size_t>(decoded.length);
    if (starts_word(first, previous)) {
      append_title(out, decoded.code_point);
    } else {
      append_lower(out, decoded.code_point, previous, text.substr(at));
    }
    previous = decoded.code_point;
  }
  return out;
}

}  // namespace

bool is_space(char32_t c) noexcept {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

bool is_line_end(char32_t c) noexcept {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

bool is_alpha(char32_t character) noexcept {
  return contains(kAlpha, character);
}
bool is_digit(char32_t character) noexcept {
  return contains(kDigit, character);
}
bool is_numeric(char32_t character) noexcept {
  return contains(kNumeric, character);
}
bool is_lowercase(char32_t character) noexcept {
  return contains(kLowercase, character);
}
bool is_uppercase(char32_t character) noexcept {
  return contains(kUppercase, character);
}
bool is_printable(char32_t character) noexcept {
  return !contains(kUnprintable, character);
}

bool is_cased(char32_t character) noexcept {
  return is_lowercase(character) || is_uppercase(character) || contains(kTitlecase, character);
}

std::string to_upper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const DecodedChar decoded = decode_utf8(text.substr(at));
    append_upper(out, decoded.code_point);
    at += static_cast<std::size_t>(decoded.length);
  }
  return out;
}

std::string to_lower(std::string_view text) {
  return map_case(text, [](bool, char32_t) { return false; });
}

std::string capitalize(std::string_view text) {
  return map_case(text, [](bool first, char32_t) { return first; });
}

std::string to_title(std::string_view text) {
  return map_case(text, [](bool first, char32_t previous) { return first || !is_cased(previous); });
}

std::size_t character_count(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::size_t byte_offset(std::string_view text, std::size_t index) noexcept {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;
    if (index-- == 0) break;
  }
  return at;
}

}  // namespace emlx::jinja
