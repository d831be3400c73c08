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
  TemplateTokens tokens;
  for (const auto& member : members(tokenizer_config, "the file")) {
    const std::string_view name = member.key();
    const JsonValue& value = member.value();
    if (!name.ends_with("_token") || value.is_null() || value.is_bool()) continue;
    const JsonObject* const added = value.if_object();
    tokens.emplace(name, text(added == nullptr ? &value : added->if_contains("content"), name));
  }
  return tokens;
}

}  // namespace emlx
