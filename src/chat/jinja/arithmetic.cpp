#include <cmath>
#include <limits>

#include "chat/jinja/operators.h"
#include "chat/jinja/text_form.h"

namespace emlx::jinja {
namespace {

[[noreturn]] void fail_types(Runtime& runtime, const char* sign, const Value& left,
                             const Value& right) {
  for (const Value* value : {&left, &right}) {
    if (value->is(Kind::Undefined)) runtime.fail_undefined(*value);
    if (value->is(Kind::BigInt)) runtime.fail("expected a 64-bit integer, got {}", value->as_big());
  }
  runtime.fail("{}: expected operands that fit, got {} and {}", sign, type_name(left),
               type_name(right));
}

constexpr const char* kSigns[] = {"+", "-", "*", "/", "//", "%", "**"};

[[noreturn]] void fail_overflow(Runtime& runtime, const char* sign) {
  runtime.fail("{}: expected a result of 64 bits, got a larger integer", sign);
}

[[noreturn]] void fail_zero(Runtime& runtime, const char* sign) {
  runtime.fail("{}: expected a divisor, got zero", sign);
}

double to_real(const Value& value) {
  return value.is(Kind::Float) ? value.as_float() : static_cast<double>(value.as_int());
}

// Python rounds the quotient down and gives the remainder the divisor's sign.
std::int64_t floor_divide(std::int64_t left, std::int64_t right) {
  const std::int64_t quotient = left / right;
  return quotient - (left % right != 0 && (left < 0) != (right < 0) ? 1 : 0);
}

std::int64_t modulo(std::int64_t left, std::int64_t right) {
  if (right == -1) return 0;  // INT64_MIN % -1 traps
  const std::int64_t rest = left % right;
  return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

double modulo(double left, double right) {
  const double rest = std::fmod(left, right);
  if (rest == 0) return std::copysign(0.0, right);
  return (rest < 0) != (right < 0) ? rest + right : rest;
}

// As CPython: the quotient of what the remainder leaves is nearly whole, so it is rounded.
double floor_divide(double left, double right) {
  const double rest = std::fmod(left, right);
  double quotient = (left - rest) / right;
  if (rest != 0 && (rest < 0) != (right < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, left / right);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

Value integer_power(Runtime& runtime, std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result))
      fail_overflow(runtime, "**");
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) fail_overflow(runtime, "**");
  }
  return Value::integer(result);
}

Value real_power(Runtime& runtime, double base, double exponent) {
  if (base == 0 && exponent < 0) fail_zero(runtime, "**");
  const double result = std::pow(base, exponent);
  if (std::isnan(result) && !std::isnan(base) && !std::isnan(exponent))
    runtime.fail("**: expected a real result, got a complex one");
  if (std::isinf(result) && !std::isinf(base) && !std::isinf(exponent))
    runtime.fail("**: expected a result a float can hold, got a larger one");
  return Value::real(result);
}

Value calculate_integers(Runtime& runtime, Arithmetic operation, std::int64_t left,
                         std::int64_t right) {
  const char* const sign = kSigns[static_cast<int>(operation)];
  std::int64_t result = 0;
  bool overflow = false;
  switch (operation) {
    case Arithmetic::Add:
      overflow = __builtin_add_overflow(left, right, &result);
      break;
    case Arithmetic::Subtract:
      overflow = __builtin_sub_overflow(left, right, &result);
      break;
    case Arithmetic::Multiply:
      overflow = __builtin_mul_overflow(left, right, &result);
      break;
    case Arithmetic::Divide:
      if (right == 0) fail_zero(runtime, sign);
      return Value::real(static_cast<double>(left) / static_cast<double>(right));
    case Arithmetic::FloorDivide:
      if (right == 0) fail_zero(runtime, sign);
      overflow = right == -1 && left == std::numeric_limits<std::int64_t>::min();
      if (!overflow) result = floor_divide(left, right);
      break;
    case Arithmetic::Modulo:
      if (right == 0) fail_zero(runtime, sign);
      result = modulo(left, right);
      break;
    case Arithmetic::Power:
      if (right < 0)
        return real_power(runtime, static_cast<double>(left), static_cast<double>(right));
      return integer_power(runtime, left, right);
  }
  if (overflow) fail_overflow(runtime, sign);
  return Value::integer(result);
}

Value calculate_reals(Runtime& runtime, Arithmetic operation, double left, double right) {
  const char* const sign = kSigns[static_cast<int>(operation)];
  switch (operation) {
    case Arithmetic::Add:
      return Value::real(left + right);
    case Arithmetic::Subtract:
      return Value::real(left - right);
    case Arithmetic::Multiply:
      return Value::real(left * right);
    case Arithmetic::Power:
      return real_power(runtime, left, right);
    default:
      break;
  }
  if (right == 0) fail_zero(runtime, sign);
  if (operation == Arithmetic::Divide) return Value::real(left / right);
  return Value::real(operation == Arithmetic::Modulo ? modulo(left, right)
                                                     : floor_divide(left, right));
}

Value join_texts(Runtime& runtime, const Value& left, const Value& right) {
  const bool safe = left.is_safe() || right.is_safe();
  TextBuilder joined(runtime);
  for (const Value* part : {&left, &right}) {
    if (safe && !part->is_safe()) {
      append_escaped(joined, part->text());
    } else {
      joined << part->text();
    }
  }
  return joined.finish(safe);
}

Value repeat(Runtime& runtime, const Value& value, std::int64_t count) {
  if (value.is_string()) {
    if (value.is_safe())
      runtime.fail(ErrorCode::Unsupported, "*: expected a plain text, got one marked safe");
    TextBuilder repeated(runtime);
    repeated.repeat(value.text(), count);
    return repeated.finish();
  }
  ListBuilder repeated(runtime);
  for (std::int64_t i = 0; i < count && !value.items().empty(); ++i)
    for (const Value& item : value.items()) repeated.add(item);
  return repeated.finish(value.kind());
}

bool is_repeatable(const Value& value) {
  return value.is_string() || value.is(Kind::List) || value.is(Kind::Tuple);
}

}  // namespace

Value calculate(Runtime& runtime, Arithmetic operation, const Value& left, const Value& right) {
  if (left.is_integer() && right.is_integer())
    return calculate_integers(runtime, operation, left.as_int(), right.as_int());
  if (left.is_number() && right.is_number() && !left.is(Kind::BigInt) && !right.is(Kind::BigInt))
    return calculate_reals(runtime, operation, to_real(left), to_real(right));
  if (operation == Arithmetic::Add && left.is_string() && right.is_string())
    return join_texts(runtime, left, right);
  if (operation == Arithmetic::Add && left.kind() == right.kind() &&
      (left.is(Kind::List) || left.is(Kind::Tuple))) {
    ListBuilder joined(runtime);
    for (const Value* part : {&left, &right})
      for (const Value& item : part->items()) joined.add(item);
    return joined.finish(left.kind());
  }
  if (operation == Arithmetic::Multiply && is_repeatable(left) && right.is_integer())
    return repeat(runtime, left, right.as_int());
  if (operation == Arithmetic::Multiply && left.is_integer() && is_repeatable(right))
    return repeat(runtime, right, left.as_int());
  if (operation == Arithmetic::Modulo && left.is_string())
    return format_percent(runtime, left, right);
  fail_types(runtime, kSigns[static_cast<int>(operation)], left, right);
}

Value negate(Runtime& runtime, const Value& value) {
  if (value.is(Kind::Float)) return Value::real(-value.as_float());
  if (!value.is_integer()) fail_types(runtime, "-", value, value);
  return calculate_integers(runtime, Arithmetic::Subtract, 0, value.as_int());
}

Value plus(Runtime& runtime, const Value& value) {
  if (value.is(Kind::Float)) return value;
  if (!value.is_integer()) fail_types(runtime, "+", value, value);
  return Value::integer(value.as_int());
}

}  // namespace emlx::jinja
