#include "chat/jinja/text_form.h"

#include <cmath>

#include "base/utf8.h"
#include "chat/jinja/iteration.h"
#include "chat/jinja/loop_context.h"
#include "chat/jinja/unicode_text.h"

namespace emlx::jinja {
namespace {

void append_float(TextBuilder& out, double value) {
  std::string text;
  if (std::isnan(value)) {
    text = "nan";  // whatever its sign
  } else {
    append_python_float(text, value);
  }
  out << text;
}

std::string escape_in_repr(char32_t character, char quote) {
  switch (character) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\\':
      return "\\\\";
    default:
      break;
  }
  if (character == static_cast<unsigned char>(quote)) return {'\\', quote};
  if (is_printable(character)) return {};
  const auto code = static_cast<std::uint32_t>(character);
  if (code < 0x100) return fmt::format("\\x{:02x}", code);
  if (code < 0x10000) return fmt::format("\\u{:04x}", code);
  return fmt::format("\\U{:08x}", code);
}

void append_text_repr(TextBuilder& out, Runtime& runtime, std::string_view text) {
  runtime.walk(text);
  const bool double_quotes =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = double_quotes ? '"' : '\'';
  out << std::string_view(&quote, 1);
  while (!text.empty()) {
    const DecodedChar decoded = decode_utf8(text);
    const auto length = static_cast<std::size_t>(decoded.length);
    const std::string escaped = escape_in_repr(decoded.code_point, quote);
    out << (escaped.empty() ? text.substr(0, length) : std::string_view(escaped));
    text.remove_prefix(length);
  }
  out << std::string_view(&quote, 1);
}

// repr() with the depth it has reached: namespaces may hold themselves.
class Printer {
 public:
  Printer(TextBuilder& out, Runtime& runtime) : out_(out), runtime_(runtime) {}

  void print(const Value& value) {
    runtime_.step();
    if (++depth_ > kMaxValueDepth)
      runtime_.fail("expected a value to print, got one within itself");
    switch (value.kind()) {
      case Kind::None:
        out_ << "None";
        break;
      case Kind::Undefined:
        out_ << "Undefined";
        break;
      case Kind::Bool:
        out_ << (value.as_bool() ? "True" : "False");
        break;
      case Kind::Int:
        out_ << fmt::to_string(value.as_int());
        break;
      case Kind::BigInt:
        out_ << fmt::to_string(value.as_big());
        break;
      case Kind::Float:
        append_float(out_, value.as_float());
        break;
      case Kind::String:
        out_ << (value.is_safe() ? "Markup(" : "");
        append_text_repr(out_, runtime_, value.text());
        out_ << (value.is_safe() ? ")" : "");
        break;
      case Kind::Dict:
        print_entries(value.entries());
        break;
      default:
        print_rest(value);
    }
    --depth_;
  }

 private:
  void print_rest(const Value& value) {
    switch (value.kind()) {
      case Kind::List:
        print_items("[", value, "]");
        break;
      case Kind::Tuple:
        print_items("(", value, value.items().size() == 1 ? ",)" : ")");
        break;
      case Kind::Keys:
        print_items("dict_keys([", value, "])");
        break;
      case Kind::Values:
        print_items("dict_values([", value, "])");
        break;
      case Kind::Items:
        print_items("dict_items([", value, "])");
        break;
      case Kind::Namespace:
        print_namespace(*value.as_namespace());
        break;
      case Kind::Loop:
        out_ << fmt::format("<LoopContext {}/{}>", value.as_loop()->index0() + 1,
                            value.as_loop()->length());
        break;
      case Kind::Macro:
        out_ << "<Macro ";
        print(Value::string(value.as_macro()->name));
        out_ << ">";
        break;
      default:  // Python prints an address, or what nobody wants in a prompt
        runtime_.fail(ErrorCode::Unsupported, "expected a value to print, got a {}",
                      type_name(value));
    }
  }

  void print_items(std::string_view open, const Value& value, std::string_view close) {
    std::string_view separator = open;
    for (const Value& item : value.items()) {
      out_ << separator;
      print(item);
      separator = ", ";
    }
    if (value.items().empty()) out_ << open;
    out_ << close;
  }

  void print_entries(std::span<const DictEntry> entries) {
    std::string_view separator = "{";
    for (const DictEntry& entry : entries) {
      out_ << separator;
      print(entry.key);
      out_ << ": ";
      print(entry.value);
      separator = ", ";
    }
    out_ << (entries.empty() ? "{}" : "}");
  }

  void print_namespace(const Namespace& name_space) {
    std::vector<DictEntry> entries;
    entries.reserve(name_space.entries.size());
    for (const NamespaceEntry& entry : name_space.entries)
      entries.push_back({Value::string(entry.name), entry.value});
    out_ << "<Namespace ";
    print_entries(entries);
    out_ << ">";
  }

  TextBuilder& out_;
  Runtime& runtime_;
  int depth_ = 0;
};

}  // namespace

void append_repr(TextBuilder& out, Runtime& runtime, const Value& value) {
  Printer(out, runtime).print(value);
}

void append_str(TextBuilder& out, Runtime& runtime, const Value& value) {
  if (value.is_string()) {
    out << value.text();
  } else if (!value.is(Kind::Undefined)) {
    append_repr(out, runtime, value);
  }
}

std::string_view to_text(Runtime& runtime, const Value& value) {
  if (value.is_string()) return value.text();
  TextBuilder text(runtime);
  append_str(text, runtime, value);
  return text.finish().text();
}

void append_escaped(TextBuilder& out, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '&':
        out << "&amp;";
        break;
      case '<':
        out << "&lt;";
        break;
      case '>':
        out << "&gt;";
        break;
      case '\'':
        out << "&#39;";
        break;
      case '"':
        out << "&#34;";
        break;
      default:
        out << text.substr(i, 1);
    }
  }
}

}  // namespace emlx::jinja
