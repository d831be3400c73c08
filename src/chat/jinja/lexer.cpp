#include "chat/jinja/lexer.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "chat/jinja/unicode_text.h"

namespace emlx::jinja {
namespace {

constexpr auto npos = std::string_view::npos;

bool is_digit_char(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_name_char(char c) {
  return is_name_start(c) || is_digit_char(c);
}

// Length of the white space at the start of `text`.
std::size_t leading_space(std::string_view text) {
  std::string_view rest = text;
  while (!rest.empty() && is_space(decode_utf8(rest).code_point))
    rest.remove_prefix(first_char(rest).size());
  return text.size() - rest.size();
}

// `text` without the white space at its end.
std::string_view without_trailing_space(std::string_view text) {
  while (!text.empty() && is_space(decode_utf8(last_char(text)).code_point))
    text.remove_suffix(last_char(text).size());
  return text;
}

// All line ends as \n, and none at the very end of the template.
std::string normalize(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else if (i + 1 == source.size() || source[i + 1] != '\n') {
      out += '\n';
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalize(source)) {}

  std::vector<Token> run() {
    if (!is_valid_utf8(source_)) fail_at(ErrorCode::InvalidFile, "expected UTF-8, got other bytes");
    while (at_ < source_.size()) lex_text();
    add(TokenKind::End, "");
    return std::move(tokens_);
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail_at(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
    fail(code, "chat template line {}: {}", line_,
         fmt::format(format, std::forward<Args>(args)...));
  }

  std::string_view rest() const { return std::string_view(source_).substr(at_); }

  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, line_, std::move(text)}); }

  void skip(std::size_t count) {
    const std::string_view skipped = rest().substr(0, count);
    line_ += static_cast<int>(std::count(skipped.begin(), skipped.end(), '\n'));
    at_ += skipped.size();
    if (!skipped.empty()) after_newline_ = skipped.back() == '\n';
  }

  // Text up to the next tag, then that tag.
  void lex_text() {
    std::size_t open = rest().find('{');
    while (open != npos && !rest().substr(open + 1).starts_with('{') &&
           !rest().substr(open + 1).starts_with('%') && !rest().substr(open + 1).starts_with('#'))
      open = rest().find('{', open + 1);
    if (open == npos) {
      add(TokenKind::Text, std::string(rest()));
      skip(npos);
      return;
    }
    const char kind = rest()[open + 1];
    const char sign = open + 2 < rest().size() ? rest()[open + 2] : '\0';
    add_text(open, sign, kind == '{');
    skip(open + (sign == '-' || sign == '+' ? 3 : 2));
    if (kind == '#') {
      skip_comment();
    } else if (kind == '{') {
      add(TokenKind::VariableBegin, "");
      lex_tag(true);
    } else if (const std::size_t raw = raw_tag("raw")) {
      skip(raw);
      lex_raw();
    } else {
      add(TokenKind::BlockBegin, "");
      lex_tag(false);
    }
  }

  // The next `size` bytes as text in front of a tag, which may take the white space before it.
  void add_text(std::size_t size, char sign, bool before_variable) {
    std::string_view text = rest().substr(0, size);
    if (sign == '-') {
      text = without_trailing_space(text);
    } else if (sign != '+' && !before_variable) {
      const std::size_t newline = text.rfind('\n');
      const std::size_t line_start = newline == npos ? 0 : newline + 1;
      const std::string_view tail = text.substr(line_start);
      if ((newline != npos || after_newline_) && leading_space(tail) == tail.size())
        text = text.substr(0, line_start);
    }
    if (!text.empty()) add(TokenKind::Text, std::string(text));
  }

  // Length of ` raw %}` or ` endraw %}` behind an opening {%, or 0 if there is something else.
  std::size_t raw_tag(std::string_view name) const {
    std::string_view tag = rest();
    tag.remove_prefix(leading_space(tag));
    if (!tag.starts_with(name)) return 0;
    tag.remove_prefix(name.size());
    tag.remove_prefix(leading_space(tag));
    const bool ends_raw = name == "endraw";
    std::size_t length = 0;
    if (tag.starts_with("-%}")) {
      length = 3 + leading_space(tag.substr(3));
    } else if (ends_raw && tag.starts_with("+%}")) {
      length = 3;
    } else if (tag.starts_with("%}")) {
      length = ends_raw && tag.substr(2).starts_with('\n') ? 3 : 2;
    }
    return length == 0 ? 0 : rest().size() - tag.size() + length;
  }

  void lex_raw() {
    const std::size_t start = at_;
    for (std::size_t open = rest().find("{%"); open != npos; open = rest().find("{%", open + 2)) {
      const char sign = open + 2 < rest().size() ? rest()[open + 2] : '\0';
      const std::size_t inside = open + (sign == '-' || sign == '+' ? 3 : 2);
      at_ = start + inside;
      const std::size_t length = raw_tag("endraw");
      at_ = start;
      if (length == 0) continue;
      add_text(open, sign, false);
      skip(inside + length);
      return;
    }
    fail_at(ErrorCode::InvalidFile, "expected 'endraw', got the end of the template");
  }

  void skip_comment() {
    const std::size_t close = rest().find("#}");
    if (close == npos)
      fail_at(ErrorCode::InvalidFile, "expected '#}}', got the end of the template");
    const char sign = close > 0 ? rest()[close - 1] : '\0';
    skip(close + 2);
    skip_after_tag(sign);
  }

  void skip_after_tag(char sign) {
    if (sign == '-') {
      skip(leading_space(rest()));
    } else if (sign != '+' && rest().starts_with('\n')) {
      skip(1);
    }
  }

  void lex_tag(bool is_variable) {
    const std::string_view close = is_variable ? "}}" : "%}";
    std::string brackets;  // the closing ones still to come; a tag ends only outside of all
    while (at_ < source_.size()) {
      const bool signed_end = (rest()[0] == '-' || (rest()[0] == '+' && !is_variable)) &&
                              rest().substr(1).starts_with(close);
      if (brackets.empty() && (signed_end || rest().starts_with(close))) {
        add(is_variable ? TokenKind::VariableEnd : TokenKind::BlockEnd, "");
        const char sign = signed_end ? rest()[0] : '\0';
        skip(signed_end ? 3 : 2);
        if (!is_variable || sign == '-') skip_after_tag(sign);
        return;
      }
      if (const std::size_t space = leading_space(rest())) {
        skip(space);
      } else {
        lex_token(brackets);
      }
    }
  }

  void lex_token(std::string& brackets) {
    const char c = rest()[0];
    if (is_digit_char(c)) {
      lex_number();
    } else if (is_name_start(c)) {
      const auto end = std::find_if_not(rest().begin(), rest().end(), is_name_char);
      take(TokenKind::Name, static_cast<std::size_t>(end - rest().begin()));
    } else if (c == '\'' || c == '"') {
      lex_string(c);
    } else {
      lex_operator(brackets);
    }
  }

  void take(TokenKind kind, std::size_t length) {
    add(kind, std::string(rest().substr(0, length)));
    skip(length);
  }

  // Digits with single '_' between them, from `from` on; returns where they end.
  static std::size_t digits_end(std::string_view text, std::size_t from) {
    std::size_t at = from;
    while (at < text.size() &&
           (is_digit_char(text[at]) ||
            (text[at] == '_' && at > from && at + 1 < text.size() && is_digit_char(text[at + 1]))))
      ++at;
    return at;
  }

  void lex_number() {
    const std::string_view text = rest();
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    const std::size_t whole = digits_end(text, 0);
    std::size_t end = whole;
    if (!after_dot) {
      if (end + 1 < text.size() && text[end] == '.' && is_digit_char(text[end + 1]))
        end = digits_end(text, end + 1);
      std::size_t exponent = end;
      if (exponent < text.size() && (text[exponent] == 'e' || text[exponent] == 'E')) {
        ++exponent;
        if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
        if (exponent < text.size() && is_digit_char(text[exponent]))
          end = digits_end(text, exponent);
      }
    }
    if (end > whole) return take(TokenKind::Float, end);
    if (text[0] != '0') return take(TokenKind::Integer, whole);
    if (text.size() > 1 && std::string_view("bBoOxX").find(text[1]) != npos)
      fail_at(ErrorCode::Unsupported, "expected a decimal number, got {}",
              quote(text.substr(0, 2)));
    // Zeros only: in "012" the 12 is a number of its own, and so an error.
    std::size_t zeros = 1;
    while (zeros < whole && (text[zeros] == '0' || text[zeros] == '_')) ++zeros;
    take(TokenKind::Integer, text[zeros - 1] == '_' ? zeros - 1 : zeros);
  }

  void lex_string(char quote) {
    std::size_t end = 1;
    while (end < rest().size() && rest()[end] != quote) end += rest()[end] == '\\' ? 2 : 1;
    if (end >= rest().size())
      fail_at(ErrorCode::InvalidFile, "expected a closing {}, got the end of the template", quote);
    add(TokenKind::String, unescape(rest().substr(1, end - 1)));
    skip(end + 1);
  }

  // As Python reads the inside of a string literal.
  std::string unescape(std::string_view text) {
    std::string out;
    while (!text.empty()) {
      if (text[0] != '\\') {
        out += text[0];
        text.remove_prefix(1);
      } else {
        text.remove_prefix(1);
        unescape_one(out, text);
      }
    }
    return out;
  }

  // `text` starts behind a backslash.
  void unescape_one(std::string& out, std::string_view& text) {
    constexpr std::string_view kLetters = "abfnrtv\\'\"";
    constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\'\"";
    const char c = text[0];
    if (const std::size_t known = kLetters.find(c); known != npos) {
      out += kValues[known];
      text.remove_prefix(1);
    } else if (c == '\n') {
      text.remove_prefix(1);  // a line continued
    } else if (c >= '0' && c <= '7') {
      unescape_number(out, text, 3, 8, false);
    } else if (c == 'x' || c == 'u' || c == 'U') {
      text.remove_prefix(1);
      unescape_number(out, text, c == 'x' ? 2 : c == 'u' ? 4 : 8, 16, true);
    } else if (c == 'N' || static_cast<unsigned char>(c) >= 0x80) {
      fail_at(ErrorCode::Unsupported, "expected another escape in a string, got \\{}",
              first_char(text));
    } else {
      out += '\\';  // what Python does not know it leaves alone
    }
  }

  void unescape_number(std::string& out, std::string_view& text, std::size_t max_digits, int base,
                       bool all_digits) {
    std::uint32_t code = 0;
    std::size_t count = 0;
    for (; count < max_digits && count < text.size(); ++count) {
      const char c = text[count];
      const int digit = is_digit_char(c)       ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : 16;
      if (digit >= base) break;
      code = code * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(digit);
    }
    if (all_digits && count < max_digits)
      fail_at(ErrorCode::InvalidFile, "expected {} digits in an escape, got {}", max_digits, count);
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      fail_at(ErrorCode::Unsupported, "expected an escape for a character, got number {:#x}", code);
    append_utf8(out, static_cast<char32_t>(code));
    text.remove_prefix(count);
  }

  void lex_operator(std::string& brackets) {
    for (const std::string_view sign : {"//", "**", "==", "!=", ">=", "<="})
      if (rest().starts_with(sign)) return take(TokenKind::Operator, 2);
    const char c = rest()[0];
    if (std::string_view("+-/*%~[](){}><=.:|,;").find(c) == npos)
      fail_at(ErrorCode::InvalidFile, "expected an expression, got {}", quote(first_char(rest())));
    if (c == '(' || c == '[' || c == '{') {
      brackets += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (brackets.empty() || brackets.back() != c)
        fail_at(ErrorCode::InvalidFile, "expected {}, got '{}'",
                brackets.empty() ? std::string("no closing bracket")
                                 : fmt::format("'{}'", brackets.back()),
                c);
      brackets.pop_back();
    }
    take(TokenKind::Operator, 1);
  }

  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool after_newline_ = true;  // the last tag took a line end with it, or there was none yet
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  return Lexer(source).run();
}

}  // namespace emlx::jinja
