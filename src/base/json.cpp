#include "base/json.h"

#include <fmt/format.h>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/src.hpp>  // the library's definitions, once
#include <boost/json/value_stack.hpp>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/quote.h"

namespace emlx {
namespace {

// Builds values as Boost's own handler does, but reads doubles with strtod: Boost 1.81's fast
// conversion is off by an ulp on about every fifth number of 17 digits, and takes 1e400 for
// infinity.
class Handler {
 public:
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_key_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_string_size = std::numeric_limits<std::size_t>::max();
  using Code = boost::json::error_code;
  using View = boost::json::string_view;

  void require_unique_keys() { unique_keys_ = true; }
  JsonValue release() { return stack_.release(); }
  const std::string& oversized_number() const { return oversized_number_; }
  const std::optional<std::string>& repeated_key() const { return repeated_key_; }

  bool on_document_begin(Code&) {
    stack_.reset();
    return true;
  }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) {
    if (unique_keys_) keys_.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t size, Code&) {
    if (unique_keys_) keys_.pop_back();
    stack_.push_object(size);
    return true;
  }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(std::size_t size, Code&) {
    stack_.push_array(size);
    return true;
  }
  bool on_key_part(View part, std::size_t, Code&) {
    if (unique_keys_) key_ += std::string_view(part);
    stack_.push_chars(part);
    return true;
  }
  bool on_key(View part, std::size_t, Code& code) {
    if (unique_keys_) {
      key_ += std::string_view(part);
      if (!keys_.back().insert(key_).second) {
        repeated_key_ = key_;
        code = boost::json::error::syntax;
        return false;
      }
      key_.clear();
    }
    stack_.push_key(part);
    return true;
  }
  bool on_string_part(View part, std::size_t, Code&) {
    stack_.push_chars(part);
    return true;
  }
  bool on_string(View part, std::size_t, Code&) {
    stack_.push_string(part);
    return true;
  }
  bool on_number_part(View, Code&) { return true; }
  bool on_int64(std::int64_t value, View, Code&) {
    stack_.push_int64(value);
    return true;
  }
  bool on_uint64(std::uint64_t value, View, Code&) {
    stack_.push_uint64(value);
    return true;
  }
  bool on_double(double, View text, Code& code) {
    const std::string copy(text);
    const double value = std::strtod(copy.c_str(), nullptr);
    if (!std::isfinite(value)) {
      oversized_number_ = copy.substr(0, 40);
      code = boost::json::error::exponent_overflow;
      return false;
    }
    stack_.push_double(value);
    return true;
  }
  bool on_bool(bool value, Code&) {
    stack_.push_bool(value);
    return true;
  }
  bool on_null(Code&) {
    stack_.push_null();
    return true;
  }
  bool on_comment_part(View, Code&) { return true; }
  bool on_comment(View, Code&) { return true; }

 private:
  boost::json::value_stack stack_;
  std::string oversized_number_;
  bool unique_keys_ = false;
  std::vector<std::unordered_set<std::string>> keys_;  // of the open objects, outermost first
  std::string key_;                                    // the parts of the current key so far
  std::optional<std::string> repeated_key_;
};

class Writer {
 public:
  Writer(std::string& out, JsonStyle style, int indent) : out_(out), indent_(indent) {
    item_separator_ = style == JsonStyle::Python && indent < 0 ? ", " : ",";
    key_separator_ = style == JsonStyle::Python ? ": " : ":";
  }

  void write(const JsonValue& value) {
    switch (value.kind()) {
      case boost::json::kind::null:
        out_ += "null";
        break;
      case boost::json::kind::bool_:
        out_ += value.get_bool() ? "true" : "false";
        break;
      case boost::json::kind::int64:
        fmt::format_to(std::back_inserter(out_), "{}", value.get_int64());
        break;
      case boost::json::kind::uint64:
        fmt::format_to(std::back_inserter(out_), "{}", value.get_uint64());
        break;
      case boost::json::kind::double_:
        if (std::isfinite(value.get_double())) {
          append_python_float(out_, value.get_double());
        } else {
          out_ += "null";
        }
        break;
      case boost::json::kind::string:
        append_json_string(out_, value.get_string());
        break;
      case boost::json::kind::array:
        write_items('[', ']', value.get_array(), [this](const JsonValue& item) { write(item); });
        break;
      case boost::json::kind::object:
        write_items('{', '}', value.get_object(), [this](const auto& member) {
          append_json_string(out_, member.key());
          out_ += key_separator_;
          write(member.value());
        });
        break;
    }
  }

 private:
  template <typename Items, typename WriteItem>
  void write_items(char open, char close, const Items& items, WriteItem write_item) {
    out_ += open;
    ++depth_;
    bool first = true;
    for (const auto& item : items) {
      if (!first) out_ += item_separator_;
      first = false;
      break_line();
      write_item(item);
    }
    --depth_;
    if (!items.empty()) break_line();
    out_ += close;
  }

  void break_line() {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(indent_) * static_cast<std::size_t>(depth_), ' ');
  }

  std::string& out_;
  std::string_view item_separator_, key_separator_;
  int indent_;
  int depth_ = 0;
};

}  // namespace

JsonValue parse_json(std::string_view text, std::string_view what, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes)
    fail(ErrorCode::InvalidArgument, "{}: expected at most {} bytes of JSON, got {}", what,
         limits.max_bytes, text.size());
  boost::json::parse_options options;
  options.max_depth = limits.max_depth;
  boost::json::basic_parser<Handler> parser(options);
  if (limits.unique_keys) parser.handler().require_unique_keys();
  boost::json::error_code code;
  // `more` is false: the whole text is here, so numbers arrive in one piece and an open value is an
  // error.
  const std::size_t parsed = parser.write_some(false, text.data(), text.size(), code);
  std::size_t rest = parsed;
  while (!code && rest < text.size() &&
         std::string_view(" \t\r\n").find(text[rest]) != std::string_view::npos)
    ++rest;
  if (code == boost::json::error::incomplete)
    fail(ErrorCode::InvalidArgument, "{}: expected JSON, got an incomplete text of {} bytes", what,
         text.size());
  if (code == boost::json::error::exponent_overflow)
    fail(ErrorCode::InvalidArgument, "{}: expected a number a double can hold, got {}", what,
         parser.handler().oversized_number());
  if (const auto& key = parser.handler().repeated_key())
    fail(ErrorCode::InvalidArgument, "{}: expected every key once, got {} again", what,
         quote(*key));
  if (code)
    fail(ErrorCode::InvalidArgument, "{}: expected JSON, got {} at byte {}", what, code.message(),
         parsed);
  if (rest < text.size())
    fail(ErrorCode::InvalidArgument, "{}: expected one JSON value, got extra data at byte {}", what,
         rest);
  return parser.handler().release();
}

JsonValue parse_file_json(std::string_view text, std::string_view what, const JsonLimits& limits) {
  try {
    return parse_json(text, what, limits);
  } catch (const Error& error) {
    throw Error(ErrorCode::InvalidFile, error.what());
  }
}

std::string to_json(const JsonValue& value, JsonStyle style, int indent) {
  std::string out;
  Writer(out, style, indent).write(value);
  return out;
}

std::string_view json_kind(const JsonValue& value) noexcept {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "a boolean";
    case boost::json::kind::string:
      return "a string";
    case boost::json::kind::array:
      return "an array";
    case boost::json::kind::object:
      return "an object";
    default:
      return "a number";
  }
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          fmt::format_to(std::back_inserter(out), "\\u{:04x}",
                         static_cast<unsigned>(static_cast<unsigned char>(c)));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void append_python_float(std::string& out, double value) {
  const std::size_t start = out.size();
  fmt::format_to(std::back_inserter(out), "{}", value);
  if (std::isfinite(value) && out.find_first_of(".e", start) == std::string::npos) out += ".0";
}

}  // namespace emlx
