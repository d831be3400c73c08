// What the tests of this layer share.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "chat/chat_template.h"

namespace emlx {

inline std::string fixture(const std::string& name) {
  return read_text_file(std::string(EMLX_TEST_DATA "/chat/") + name, std::size_t{1} << 20);
}

inline JsonObject object(std::string_view json) {
  return parse_json(json, "test").as_object();
}
inline JsonArray array(std::string_view json) {
  return parse_json(json, "test").as_array();
}

inline std::string render(std::string_view source, std::string_view variables = "{}") {
  return ChatTemplate::parse(source).render(object(variables));
}

// "code: message" of the Error that `action` throws; empty if it throws none.
template <typename Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return std::string(to_string(error.code())) + ": " + error.what();
  }
  return "";
}

inline std::string render_error(std::string_view source, std::string_view variables = "{}") {
  return error_of([&] { render(source, variables); });
}

}  // namespace emlx
