// Renders chat templates for jinja_parity.py: one JSON object a line in, one a line out.
// In: {"template", "variables"}, or {"template", "messages", "options", "tokenizer_config"} for
// render_chat.
// Out: {"text"}, or {"error", "code"}.
#include <iostream>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "chat/chat_template.h"
#include "chat/prompt.h"
#include "chat/template_source.h"

namespace {

std::string text(const emlx::JsonValue& value) {
  return {value.as_string().data(), value.as_string().size()};
}

std::string render(const emlx::JsonObject& request) {
  const auto chat_template = emlx::ChatTemplate::parse(text(request.at("template")));
  if (const emlx::JsonValue* const variables = request.if_contains("variables"))
    return chat_template.render(variables->as_object());
  const emlx::JsonObject& options = request.at("options").as_object();
  return emlx::render_chat(
      chat_template, request.at("messages").as_array(),
      {options.at("add_generation_prompt").as_bool(), options.at("tools").as_array(),
       options.at("template_kwargs").as_object()},
      emlx::template_tokens_from_config(request.at("tokenizer_config")));
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    emlx::JsonObject reply;
    try {
      reply["text"] = render(emlx::parse_json(line, "request").as_object());
    } catch (const emlx::Error& error) {
      reply["error"] = error.what();
      reply["code"] = emlx::to_string(error.code());
    }
    std::cout << emlx::to_json(reply) << '\n' << std::flush;
  }
}
