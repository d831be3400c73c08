// Filters on texts. As in jinja2, most take any value and work on its str().
#include <string>

#include "base/quote.h"
#include "base/utf8.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/text_form.h"
#include "chat/jinja/text_tools.h"
#include "chat/jinja/unicode_text.h"

namespace emlx::jinja {
namespace {

template <std::string (*kMap)(std::string_view)>
Value map_text(Runtime& runtime, const Value& value, const Arguments&) {
  const std::string_view text = to_text(runtime, value);
  runtime.walk(text);
  return runtime.string(kMap(text));
}

// Unlike str.title, only white space, '-' and opening brackets begin a word.
std::string title_words(std::string_view text) {
  constexpr std::string_view kOpeners = "-({[<";
  const auto separates = [&](std::string_view rest) {
    return kOpeners.find(rest[0]) != std::string_view::npos ||
           is_space(decode_utf8(rest).code_point);
  };
  std::string out;
  while (!text.empty()) {
    std::size_t end = 0;
    if (separates(text)) {
      end = first_char(text).size();
      out += text.substr(0, end);
    } else {
      while (end < text.size() && !separates(text.substr(end)))
        end += first_char(text.substr(end)).size();
      const std::size_t first = first_char(text).size();
      out += to_upper(text.substr(0, first));
      out += to_lower(text.substr(first, end - first));
    }
    text.remove_prefix(end);
  }
  return out;
}

Value trim(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return Value::string(strip_text(runtime, to_text(runtime, value), arguments[0], Side::Both));
}

Value center(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return pad_text(runtime, to_text(runtime, value), integer_argument(runtime, arguments[0], 80),
                  " ", Side::Both);
}

Value replace(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return replace_text(runtime, to_text(runtime, value), to_text(runtime, arguments[0]),
                      to_text(runtime, arguments[1]),
                      integer_argument(runtime, or_missing(arguments[2]), -1));
}

Value indent(Runtime& runtime, const Value& value, const Arguments& arguments) {
  if (!value.is_string()) runtime.fail("indent: expected a str, got {}", type_name(value));
  TextBuilder space(runtime);
  if (arguments[0].is_string()) {
    space << arguments[0].text();
  } else {
    space.repeat(" ", integer_argument(runtime, arguments[0], 4));
  }
  const bool indent_first = flag_argument(arguments[1], false);
  const bool indent_blank = flag_argument(arguments[2], false);
  TextBuilder padded(runtime);
  padded << value.text() << "\n";  // so that a line break at the end stays
  TextBuilder out(runtime);
  bool first = true;
  for (const Value& line : split_lines(runtime, padded.view(), false)) {
    if (!first) out << "\n";
    if (first ? indent_first : indent_blank || !line.text().empty()) out << space.view();
    out << line.text();
    first = false;
  }
  return out.finish();
}

Value truncate(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const std::string_view end = text_argument(runtime, arguments[2], "...");
  const std::int64_t limit = integer_argument(runtime, arguments[0], 255);
  const std::int64_t leeway = integer_argument(runtime, or_missing(arguments[3]), 5);
  runtime.read(end);
  const auto end_size = static_cast<std::int64_t>(character_count(end));
  if (limit < end_size || leeway < 0)
    runtime.fail("truncate: expected a length of at least that of {}, got {}", quote(end), limit);
  if (length(runtime, value) - leeway <= limit) return value;  // lists too
  if (!value.is_string()) runtime.fail("truncate: expected a str, got {}", type_name(value));
  const std::string_view text = value.text();
  std::string_view start =
      text.substr(0, byte_offset(text, static_cast<std::size_t>(limit - end_size)));
  if (!flag_argument(arguments[1], false)) start = start.substr(0, start.rfind(' '));
  TextBuilder out(runtime);
  out << start << end;
  return out.finish();
}

Value format(Runtime& runtime, const Value& value, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.keywords.empty())
    runtime.fail("format: expected positional or keyword arguments, got both");
  Value values = runtime.tuple(arguments.positional);
  if (!arguments.keywords.empty()) {
    std::vector<DictEntry> entries;
    for (const KeywordArgument& keyword : arguments.keywords)
      entries.push_back({Value::string(keyword.name), keyword.value});
    values = runtime.dict(entries);
  }
  return format_percent(runtime, Value::string(to_text(runtime, value)), values);
}

Value safe(Runtime& runtime, const Value& value, const Arguments&) {
  return Value::string(to_text(runtime, value), true);
}

Value force_escape(Runtime& runtime, const Value& value, const Arguments&) {
  TextBuilder out(runtime);
  append_escaped(out, to_text(runtime, value));
  return out.finish(true);
}

Value escape(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return value.is_safe() ? value : force_escape(runtime, value, arguments);
}

Value string(Runtime& runtime, const Value& value, const Arguments&) {
  return value.is_string() ? value : Value::string(to_text(runtime, value));
}

constexpr Builtin kFilters[] = {
    {"capitalize", "", map_text<capitalize>},
    {"center", "width?", center},
    {"e", "", escape},
    {"escape", "", escape},
    {"forceescape", "", force_escape},
    {"format", "*", format},
    {"indent", "width? first? blank?", indent},
    {"lower", "", map_text<to_lower>},
    {"replace", "old new count?", replace},
    {"safe", "", safe},
    {"string", "", string},
    {"title", "", map_text<title_words>},
    {"trim", "chars?", trim},
    {"truncate", "length? killwords? end? leeway?", truncate},
    {"upper", "", map_text<to_upper>},
};

}  // namespace

std::span<const Builtin> text_filters() {
  return kFilters;
}

}  // namespace emlx::jinja
