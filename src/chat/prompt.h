// From the messages of an OpenAI chat request to the text of the prompt.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/json.h"
#include "chat/chat_template.h"

namespace emlx {

struct ChatOptions {
  bool add_generation_prompt = true;
  JsonArray tools;             // empty: none
  JsonObject template_kwargs;  // more variables for the template, e.g. enable_thinking
};

// The texts of a model's special tokens by the names of the template's variables: "bos_token",
// "eos_token", "pad_token", ...
using TemplateTokens = std::map<std::string, std::string, std::less<>>;

// Cleans the messages as mlx_lm's server and transformers do, then renders:
// - a list of text parts becomes one string; an assistant's missing content the empty one;
// - the arguments of tool calls, a JSON text, become an object; an empty text or null {};
// - what is null in a message is left out; reasoning under any of its names is reasoning_content;
// - a developer is the system, unless the template knows the role.
// Throws Error(InvalidArgument) naming the field, as in "messages[1].content[0].type: expected
// ...", and what ChatTemplate::render throws. Keeps nothing from one call to the next.
std::string render_chat(const ChatTemplate& chat_template, const JsonArray& messages,
                        const ChatOptions& options, const TemplateTokens& tokens);

}  // namespace emlx
