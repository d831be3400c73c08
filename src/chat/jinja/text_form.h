// Values as text: Python's str(), repr() and json.dumps().
#pragma once

#include <string_view>

#include "chat/jinja/runtime.h"

namespace emlx::jinja {

void append_str(TextBuilder& out, Runtime& runtime, const Value& value);
void append_repr(TextBuilder& out, Runtime& runtime, const Value& value);

// str(value). A String's text is not copied.
std::string_view to_text(Runtime& runtime, const Value& value);

// With the characters HTML gives a meaning (& < > ' ") as entities.
void append_escaped(TextBuilder& out, std::string_view text);

struct JsonForm {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool break_lines = false;  // with `indent` in front, once per level
  std::string_view indent;
  std::string_view item_separator = ", ", key_separator = ": ";
};
Value to_json_text(Runtime& runtime, const Value& value, const JsonForm& form);

// Python's `text % values`, with %s %r %d %i %f %x %X and %%.
Value format_percent(Runtime& runtime, const Value& format, const Value& values);

}  // namespace emlx::jinja
