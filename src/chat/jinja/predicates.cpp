// The tests of {{ value is test }}, also named by select() and its kin.
#include "chat/jinja/builtins.h"
#include "chat/jinja/iteration.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/text_form.h"
#include "chat/jinja/text_tools.h"

namespace emlx::jinja {
namespace {

template <bool (*kTest)(const Value&)>
Value test_value(Runtime&, const Value& value, const Arguments&) {
  return Value::boolean(kTest(value));
}

template <Kind kKind>
bool is_kind(const Value& value) {
  return value.is(kKind);
}

bool is_defined(const Value& value) {
  return !value.is(Kind::Undefined);
}
bool is_true(const Value& value) {
  return value.is(Kind::Bool) && value.as_bool();
}
bool is_false(const Value& value) {
  return value.is(Kind::Bool) && !value.as_bool();
}
bool is_whole(const Value& value) {
  return value.is(Kind::Int) || value.is(Kind::BigInt);
}
bool is_number(const Value& value) {
  return value.is_number();
}
bool is_escaped(const Value& value) {
  return value.is_safe();
}
bool is_iterable_value(const Value& value) {
  return is_iterable(value) || value.is(Kind::Loop);
}

// Has a length and can be indexed, as Python's protocols see it.
bool is_indexable(const Value& value) {
  return value.is_string() || value.is(Kind::List) || value.is(Kind::Tuple) ||
         value.is(Kind::Range) || value.is(Kind::Dict) || value.is(Kind::Undefined);
}

// An undefined value and a loop have a __call__, although calling them fails.
bool is_callable(const Value& value) {
  return value.is(Kind::Function) || value.is(Kind::Method) || value.is(Kind::Macro) ||
         value.is(Kind::Undefined) || value.is(Kind::Loop);
}

bool divides(Runtime& runtime, const Value& value, const Value& divisor, std::int64_t rest) {
  return equals(runtime, calculate(runtime, Arithmetic::Modulo, value, divisor),
                Value::integer(rest));
}

Value odd(Runtime& runtime, const Value& value, const Arguments&) {
  return Value::boolean(divides(runtime, value, Value::integer(2), 1));
}

Value even(Runtime& runtime, const Value& value, const Arguments&) {
  return Value::boolean(divides(runtime, value, Value::integer(2), 0));
}

Value divisible_by(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return Value::boolean(divides(runtime, value, arguments[0], 0));
}

template <bool (*kTest)(std::string_view)>
Value text_case(Runtime& runtime, const Value& value, const Arguments&) {
  const std::string_view text = to_text(runtime, value);
  runtime.walk(text);
  return Value::boolean(kTest(text));
}

// Python's `is`, for the values of which there is only one.
Value same_as(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto is_single = [](const Value& v) { return v.is(Kind::None) || v.is(Kind::Bool); };
  if (!is_single(value) && !is_single(arguments[0]) && value.kind() == arguments[0].kind())
    runtime.fail(ErrorCode::Unsupported, "sameas: expected none, true or false, got {}",
                 type_name(value));
  return Value::boolean(value.kind() == arguments[0].kind() &&
                        truthy(value) == truthy(arguments[0]));
}

Value in(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return Value::boolean(contains(runtime, arguments[0], value));
}

Value equal(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return Value::boolean(equals(runtime, value, arguments[0]));
}

Value not_equal(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return Value::boolean(!equals(runtime, value, arguments[0]));
}

template <bool (*kOrder)(Runtime&, const Value&, const Value&), bool kSwap>
Value compare(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return Value::boolean(kSwap ? kOrder(runtime, arguments[0], value)
                              : kOrder(runtime, value, arguments[0]));
}

Value names_filter(Runtime&, const Value& value, const Arguments&) {
  return Value::boolean(value.is_string() && (find_filter(value.text()) != nullptr ||
                                              is_unsupported_filter(value.text())));
}

Value names_test(Runtime&, const Value& value, const Arguments&) {
  return Value::boolean(value.is_string() && find_test(value.text()) != nullptr);
}

constexpr Builtin kTests[] = {
    {"!=", "/other", not_equal},
    {"<", "/other", compare<less, false>},
    {"<=", "/other", compare<less_or_equal, false>},
    {"==", "/other", equal},
    {">", "/other", compare<less, true>},
    {">=", "/other", compare<less_or_equal, true>},
    {"boolean", "", test_value<is_kind<Kind::Bool>>},
    {"callable", "/", test_value<is_callable>},
    {"defined", "", test_value<is_defined>},
    {"divisibleby", "num", divisible_by},
    {"eq", "/other", equal},
    {"equalto", "/other", equal},
    {"escaped", "", test_value<is_escaped>},
    {"even", "", even},
    {"false", "", test_value<is_false>},
    {"filter", "", names_filter},
    {"float", "", test_value<is_kind<Kind::Float>>},
    {"ge", "/other", compare<less_or_equal, true>},
    {"greaterthan", "/other", compare<less, true>},
    {"gt", "/other", compare<less, true>},
    {"in", "seq", in},
    {"integer", "", test_value<is_whole>},
    {"iterable", "", test_value<is_iterable_value>},
    {"le", "/other", compare<less_or_equal, false>},
    {"lessthan", "/other", compare<less, false>},
    {"lower", "", text_case<is_lowercase_text>},
    {"lt", "/other", compare<less, false>},
    {"mapping", "", test_value<is_kind<Kind::Dict>>},
    {"ne", "/other", not_equal},
    {"none", "", test_value<is_kind<Kind::None>>},
    {"number", "", test_value<is_number>},
    {"odd", "", odd},
    {"sameas", "other", same_as},
    {"sequence", "", test_value<is_indexable>},
    {"string", "", test_value<is_kind<Kind::String>>},
    {"test", "", names_test},
    {"true", "", test_value<is_true>},
    {"undefined", "", test_value<is_kind<Kind::Undefined>>},
    {"upper", "", text_case<is_uppercase_text>},
};

}  // namespace

const Builtin* find_test(std::string_view name) {
  return find_in(kTests, name);
}

}  // namespace emlx::jinja
