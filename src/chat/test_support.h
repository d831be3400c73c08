// What the tests of this layer share.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/test_support.h"
#include "chat/chat_template.h"

namespace emlx {

inline JsonObject object(std::string_view json) {
  return parse_json(json, "test").as_object();
}
inline JsonArray array(std::string_view json) {
  return parse_json(json, "test").as_array();
}

inline std::string render(std::string_view source, std::string_view variables = "{}") {
  return ChatTemplate::parse(source).render(object(variables));
}

inline std::string render_error(std::string_view source, std::string_view variables = "{}") {
  return error_of([&] { render(source, variables); });
}

}  // namespace emlx
