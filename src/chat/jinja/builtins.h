// The functions, filters, tests and methods a template can call, and how arguments reach them.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "chat/jinja/runtime.h"

namespace emlx::jinja {

struct KeywordArgument {
  std::string_view name;
  Value value;
};

// What a call passes.
struct Arguments {
  std::span<const Value> positional;
  std::span<const KeywordArgument> keywords;

  // Set when the builtin has named parameters: the value of each, Missing if not passed.
  static constexpr int kMaxParameters = 5;
  std::array<Value, kMaxParameters> bound;
  const Value& operator[](int index) const { return bound[static_cast<std::size_t>(index)]; }
};

struct Builtin {
  using Call = Value (*)(Runtime& runtime, const Value& self, const Arguments& arguments);

  std::string_view name;
  // The parameters beside `self`, as in "old new count?": '?' marks those that may be left out, a
  // '/' in front of all that they cannot be named. "*" takes everything as it comes.
  std::string_view parameters;
  Call call;
};

// Calls a builtin; fails if the arguments do not fit its parameters. `self`: the value a filter or
// test is applied to, or a method's object.
Value call_builtin(Runtime& runtime, const Builtin& builtin, const Value& self,
                   Arguments arguments);

const Builtin* find_in(std::span<const Builtin> table, std::string_view name);

// What a name stands for; null if there is no such filter, ...
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_function(std::string_view name);
const Builtin* find_text_method(std::string_view name);
const Builtin* find_list_method(std::string_view name);
const Builtin* find_tuple_method(std::string_view name);
const Builtin* find_dict_method(std::string_view name);

// Whether jinja2 knows the name but this subset does not.
bool is_unsupported_filter(std::string_view name);
bool is_unsupported_text_method(std::string_view name);
bool is_unsupported_function(std::string_view name);

// The tables behind find_filter, by kind of job.
std::span<const Builtin> text_filters();
std::span<const Builtin> sequence_filters();
std::span<const Builtin> selection_filters();
std::span<const Builtin> value_filters();

// Applies a filter as `value | name(...)` does.
Value apply_filter(Runtime& runtime, const Builtin& filter, const Value& value,
                   const Arguments& arguments);

// {% set target.name = value %}, for a Namespace.
void set_namespace(Runtime& runtime, const Value& target, std::string_view name,
                   const Value& value);

// Arguments as the type a builtin wants; Missing gives `fallback`.
std::int64_t integer_argument(Runtime& runtime, const Value& value, std::int64_t fallback);
std::string_view text_argument(Runtime& runtime, const Value& value,
                               std::string_view fallback = {});
bool flag_argument(const Value& value, bool fallback);
// Missing for None, where Python takes both for an argument left out.
Value or_missing(const Value& value);

}  // namespace emlx::jinja
