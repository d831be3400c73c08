#include "chat/template_source.h"

#include <string_view>

#include "base/error.h"

namespace emlx {
namespace {

const JsonObject& members(const JsonValue& value, std::string_view what) {
  if (!value.is_object())
    fail(ErrorCode::InvalidFile, "tokenizer_config.json: expected {} to be an object", what);
  return value.get_object();
}

std::string text(const JsonValue* value, std::string_view what) {
  if (value == nullptr || !value->is_string())
    fail(ErrorCode::InvalidFile, "tokenizer_config.json: expected {} to be a string", what);
  return {value->get_string().data(), value->get_string().size()};
}

std::string token_text(const JsonObject& config, std::string_view name) {
  const JsonValue* const token = config.if_contains(name);
  if (token == nullptr || token->is_null()) return "";
  return token->is_object() ? text(token->get_object().if_contains("content"), name)
                            : text(token, name);
}

}  // namespace

std::optional<std::string> chat_template_from_config(
    const JsonValue& tokenizer_config, bool with_tools,
    const std::optional<std::string>& template_file) {
  if (template_file) return template_file;
  const JsonValue* const found = members(tokenizer_config, "the file").if_contains("chat_template");
  if (found == nullptr || found->is_null()) return std::nullopt;
  if (!found->is_array()) return text(found, "chat_template");
  std::optional<std::string> standard, tool_use;
  for (const JsonValue& entry : found->get_array()) {
    const JsonObject& named = members(entry, "every chat_template");
    const std::string name = text(named.if_contains("name"), "the name of a chat_template");
    const std::string source =
        text(named.if_contains("template"), "the template of a chat_template");
    if (name == "default") standard = source;
    if (name == "tool_use") tool_use = source;
  }
  if (with_tools && tool_use) return tool_use;
  if (!standard)
    fail(ErrorCode::InvalidFile,
         "tokenizer_config.json: expected a chat_template named 'default', got none");
  return standard;
}

TemplateTokens template_tokens_from_config(const JsonValue& tokenizer_config) {
  const JsonObject& config = members(tokenizer_config, "the file");
  return {token_text(config, "bos_token"), token_text(config, "eos_token")};
}

}  // namespace emlx
