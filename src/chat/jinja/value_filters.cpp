// Filters on numbers, and on any value.
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/quote.h"
#include "chat/jinja/access.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/text_form.h"
#include "chat/jinja/text_tools.h"

namespace emlx::jinja {
namespace {

Value default_value(Runtime&, const Value& value, const Arguments& arguments) {
  const bool replace =
      value.is(Kind::Undefined) || (flag_argument(arguments[1], false) && !truthy(value));
  if (!replace) return value;
  return arguments[0].given() ? arguments[0] : Value::string("");
}

Value attr(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return get_own_attribute(runtime, value, text_argument(runtime, arguments[0]));
}

// The text of a number without the '_' Python allows between digits; nothing if one is misplaced.
std::optional<std::string> plain_number(Runtime& runtime, std::string_view text) {
  runtime.walk(text);
  text = strip_text(runtime, text, Value(), Side::Both);
  const auto digit_at = [&](std::size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
    } else if (i == 0 || !digit_at(i - 1) || !digit_at(i + 1)) {
      return std::nullopt;
    }
  }
  return plain;
}

std::optional<std::int64_t> parse_integer(Runtime& runtime, std::string_view text) {
  const std::optional<std::string> plain = plain_number(runtime, text);
  if (!plain) return std::nullopt;
  std::string_view digits = *plain;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  std::int64_t number = 0;
  for (const char c : digits)
    if (__builtin_mul_overflow(number, std::int64_t{10}, &number) ||
        __builtin_sub_overflow(number, std::int64_t{c - '0'}, &number))
      runtime.fail("int: expected a number of 64 bits, got more digits");
  return negative ? number : negate(runtime, Value::integer(number)).as_int();
}

std::optional<double> parse_float(Runtime& runtime, std::string_view text) {
  const std::optional<std::string> plain = plain_number(runtime, text);
  if (!plain || plain->empty()) return std::nullopt;
  // strtod also reads hexadecimal numbers and nan(...), which Python's float() does not.
  if (plain->find_first_of("xXpP(") != std::string::npos || plain->front() <= ' ')
    return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(plain->c_str(), &end);
  if (end != plain->c_str() + plain->size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> truncated(Runtime& runtime, double number) {
  if (!std::isfinite(number)) return std::nullopt;
  if (!(std::fabs(number) < 0x1p63))
    runtime.fail("int: expected a number of 64 bits, got {}", number);
  return static_cast<std::int64_t>(number);
}

Value to_integer(Runtime& runtime, const Value& value, const Arguments& arguments) {
  if (value.is_string() && integer_argument(runtime, arguments[1], 10) != 10)
    runtime.fail(ErrorCode::Unsupported, "int: expected base 10, got another");
  const Value fallback = arguments[0].given() ? arguments[0] : Value::integer(0);
  std::optional<std::int64_t> number;
  if (value.is(Kind::Undefined)) runtime.fail_undefined(value);
  if (value.is(Kind::BigInt)) return value;
  if (value.is_integer()) {
    number = value.as_int();
  } else if (value.is(Kind::Float)) {
    if (std::isinf(value.as_float())) runtime.fail("int: expected a finite number, got infinity");
    number = truncated(runtime, value.as_float());
  } else if (value.is_string()) {
    number = parse_integer(runtime, value.text());
    if (!number)  // "42.23" gives 42
      if (const std::optional<double> real = parse_float(runtime, value.text()))
        number = truncated(runtime, *real);
  }
  return number ? Value::integer(*number) : fallback;
}

Value to_float(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const Value fallback = arguments[0].given() ? arguments[0] : Value::real(0.0);
  if (value.is(Kind::Undefined)) runtime.fail_undefined(value);
  if (value.is(Kind::Float)) return value;
  if (value.is(Kind::BigInt)) return Value::real(static_cast<double>(value.as_big()));
  if (value.is_integer()) return Value::real(static_cast<double>(value.as_int()));
  if (value.is_string())
    if (const std::optional<double> real = parse_float(runtime, value.text()))
      return Value::real(*real);
  return fallback;
}

Value absolute(Runtime& runtime, const Value& value, const Arguments&) {
  if (value.is(Kind::Float)) return Value::real(std::fabs(value.as_float()));
  if (!value.is_integer()) runtime.fail("abs: expected a number, got {}", type_name(value));
  return value.as_int() < 0 ? negate(runtime, value) : plus(runtime, value);
}

Value round_number(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const std::int64_t precision = integer_argument(runtime, arguments[0], 0);
  const std::string_view method = text_argument(runtime, arguments[1], "common");
  if (method != "common" && method != "ceil" && method != "floor")
    runtime.fail("round: expected 'common', 'ceil' or 'floor', got {}", quote(method));
  if (precision < 0 || precision > 22)
    runtime.fail(ErrorCode::Unsupported, "round: expected 0 to 22 digits, got {}", precision);
  if (!value.is_integer() && !value.is(Kind::Float))
    runtime.fail("round: expected a number, got {}", type_name(value));
  if (method == "common") {
    if (value.is_integer()) return plus(runtime, value);
    if (!std::isfinite(value.as_float())) return value;
    const std::string text = fmt::format("{:.{}f}", value.as_float(), precision);
    return Value::real(std::strtod(text.c_str(), nullptr));
  }
  const Value scale =
      calculate(runtime, Arithmetic::Power, Value::integer(10), Value::integer(precision));
  const Value scaled = calculate(runtime, Arithmetic::Multiply, value, scale);
  if (scaled.is_integer()) return calculate(runtime, Arithmetic::Divide, scaled, scale);
  if (!std::isfinite(scaled.as_float())) runtime.fail("round: expected a finite number");
  const double whole =
      method == "ceil" ? std::ceil(scaled.as_float()) : std::floor(scaled.as_float());
  // Python's result is an integer on the way, which has no negative zero.
  return calculate(runtime, Arithmetic::Divide, Value::real(whole + 0.0), scale);
}

Value tojson(Runtime& runtime, const Value& value, const Arguments& arguments) {
  JsonForm form;
  form.ensure_ascii = flag_argument(arguments[0], false);
  form.sort_keys = flag_argument(arguments[3], false);
  TextBuilder indent(runtime);
  if (arguments[1].given() && !arguments[1].is(Kind::None)) {
    form.break_lines = true;
    form.item_separator = ",";
    if (arguments[1].is_string()) {
      indent << arguments[1].text();
    } else {
      indent.repeat(" ", integer_argument(runtime, arguments[1], 0));
    }
  }
  form.indent = indent.view();
  if (arguments[2].given() && !arguments[2].is(Kind::None)) {
    const Value& separators = arguments[2];
    if ((!separators.is(Kind::List) && !separators.is(Kind::Tuple)) ||
        separators.items().size() != 2)
      runtime.fail("tojson: expected two separators, got a {}", type_name(separators));
    form.item_separator = text_argument(runtime, separators.items()[0]);
    form.key_separator = text_argument(runtime, separators.items()[1]);
  }
  return to_json_text(runtime, value, form);
}

constexpr Builtin kFilters[] = {
    {"abs", "/", absolute},
    {"attr", "name", attr},
    {"d", "default_value? boolean?", default_value},
    {"default", "default_value? boolean?", default_value},
    {"float", "default?", to_float},
    {"int", "default? base?", to_integer},
    {"round", "precision? method?", round_number},
    {"tojson", "ensure_ascii? indent? separators? sort_keys?", tojson},
};

}  // namespace

std::span<const Builtin> value_filters() {
  return kFilters;
}

}  // namespace emlx::jinja
