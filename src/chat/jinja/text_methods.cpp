// Methods of str.
#include <algorithm>

#include "base/utf8.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/iteration.h"
#include "chat/jinja/text_search.h"
#include "chat/jinja/text_tools.h"
#include "chat/jinja/unicode_text.h"

namespace emlx::jinja {
namespace {

using Characters = bool (*)(char32_t);

// A part of a text, given as Python's start and end arguments.
struct Window {
  bool valid = true;  // false: start lies behind the end
  std::string_view text;
  std::int64_t first = 0;  // its position in the whole, in characters
};

Window window(Runtime& runtime, std::string_view text, const Value& start, const Value& end) {
  if (!start.given()) return {true, text, 0};
  runtime.read(text);
  const auto size = static_cast<std::int64_t>(character_count(text));
  const auto clamp = [size](std::int64_t index) {
    return index < 0 ? std::max<std::int64_t>(index + size, 0) : index;
  };
  const std::int64_t from = clamp(integer_argument(runtime, or_missing(start), 0));
  const std::int64_t to = std::min(clamp(integer_argument(runtime, or_missing(end), size)), size);
  if (from > to) return {false, {}, 0};
  const std::size_t first = byte_offset(text, static_cast<std::size_t>(from));
  const std::size_t last = byte_offset(text, static_cast<std::size_t>(to));
  return {true, text.substr(first, last - first), from};
}

// The first argument of find() and its kin, a str.
std::string_view wanted(Runtime& runtime, const Arguments& arguments) {
  if (!arguments[0].is_string())
    runtime.fail("expected a str to look for, got {}", type_name(arguments[0]));
  return arguments[0].text();
}

template <bool kFromRight>
std::int64_t position(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string_view needle = wanted(runtime, arguments);
  const Window part = window(runtime, self.text(), arguments[1], arguments[2]);
  if (!part.valid) return -1;
  const std::size_t at =
      kFromRight ? rfind_text(runtime, part.text, needle) : find_text(runtime, part.text, needle);
  if (at == std::string_view::npos) return -1;
  return part.first + static_cast<std::int64_t>(character_count(part.text.substr(0, at)));
}

template <bool kFromRight>
Value find(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return Value::integer(position<kFromRight>(runtime, self, arguments));
}

template <bool kFromRight>
Value index(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::int64_t at = position<kFromRight>(runtime, self, arguments);
  if (at < 0) runtime.fail("index: expected a part of the text, got another");
  return Value::integer(at);
}

Value count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  Window part = window(runtime, self.text(), arguments[1], arguments[2]);
  const std::string_view needle = wanted(runtime, arguments);
  if (!part.valid) return Value::integer(0);
  runtime.read(part.text);
  if (needle.empty())
    return Value::integer(static_cast<std::int64_t>(character_count(part.text)) + 1);
  std::int64_t found = 0;
  while (true) {
    const std::size_t at = find_text(runtime, part.text, needle);
    if (at == std::string_view::npos) return Value::integer(found);
    part.text.remove_prefix(at + needle.size());
    ++found;
  }
}

template <bool kAtEnd>
Value starts_or_ends_with(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Window part = window(runtime, self.text(), arguments[1], arguments[2]);
  const bool several = arguments[0].is(Kind::Tuple);
  const std::span<const Value> affixes =
      several ? arguments[0].items() : std::span<const Value>(&arguments[0], 1);
  for (const Value& affix : affixes) {
    if (!affix.is_string())
      runtime.fail("expected a str or a tuple of str, got {}", type_name(affix));
    runtime.read(affix.text());
    if (part.valid &&
        (kAtEnd ? part.text.ends_with(affix.text()) : part.text.starts_with(affix.text())))
      return Value::boolean(true);
  }
  return Value::boolean(false);
}

template <std::string (*kMap)(std::string_view)>
Value map_text(Runtime& runtime, const Value& self, const Arguments&) {
  runtime.walk(self.text());
  return runtime.string(kMap(self.text()));
}

template <Side kSide>
Value strip(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return Value::string(strip_text(runtime, self.text(), arguments[0], kSide));
}

template <Side kSide>
Value pad(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return pad_text(runtime, self.text(), integer_argument(runtime, arguments[0], 0),
                  text_argument(runtime, arguments[1], " "), kSide);
}

Value split(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return runtime.list(
      split_text(runtime, self.text(), arguments[0], integer_argument(runtime, arguments[1], -1)));
}

Value rsplit(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return runtime.list(
      rsplit_text(runtime, self.text(), arguments[0], integer_argument(runtime, arguments[1], -1)));
}

Value splitlines(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return runtime.list(
      split_lines(runtime, self.text(), integer_argument(runtime, arguments[0], 0) != 0));
}

template <bool kFromRight>
Value partition(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string_view text = self.text();
  const std::string_view mark = wanted(runtime, arguments);
  if (mark.empty()) runtime.fail("partition: expected a separator, got an empty one");
  const std::size_t at =
      kFromRight ? rfind_text(runtime, text, mark) : find_text(runtime, text, mark);
  const Value empty = Value::string("");
  if (at == std::string_view::npos)
    return kFromRight ? runtime.tuple(std::array{empty, empty, self})
                      : runtime.tuple(std::array{self, empty, empty});
  return runtime.tuple(std::array{Value::string(text.substr(0, at)), Value::string(mark),
                                  Value::string(text.substr(at + mark.size()))});
}

Value remove_prefix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string_view affix = wanted(runtime, arguments);
  runtime.read(affix);
  const bool found = self.text().starts_with(affix);
  return Value::string(self.text().substr(found ? affix.size() : 0));
}

Value remove_suffix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string_view affix = wanted(runtime, arguments);
  runtime.read(affix);
  const bool found = self.text().ends_with(affix);
  return Value::string(self.text().substr(0, self.text().size() - (found ? affix.size() : 0)));
}

Value replace(Runtime& runtime, const Value& self, const Arguments& arguments) {
  for (int i = 0; i < 2; ++i)
    if (!arguments[i].is_string())
      runtime.fail("replace: expected a str, got {}", type_name(arguments[i]));
  return replace_text(runtime, self.text(), arguments[0].text(), arguments[1].text(),
                      integer_argument(runtime, arguments[2], -1));
}

Value join(Runtime& runtime, const Value& self, const Arguments& arguments) {
  TextBuilder joined(runtime);
  Iterator iterator(runtime, arguments[0]);
  bool first = true;
  for (Value item; iterator.next(item); first = false) {
    if (!item.is_string()) runtime.fail("join: expected str items, got {}", type_name(item));
    joined << (first ? std::string_view() : self.text()) << item.text();
  }
  return joined.finish();
}

Value zfill(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string_view text = self.text();
  const bool sign = text.starts_with('-') || text.starts_with('+');
  const auto size = static_cast<std::int64_t>(character_count(text));
  TextBuilder filled(runtime);
  filled << text.substr(0, sign ? 1 : 0);
  filled.repeat("0",
                std::max<std::int64_t>(integer_argument(runtime, arguments[0], 0), size) - size);
  filled << text.substr(sign ? 1 : 0);
  return filled.finish();
}

template <bool (*kTest)(std::string_view)>
Value test_text(Runtime& runtime, const Value& self, const Arguments&) {
  runtime.walk(self.text());
  return Value::boolean(kTest(self.text()));
}

// Whether a text has characters, and all are of a class.
template <bool (*kTest)(char32_t) noexcept>
Value all_characters(Runtime& runtime, const Value& self, const Arguments&) {
  runtime.walk(self.text());
  bool all = !self.text().empty();
  for (std::string_view rest = self.text(); all && !rest.empty();) {
    const DecodedChar decoded = decode_utf8(rest);
    all = kTest(decoded.code_point);
    rest.remove_prefix(static_cast<std::size_t>(decoded.length));
  }
  return Value::boolean(all);
}

bool is_alphanumeric(char32_t c) noexcept {
  return is_alpha(c) || is_numeric(c) || is_digit(c);
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

constexpr Builtin kMethods[] = {
    {"capitalize", "", map_text<capitalize>},
    {"center", "/width fillchar?", pad<Side::Both>},
    {"count", "/sub start? end?", count},
    {"endswith", "/suffix start? end?", starts_or_ends_with<true>},
    {"find", "/sub start? end?", find<false>},
    {"index", "/sub start? end?", index<false>},
    {"isalnum", "", all_characters<is_alphanumeric>},
    {"isalpha", "", all_characters<is_alpha>},
    {"isascii", "", test_text<is_ascii>},
    {"isdigit", "", all_characters<is_digit>},
    {"islower", "", test_text<is_lowercase_text>},
    {"isnumeric", "", all_characters<is_numeric>},
    {"isspace", "", all_characters<is_space>},
    {"isupper", "", test_text<is_uppercase_text>},
    {"join", "/iterable", join},
    {"ljust", "/width fillchar?", pad<Side::Left>},
    {"lower", "", map_text<to_lower>},
    {"lstrip", "/chars?", strip<Side::Left>},
    {"partition", "/sep", partition<false>},
    {"removeprefix", "/prefix", remove_prefix},
    {"removesuffix", "/suffix", remove_suffix},
    {"replace", "/old new count?", replace},
    {"rfind", "/sub start? end?", find<true>},
    {"rindex", "/sub start? end?", index<true>},
    {"rjust", "/width fillchar?", pad<Side::Right>},
    {"rpartition", "/sep", partition<true>},
    {"rsplit", "sep? maxsplit?", rsplit},
    {"rstrip", "/chars?", strip<Side::Right>},
    {"split", "sep? maxsplit?", split},
    {"splitlines", "keepends?", splitlines},
    {"startswith", "/prefix start? end?", starts_or_ends_with<false>},
    {"strip", "/chars?", strip<Side::Both>},
    {"title", "", map_text<to_title>},
    {"upper", "", map_text<to_upper>},
    {"zfill", "/width", zfill},
};

// Known to Python, but not to this subset; calling one is an error, not a missing attribute.
constexpr std::string_view kUnsupported[] = {
    "casefold", "encode",    "expandtabs",   "format",    "format_map", "isdecimal",
    "istitle",  "maketrans", "isidentifier", "translate", "swapcase",   "isprintable",
};

}  // namespace

const Builtin* find_text_method(std::string_view name) {
  return find_in(kMethods, name);
}

bool is_unsupported_text_method(std::string_view name) {
  return std::find(std::begin(kUnsupported), std::end(kUnsupported), name) !=
         std::end(kUnsupported);
}

}  // namespace emlx::jinja
