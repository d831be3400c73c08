#include "chat/jinja/builtins.h"

#include <algorithm>
#include <initializer_list>

#include "chat/jinja/operators.h"

namespace emlx::jinja {
namespace {

// Takes the next word off a parameter list.
std::string_view next_word(std::string_view& list) {
  const std::size_t end = std::min(list.find(' '), list.size());
  const std::string_view word = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return word;
}

void bind(Runtime& runtime, const Builtin& builtin, Arguments& arguments) {
  runtime.step(arguments.keywords.size());
  std::string_view parameters = builtin.parameters;
  const bool positional_only = parameters.starts_with('/');
  if (positional_only) parameters.remove_prefix(1);
  std::size_t used_keywords = 0;
  std::size_t count = 0;
  for (; !parameters.empty(); ++count) {
    std::string_view name = next_word(parameters);
    const bool optional = name.ends_with('?');
    if (optional) name.remove_suffix(1);
    Value& value = arguments.bound[count];
    if (count < arguments.positional.size()) value = arguments.positional[count];
    for (const KeywordArgument& keyword : arguments.keywords) {
      if (positional_only || keyword.name != name) continue;
      if (value.given())
        runtime.fail("{}: expected one value for '{}', got two", builtin.name, name);
      value = keyword.value;
      ++used_keywords;
    }
    if (!value.given() && !optional)
      runtime.fail("{}: expected an argument '{}', got none", builtin.name, name);
  }
  if (arguments.positional.size() > count)
    runtime.fail("{}: expected at most {} arguments, got {}", builtin.name, count,
                 arguments.positional.size());
  if (used_keywords < arguments.keywords.size())
    runtime.fail("{}: expected no keyword arguments but its own", builtin.name);
}

bool is_one_of(std::initializer_list<std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Value call_builtin(Runtime& runtime, const Builtin& builtin, const Value& self,
                   Arguments arguments) {
  if (builtin.parameters != "*") bind(runtime, builtin, arguments);
  return builtin.call(runtime, self, arguments);
}

const Builtin* find_in(std::span<const Builtin> table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [name](const Builtin& builtin) { return builtin.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const Builtin* find_filter(std::string_view name) {
  for (const auto table :
       {text_filters(), sequence_filters(), selection_filters(), value_filters()})
    if (const Builtin* const found = find_in(table, name)) return found;
  return nullptr;
}

bool is_unsupported_filter(std::string_view name) {
  return is_one_of({"filesizeformat", "groupby", "pprint", "random", "striptags", "urlencode",
                    "urlize", "wordcount", "wordwrap", "xmlattr"},
                   name);
}

bool is_unsupported_function(std::string_view name) {
  return is_one_of({"cycler", "joiner", "lipsum"}, name);
}

Value apply_filter(Runtime& runtime, const Builtin& filter, const Value& value,
                   const Arguments& arguments) {
  // What most filters would make of markupsafe's Markup is not modelled; these do not care.
  if (value.is_safe() && !is_one_of({"safe", "escape", "e", "string", "tojson", "length", "count",
                                     "default", "d", "replace"},
                                    filter.name))
    runtime.fail(ErrorCode::Unsupported, "{}: expected a plain text, got one marked safe",
                 filter.name);
  return call_builtin(runtime, filter, value, arguments);
}

std::int64_t integer_argument(Runtime& runtime, const Value& value, std::int64_t fallback) {
  if (!value.given()) return fallback;
  if (!value.is_integer()) runtime.fail("expected an integer argument, got {}", type_name(value));
  return value.as_int();
}

std::string_view text_argument(Runtime& runtime, const Value& value, std::string_view fallback) {
  if (!value.given()) return fallback;
  if (!value.is_string()) runtime.fail("expected a str argument, got {}", type_name(value));
  return value.text();
}

bool flag_argument(const Value& value, bool fallback) {
  return value.given() ? truthy(value) : fallback;
}

Value or_missing(const Value& value) {
  return value.is(Kind::None) ? Value() : value;
}

}  // namespace emlx::jinja
