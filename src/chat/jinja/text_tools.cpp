#include "chat/jinja/text_tools.h"

#include <algorithm>
#include <string>

#include "base/quote.h"
#include "base/utf8.h"
#include "chat/jinja/text_search.h"
#include "chat/jinja/unicode_text.h"

namespace emlx::jinja {
namespace {

constexpr auto npos = std::string_view::npos;

bool starts_with_space(std::string_view text) {
  return !text.empty() && is_space(decode_utf8(text).code_point);
}

bool ends_with_space(std::string_view text) {
  return !text.empty() && is_space(decode_utf8(last_char(text)).code_point);
}

std::string_view separator_text(Runtime& runtime, const Value& separator) {
  if (!separator.is_string())
    runtime.fail("split: expected a str to split at, got {}", type_name(separator));
  if (separator.text().empty()) runtime.fail("split: expected a separator, got an empty one");
  return separator.text();
}

bool is_absent(const Value& value) {
  return !value.given() || value.is(Kind::None);
}

std::vector<Value> split_words(Runtime& runtime, std::string_view rest, std::int64_t limit) {
  runtime.walk(rest);
  ListBuilder words(runtime);
  const auto skip_space = [&rest] {
    while (starts_with_space(rest)) rest.remove_prefix(first_char(rest).size());
  };
  for (skip_space(); !rest.empty(); skip_space()) {
    std::size_t end = rest.size();
    if (limit < 0 || limit-- > 0)
      for (end = 0; end < rest.size() && !starts_with_space(rest.substr(end));)
        end += first_char(rest.substr(end)).size();
    words.add(Value::string(rest.substr(0, end)));
    rest.remove_prefix(end);
  }
  return std::move(words.items());
}

std::vector<Value> rsplit_words(Runtime& runtime, std::string_view rest, std::int64_t limit) {
  runtime.walk(rest);
  ListBuilder words(runtime);
  const auto skip_space = [&rest] {
    while (ends_with_space(rest)) rest.remove_suffix(last_char(rest).size());
  };
  for (skip_space(); !rest.empty(); skip_space()) {
    std::size_t start = 0;
    if (limit < 0 || limit-- > 0)
      for (start = rest.size(); start > 0 && !ends_with_space(rest.substr(0, start));)
        start -= last_char(rest.substr(0, start)).size();
    words.add(Value::string(rest.substr(start)));
    rest = rest.substr(0, start);
  }
  std::reverse(words.items().begin(), words.items().end());
  return std::move(words.items());
}

}  // namespace

std::string_view strip_text(Runtime& runtime, std::string_view text, const Value& chars,
                            Side side) {
  std::u32string set;
  if (!is_absent(chars)) {
    if (!chars.is_string())
      runtime.fail("strip: expected a str of characters, got {}", type_name(chars));
    runtime.walk(chars.text());
    set = to_utf32(chars.text());
  }
  const auto taken = [&](std::string_view character) {
    runtime.step(1 + set.size() / 16);
    const char32_t code_point = decode_utf8(character).code_point;
    return is_absent(chars) ? is_space(code_point) : set.find(code_point) != std::u32string::npos;
  };
  if (side != Side::Right)
    while (!text.empty() && taken(first_char(text))) text.remove_prefix(first_char(text).size());
  if (side != Side::Left)
    while (!text.empty() && taken(last_char(text))) text.remove_suffix(last_char(text).size());
  return text;
}

std::vector<Value> split_text(Runtime& runtime, std::string_view text, const Value& separator,
                              std::int64_t limit) {
  runtime.read(text);
  if (is_absent(separator)) return split_words(runtime, text, limit);
  const std::string_view mark = separator_text(runtime, separator);
  ListBuilder parts(runtime);
  for (; limit != 0; limit -= limit > 0 ? 1 : 0) {
    const std::size_t at = find_text(runtime, text, mark);
    if (at == npos) break;
    parts.add(Value::string(text.substr(0, at)));
    text.remove_prefix(at + mark.size());
  }
  parts.add(Value::string(text));
  return std::move(parts.items());
}

std::vector<Value> rsplit_text(Runtime& runtime, std::string_view text, const Value& separator,
                               std::int64_t limit) {
  runtime.read(text);
  if (is_absent(separator)) return rsplit_words(runtime, text, limit);
  const std::string_view mark = separator_text(runtime, separator);
  ListBuilder parts(runtime);
  for (; limit != 0; limit -= limit > 0 ? 1 : 0) {
    const std::size_t at = rfind_text(runtime, text, mark);
    if (at == npos) break;
    parts.add(Value::string(text.substr(at + mark.size())));
    text = text.substr(0, at);
  }
  parts.add(Value::string(text));
  std::reverse(parts.items().begin(), parts.items().end());
  return std::move(parts.items());
}

std::vector<Value> split_lines(Runtime& runtime, std::string_view text, bool keep_ends) {
  runtime.walk(text);
  ListBuilder lines(runtime);
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const DecodedChar decoded = decode_utf8(text.substr(at));
    const std::size_t line_end = at;
    at += static_cast<std::size_t>(decoded.length);
    if (!is_line_end(decoded.code_point)) continue;
    if (decoded.code_point == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.add(Value::string(text.substr(start, (keep_ends ? at : line_end) - start)));
    start = at;
  }
  if (start < text.size()) lines.add(Value::string(text.substr(start)));
  return std::move(lines.items());
}

Value replace_text(Runtime& runtime, std::string_view text, std::string_view old,
                   std::string_view replacement, std::int64_t limit) {
  runtime.read(text);
  TextBuilder out(runtime);
  for (; limit != 0; limit -= limit > 0 ? 1 : 0) {
    if (old.empty()) {  // between all characters, and at both ends
      out << replacement;
      if (text.empty()) return out.finish();
      out << first_char(text);
      text.remove_prefix(first_char(text).size());
      runtime.step();
      continue;
    }
    const std::size_t at = find_text(runtime, text, old);
    if (at == npos) break;
    out << text.substr(0, at) << replacement;
    text.remove_prefix(at + old.size());
  }
  out << text;
  return out.finish();
}

Value pad_text(Runtime& runtime, std::string_view text, std::int64_t width, std::string_view fill,
               Side side) {
  if (character_count(fill) != 1)
    runtime.fail("expected one character to fill with, got {}", quote(fill));
  const auto size = static_cast<std::int64_t>(character_count(text));
  const std::int64_t missing = width > size ? width - size : 0;
  std::int64_t before = 0;
  if (side == Side::Right) before = missing;
  if (side == Side::Both) before = missing / 2 + (missing & width & 1);
  TextBuilder padded(runtime);
  padded.repeat(fill, before);
  padded << text;
  padded.repeat(fill, missing - before);
  return padded.finish();
}

bool is_lowercase_text(std::string_view text) {
  bool found = false;
  for (; !text.empty(); text.remove_prefix(first_char(text).size())) {
    const char32_t character = decode_utf8(text).code_point;
    const bool lower = is_lowercase(character);
    if (!lower && is_cased(character)) return false;
    found |= lower;
  }
  return found;
}

bool is_uppercase_text(std::string_view text) {
  bool found = false;
  for (; !text.empty(); text.remove_prefix(first_char(text).size())) {
    const char32_t character = decode_utf8(text).code_point;
    const bool upper = is_uppercase(character);
    if (!upper && is_cased(character)) return false;
    found |= upper;
  }
  return found;
}

}  // namespace emlx::jinja
