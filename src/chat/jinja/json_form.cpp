#include <algorithm>
#include <cmath>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/text_form.h"

namespace emlx::jinja {
namespace {

class JsonPrinter {
 public:
  JsonPrinter(TextBuilder& out, Runtime& runtime, const JsonForm& form)
      : out_(out), runtime_(runtime), form_(form) {}

  void print(const Value& value) {
    runtime_.step();
    switch (value.kind()) {
      case Kind::None:
      case Kind::Bool:
      case Kind::Int:
      case Kind::BigInt:
      case Kind::Float:
        out_ << scalar(value);
        break;
      case Kind::String:
        print_text(value.text());
        break;
      case Kind::List:
      case Kind::Tuple:
        print_all("[", "]", value.items(), [this](const Value& item) { print(item); });
        break;
      case Kind::Dict:
        print_dict(value);
        break;
      default:
        runtime_.fail("tojson: expected a value JSON can hold, got {}", type_name(value));
    }
  }

 private:
  static std::string scalar(const Value& value) {
    switch (value.kind()) {
      case Kind::None:
        return "null";
      case Kind::Bool:
        return value.as_bool() ? "true" : "false";
      case Kind::Int:
        return fmt::to_string(value.as_int());
      case Kind::BigInt:
        return fmt::to_string(value.as_big());
      default:
        break;
    }
    const double number = value.as_float();
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
    std::string text;
    append_python_float(text, number);
    return text;
  }

  void print_text(std::string_view text) {
    std::string quoted;
    append_json_string(quoted, text);
    if (!form_.ensure_ascii) {
      out_ << quoted;
      return;
    }
    for (std::string_view rest = quoted; !rest.empty();) {
      const DecodedChar decoded = decode_utf8(rest);
      auto code = static_cast<std::uint32_t>(decoded.code_point);
      if (code < 0x7F) {
        out_ << rest.substr(0, 1);
      } else if (code < 0x10000) {
        out_ << fmt::format("\\u{:04x}", code);
      } else {
        code -= 0x10000;
        out_ << fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
      }
      rest.remove_prefix(static_cast<std::size_t>(decoded.length));
    }
  }

  void print_dict(const Value& dict) {
    std::vector<Value> keys, values;
    for (const DictEntry& entry : dict.entries()) {
      keys.push_back(entry.key);
      values.push_back(entry.value);
    }
    std::vector<DictEntry> entries(dict.entries().begin(), dict.entries().end());
    if (form_.sort_keys) {
      values = sorted(runtime_, values, keys, false);
      keys = sorted(runtime_, keys, keys, false);
      for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = {keys[i], values[i]};
    }
    print_all("{", "}", std::span<const DictEntry>(entries), [this](const DictEntry& entry) {
      print_key(entry.key);
      out_ << form_.key_separator;
      print(entry.value);
    });
  }

  void print_key(const Value& key) {
    if (key.is_string()) {
      print_text(key.text());
    } else if (key.is_number() || key.is(Kind::None)) {
      out_ << "\"" << scalar(key) << "\"";
    } else {
      runtime_.fail("tojson: expected a key JSON can hold, got {}", type_name(key));
    }
  }

  template <typename Item, typename PrintItem>
  void print_all(std::string_view open, std::string_view close, std::span<const Item> items,
                 PrintItem print_item) {
    out_ << open;
    ++depth_;
    bool first = true;
    for (const Item& item : items) {
      if (!first) out_ << form_.item_separator;
      first = false;
      break_line();
      print_item(item);
    }
    --depth_;
    if (!items.empty()) break_line();
    out_ << close;
  }

  void break_line() {
    if (!form_.break_lines) return;
    out_ << "\n";
    out_.repeat(form_.indent, depth_);
  }

  TextBuilder& out_;
  Runtime& runtime_;
  const JsonForm& form_;
  int depth_ = 0;
};

}  // namespace

Value to_json_text(Runtime& runtime, const Value& value, const JsonForm& form) {
  TextBuilder out(runtime);
  JsonPrinter(out, runtime, form).print(value);
  return out.finish();
}

}  // namespace emlx::jinja
