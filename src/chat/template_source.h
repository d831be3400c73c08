// Where a model keeps its chat template.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "chat/prompt.h"

namespace emlx {

// The template of a tokenizer_config.json, which is one text, or a list of {name, template}: then
// "tool_use" if there is one and the request has tools, else "default". Nothing if there is none.
// `template_file`: the text of a chat_template.jinja beside it, which wins. Throws
// Error(InvalidFile).
std::optional<std::string> chat_template_from_config(
    const JsonValue& tokenizer_config, bool with_tools,
    const std::optional<std::string>& template_file = std::nullopt);

// The members *_token, each a string or {"content": string}; flags such as add_bos_token, and null,
// are none. Throws Error(InvalidFile).
TemplateTokens template_tokens_from_config(const JsonValue& tokenizer_config);

}  // namespace emlx
