#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/quote.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/text_form.h"
#include "chat/jinja/unicode_text.h"

namespace emlx::jinja {
namespace {

// One "%-05.2f", taken apart.
struct Conversion {
  std::string_view name;  // of %(name)s
  bool named = false, left = false, plus = false, space = false, zero = false;
  int width = 0;
  int precision = -1;
  char type = 0;
};

class PercentFormatter {
 public:
  PercentFormatter(Runtime& runtime, std::string_view format, const Value& values)
      : runtime_(runtime), rest_(format), values_(values), out_(runtime) {}

  Value run() {
    runtime_.walk(rest_);
    while (!rest_.empty()) {
      const std::size_t percent = std::min(rest_.find('%'), rest_.size());
      out_ << rest_.substr(0, percent);
      rest_.remove_prefix(percent);
      if (rest_.empty()) break;
      rest_.remove_prefix(1);
      format(parse());
    }
    const std::size_t given = values_.is(Kind::Tuple) ? values_.items().size() : 1;
    const bool indexable = values_.is(Kind::Dict) || values_.is(Kind::List) ||
                           values_.is(Kind::Range) || values_.is(Kind::Undefined);
    if (used_ < given && !indexable)  // Python lets what might be a mapping go unused
      runtime_.fail("%: expected {} values to format, got {}", used_, given);
    return out_.finish();
  }

 private:
  char take() {
    if (rest_.empty()) runtime_.fail("%: expected a conversion, got the end of the format");
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  int take_number() {
    int number = 0;
    while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
      number = number * 10 + (take() - '0');
      if (number > 1000)
        runtime_.fail(ErrorCode::Unsupported, "%: expected a width of at most 1000, got more");
    }
    return number;
  }

  Conversion parse() {
    Conversion conversion;
    if (!rest_.empty() && rest_[0] == '(') {
      const std::size_t close = rest_.find(')');
      if (close == std::string_view::npos) runtime_.fail("%: expected ')', got the end");
      conversion.named = true;
      conversion.name = rest_.substr(1, close - 1);
      rest_.remove_prefix(close + 1);
    }
    for (; !rest_.empty() && std::string_view("-+ 0").find(rest_[0]) != std::string_view::npos;
         rest_.remove_prefix(1)) {
      conversion.left |= rest_[0] == '-';
      conversion.plus |= rest_[0] == '+';
      conversion.space |= rest_[0] == ' ';
      conversion.zero |= rest_[0] == '0';
    }
    conversion.width = take_number();
    if (!rest_.empty() && rest_[0] == '.') {
      take();
      conversion.precision = take_number();
    }
    conversion.type = take();
    return conversion;
  }

  Value next_value(const Conversion& conversion) {
    if (conversion.named) {
      if (!values_.is(Kind::Dict)) runtime_.fail("%: expected a dict, got {}", type_name(values_));
      const Value* const found = find_key(runtime_, values_, Value::string(conversion.name));
      if (found == nullptr)
        runtime_.fail("%: expected a value for {}, got none", quote(conversion.name));
      return *found;
    }
    const std::size_t index = used_++;
    if (values_.is(Kind::Tuple) && index < values_.items().size()) return values_.items()[index];
    if (!values_.is(Kind::Tuple) && index == 0) return values_;
    runtime_.fail("%: expected a value for every conversion, got {}", index);
  }

  void format(const Conversion& conversion) {
    if (conversion.type == '%') {
      out_ << "%";
      return;
    }
    if (std::string_view("srdifxX").find(conversion.type) == std::string_view::npos)
      runtime_.fail(ErrorCode::Unsupported, "%: expected one of %s %r %d %i %f %x %X, got {}",
                    quote({&conversion.type, 1}));
    const Value value = next_value(conversion);
    if (conversion.type == 's' || conversion.type == 'r') {
      format_text(conversion, value);
    } else {
      format_number(conversion, value);
    }
  }

  void format_text(const Conversion& conversion, const Value& value) {
    TextBuilder builder(runtime_);
    conversion.type == 's' ? append_str(builder, runtime_, value)
                           : append_repr(builder, runtime_, value);
    std::string_view text = builder.view();
    if (conversion.precision >= 0)
      text = text.substr(0, byte_offset(text, static_cast<std::size_t>(conversion.precision)));
    pad("", text, conversion, false);
  }

  void format_number(const Conversion& conversion, const Value& value) {
    if (!value.is_number() || value.is(Kind::BigInt))
      runtime_.fail("%{}: expected a number, got {}", conversion.type, type_name(value));
    const bool real = value.is(Kind::Float);
    double number = real ? value.as_float() : static_cast<double>(value.as_int());
    std::string digits;
    bool negative = std::signbit(number);
    if (conversion.type == 'f') {
      digits = fmt::format("{:.{}f}", std::fabs(number),
                           conversion.precision < 0 ? 6 : conversion.precision);
    } else {
      if (real && (conversion.type == 'x' || conversion.type == 'X'))
        runtime_.fail("%x: expected an integer, got a float");
      if (real && !(std::fabs(number) < 0x1p63))
        runtime_.fail("%d: expected a number that fits 64 bits, got {}", number);
      const std::int64_t whole = real ? static_cast<std::int64_t>(number) : value.as_int();
      negative = whole < 0;
      const std::uint64_t magnitude =
          negative ? 0 - static_cast<std::uint64_t>(whole) : static_cast<std::uint64_t>(whole);
      digits = conversion.type == 'x'   ? fmt::format("{:x}", magnitude)
               : conversion.type == 'X' ? fmt::format("{:X}", magnitude)
                                        : fmt::to_string(magnitude);
      if (static_cast<int>(digits.size()) < conversion.precision)
        digits.insert(0, static_cast<std::size_t>(conversion.precision) - digits.size(), '0');
    }
    const char* const sign = negative ? "-" : conversion.plus ? "+" : conversion.space ? " " : "";
    pad(sign, digits, conversion, conversion.zero);
  }

  void pad(std::string_view sign, std::string_view text, const Conversion& conversion, bool zeros) {
    const auto missing = conversion.width - static_cast<std::int64_t>(sign.size()) -
                         static_cast<std::int64_t>(character_count(text));
    if (!conversion.left && !zeros) out_.repeat(" ", missing);
    out_ << sign;
    if (!conversion.left && zeros) out_.repeat("0", missing);
    out_ << text;
    if (conversion.left) out_.repeat(" ", missing);
  }

  Runtime& runtime_;
  std::string_view rest_;
  const Value& values_;
  TextBuilder out_;
  std::size_t used_ = 0;
};

}  // namespace

Value format_percent(Runtime& runtime, const Value& format, const Value& values) {
  if (format.is_safe() || (values.is_string() && values.is_safe()))
    runtime.fail(ErrorCode::Unsupported, "%: expected plain texts, got one marked safe");
  return PercentFormatter(runtime, format.text(), values).run();
}

}  // namespace emlx::jinja
