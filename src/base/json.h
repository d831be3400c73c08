// JSON: Boost.JSON with limits for reading, a writer of our own.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace emlx {

// Objects keep the order of their keys and are indexed; the last of two equal keys wins, as in
// Python.
using JsonValue = boost::json::value;
using JsonObject = boost::json::object;
using JsonArray = boost::json::array;

struct JsonLimits {
  std::size_t max_bytes = std::size_t{64} << 20;
  std::size_t max_depth = 64;
  bool unique_keys = false;  // an object with two equal keys is an error instead
};

// Parses one JSON text (UTF-8, no comments, no NaN). `what` names the text in messages, e.g.
// "config.json". Throws Error(InvalidArgument): "what: expected JSON, got <reason> at byte N".
JsonValue parse_json(std::string_view text, std::string_view what, const JsonLimits& limits = {});

// parse_json for text that came from a file: throws Error(InvalidFile) instead.
JsonValue parse_file_json(std::string_view text, std::string_view what,
                          const JsonLimits& limits = {});

// For tokenizer.json, the one large JSON file of a model (30 MB and more).
inline constexpr std::size_t kMaxTokenizerBytes = std::size_t{256} << 20;

enum class JsonStyle {
  Compact,  // {"a":1,"b":[1,2]}
  Python,   // {"a": 1, "b": [1, 2]}, as Python's json.dumps(ensure_ascii=False)
};

// Writes UTF-8 (never escaped to ASCII). Floats print the shortest text that reads back equal, as
// Python's repr does (0.1, 1.0, 1e+22); NaN and infinities, which JSON lacks, print as null.
// `indent` >= 0 breaks lines as json.dumps does.
std::string to_json(const JsonValue& value, JsonStyle style = JsonStyle::Compact, int indent = -1);

// "null", "a boolean", "a number", "a string", "an array" or "an object", for messages.
std::string_view json_kind(const JsonValue& value) noexcept;

// Appends `text` as a JSON string, quotes included.
void append_json_string(std::string& out, std::string_view text);

// Appends a double as Python's repr prints it: always with a '.', an exponent, or nan/inf.
void append_python_float(std::string& out, double value);

}  // namespace emlx
