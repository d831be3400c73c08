#include "tokenizer/split_patterns.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/utf8.h"
#include "tokenizer/unicode.h"

namespace emlx {
namespace {

constexpr int kUnlimited = std::numeric_limits<int>::max();

struct Char {
  char32_t code_point;
  std::uint8_t properties;
  std::uint8_t length;  // 0 at the end of the text

  bool is(int mask) const { return (properties & mask) != 0; }
  bool is_symbol() const { return length != 0 && !is(kLetter | kNumber | kSpace); }
  bool is_line_break() const { return code_point == '\r' || code_point == '\n'; }
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text), properties_(char_properties()) {}

  std::size_t size() const { return text_.size(); }

  Char at(std::size_t pos) const {
    if (pos >= text_.size()) return {0, 0, 0};
    const auto first = static_cast<unsigned char>(text_[pos]);
    if (first < 0x80) return {first, properties_[first], 1};
    const DecodedChar decoded = decode_utf8(text_.substr(pos));
    return {decoded.code_point, properties_[decoded.code_point],
            static_cast<std::uint8_t>(decoded.length)};
  }

  // Where the run of at most `limit` characters with one of the properties in `mask` ends.
  std::size_t skip(std::size_t pos, int mask, int limit = kUnlimited) const {
    Char c = at(pos);
    for (int count = 0; c.is(mask) && count < limit; ++count) c = at(pos += c.length);
    return pos;
  }

  std::size_t skip_symbols(std::size_t pos) const {
    for (Char c = at(pos); c.is_symbol(); c = at(pos)) pos += c.length;
    return pos;
  }

  std::size_t skip_line_breaks(std::size_t pos) const {
    while (at(pos).is_line_break()) ++pos;
    return pos;
  }

  // End of  's 't 're 've 'm 'll 'd  at `pos`, or `pos`. Ignoring case, U+017F also counts as s:
  // of all characters only it folds to one of these letters.
  std::size_t skip_contraction(std::size_t pos, bool ignore_case) const {
    if (at(pos).code_point != '\'') return pos;
    auto letter = [&](const Char& c) -> char32_t {
      if (!ignore_case) return c.code_point;
      if (c.code_point >= 'A' && c.code_point <= 'Z') return c.code_point - 'A' + 'a';
      return c.code_point == 0x17F ? U's' : c.code_point;
    };
    const Char first = at(pos + 1);
    const std::size_t after_first = pos + 1 + first.length;
    const char32_t a = letter(first);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return after_first;
    const char32_t b = letter(at(after_first));
    const bool two_letters = (b == 'e' && (a == 'r' || a == 'v')) || (a == 'l' && b == 'l');
    return two_letters ? after_first + 1 : pos;
  }

  // \s+(?!\S)|\s+ : a run of spaces, less its last one if something follows and it is not alone;
  // with `line_breaks` after \s*[\r\n]+ , which goes first and ends after the last line break.
  std::size_t skip_spaces(std::size_t pos, bool line_breaks) const {
    const std::size_t begin = pos;
    std::size_t last = pos, after_break = pos;
    for (Char c = at(pos); c.is(kSpace); c = at(pos)) {
      last = pos;
      pos += c.length;
      if (c.is_line_break()) after_break = pos;
    }
    if (line_breaks && after_break > begin) return after_break;
    return pos < text_.size() && last > begin ? last : pos;
  }

 private:
  std::string_view text_;
  const CharPropertyTable& properties_;
};

template <typename PieceEnd>
void split(std::string_view text, std::vector<std::string_view>& pieces, PieceEnd piece_end) {
  const Scanner scanner(text);
  for (std::size_t pos = 0; pos < text.size();) {
    const std::size_t end = piece_end(scanner, pos);
    pieces.push_back(text.substr(pos, end - pos));
    pos = end;
  }
}

std::size_t gpt2_piece_end(const Scanner& scanner, std::size_t pos) {
  if (const std::size_t end = scanner.skip_contraction(pos, false); end > pos) return end;
  const std::size_t word = pos + (scanner.at(pos).code_point == ' ' ? 1 : 0);
  const Char c = scanner.at(word);
  if (c.is(kLetter)) return scanner.skip(word, kLetter);
  if (c.is(kNumber)) return scanner.skip(word, kNumber);
  if (c.is_symbol()) return scanner.skip_symbols(word);
  return scanner.skip_spaces(pos, false);
}

// Qwen2 and Llama 3 differ in the length of number pieces alone.
template <int kMaxDigits>
std::size_t qwen_piece_end(const Scanner& scanner, std::size_t pos) {
  if (const std::size_t end = scanner.skip_contraction(pos, true); end > pos) return end;
  const Char c = scanner.at(pos);
  if (c.is(kNumber)) return scanner.skip(pos, kNumber, kMaxDigits);
  const std::size_t word = pos + (c.is(kLetter) || c.is_line_break() ? 0 : c.length);
  if (scanner.at(word).is(kLetter)) return scanner.skip(word, kLetter);
  const std::size_t symbols = pos + (c.code_point == ' ' ? 1 : 0);
  if (scanner.at(symbols).is_symbol())
    return scanner.skip_line_breaks(scanner.skip_symbols(symbols));
  return scanner.skip_spaces(pos, true);
}

template <int kMaxDigits>
void split_qwen(std::string_view text, std::vector<std::string_view>& pieces) {
  split(text, pieces, qwen_piece_end<kMaxDigits>);
}

// Runs of at most kLimit characters with the property apart, what is between them whole.
template <int kProperty, int kLimit>
void split_runs(std::string_view text, std::vector<std::string_view>& pieces) {
  split(text, pieces, [](const Scanner& scanner, std::size_t pos) {
    if (const std::size_t end = scanner.skip(pos, kProperty, kLimit); end > pos) return end;
    while (pos < scanner.size() && !scanner.at(pos).is(kProperty)) pos += scanner.at(pos).length;
    return pos;
  });
}

struct KnownPattern {
  std::string_view pattern;
  Splitter splitter;
};
constexpr std::array kKnownPatterns = {
    KnownPattern{kGpt2Pattern, split_gpt2}, KnownPattern{kQwen2Pattern, split_qwen<1>},
    KnownPattern{kLlama3Pattern, split_qwen<3>},
    KnownPattern{R"(\p{N}{1,3})", split_runs<kNumber, 3>},  // a step of several newer tokenizers
};

}  // namespace

Splitter find_splitter(std::string_view pattern) noexcept {
  for (const KnownPattern& known : kKnownPatterns)
    if (known.pattern == pattern) return known.splitter;
  return nullptr;
}

void split_gpt2(std::string_view text, std::vector<std::string_view>& pieces) {
  split(text, pieces, gpt2_piece_end);
}

void split_single_digits(std::string_view text, std::vector<std::string_view>& pieces) {
  split_runs<kNumeric, 1>(text, pieces);
}

void split_digit_runs(std::string_view text, std::vector<std::string_view>& pieces) {
  split_runs<kNumeric, kUnlimited>(text, pieces);
}

}  // namespace emlx
