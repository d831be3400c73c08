#include "chat/prompt.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/quote.h"

namespace emlx {
namespace {

[[noreturn]] void fail_field(const std::string& field, std::string_view expected,
                             const JsonValue* got) {
  fail(ErrorCode::InvalidArgument, "{}: expected {}, got {}", field, expected,
       got == nullptr ? "nothing" : json_kind(*got));
}

bool is_absent(const JsonValue* value) {
  return value == nullptr || value->is_null();
}

const JsonObject& object_at(const std::string& field, const JsonValue* value) {
  if (value == nullptr || !value->is_object()) fail_field(field, "an object", value);
  return value->get_object();
}

std::string_view string_at(const std::string& field, const JsonValue* value) {
  if (value == nullptr || !value->is_string()) fail_field(field, "a string", value);
  return {value->get_string().data(), value->get_string().size()};
}

std::string_view role_of(const ChatTemplate& chat_template, const std::string& field,
                         const JsonObject& message) {
  const std::string_view role = string_at(field + ".role", message.if_contains("role"));
  if (role == "developer") return chat_template.has_literal("developer") ? role : "system";
  for (const char* const known : {"system", "user", "assistant", "tool"})
    if (role == known) return role;
  fail(ErrorCode::InvalidArgument,
       "{}.role: expected system, developer, user, assistant or tool, got {}", field, quote(role));
}

std::string join_parts(const std::string& field, const JsonArray& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string part_field = fmt::format("{}[{}]", field, i);
    const JsonObject& part = object_at(part_field, &parts[i]);
    const std::string_view type = string_at(part_field + ".type", part.if_contains("type"));
    if (type != "text")
      fail(ErrorCode::InvalidArgument, "{}.type: expected \"text\", got {}", part_field,
           quote(type));
    text += string_at(part_field + ".text", part.if_contains("text"));
  }
  return text;
}

std::string content_of(const std::string& field, const JsonObject& message, std::string_view role) {
  const JsonValue* const content = message.if_contains("content");
  if (is_absent(content) && role == "assistant") return "";
  if (content != nullptr && content->is_array())
    return join_parts(field + ".content", content->get_array());
  if (content == nullptr || !content->is_string())
    fail_field(field + ".content", "a string or a list of text parts", content);
  return {content->get_string().data(), content->get_string().size()};
}

JsonValue decode_arguments(const std::string& field, const JsonValue* arguments) {
  if (is_absent(arguments)) return JsonObject();
  if (arguments->is_object()) return *arguments;
  const std::string_view text = string_at(field, arguments);
  if (text.empty()) return JsonObject();
  JsonValue decoded = parse_json(text, field);
  if (decoded.is_null()) return JsonObject();
  if (!decoded.is_object()) fail_field(field, "a JSON object", &decoded);
  return decoded;
}

JsonArray clean_tool_calls(const std::string& field, const JsonValue& tool_calls) {
  if (!tool_calls.is_array()) fail_field(field, "an array", &tool_calls);
  JsonArray cleaned = tool_calls.get_array();
  for (std::size_t i = 0; i < cleaned.size(); ++i) {
    const std::string call_field = fmt::format("{}[{}]", field, i);
    const JsonObject& call = object_at(call_field, &cleaned[i]);
    const std::string function_field = call_field + ".function";
    const JsonObject& function = object_at(function_field, call.if_contains("function"));
    string_at(function_field + ".name", function.if_contains("name"));
    JsonValue arguments =
        decode_arguments(function_field + ".arguments", function.if_contains("arguments"));
    cleaned[i].get_object()["function"].get_object()["arguments"] = std::move(arguments);
  }
  return cleaned;
}

// Whichever name the reasoning came under, templates read reasoning_content; gpt-oss's thinking.
void unify_reasoning(JsonObject& message) {
  for (const char* const name : {"reasoning_content", "thinking", "reasoning"}) {
    const JsonValue* const found = message.if_contains(name);
    if (found == nullptr) continue;
    const JsonValue reasoning = *found;
    message.insert_or_assign("reasoning_content", reasoning);
    message.emplace("thinking", reasoning);
    return;
  }
}

JsonObject clean_message(const ChatTemplate& chat_template, const std::string& field,
                         const JsonValue& value) {
  const JsonObject& message = object_at(field, &value);
  const std::string_view role = role_of(chat_template, field, message);
  JsonObject cleaned;
  for (const auto& member : message) {
    if (member.value().is_null()) continue;
    cleaned.emplace(member.key(), member.key() == "tool_calls"
                                      ? clean_tool_calls(field + ".tool_calls", member.value())
                                      : member.value());
  }
  cleaned.insert_or_assign("role", role);
  cleaned.insert_or_assign("content", content_of(field, message, role));
  unify_reasoning(cleaned);
  return cleaned;
}

JsonValue clean_tools(const JsonArray& tools) {
  for (std::size_t i = 0; i < tools.size(); ++i) object_at(fmt::format("tools[{}]", i), &tools[i]);
  return tools.empty() ? JsonValue(nullptr) : JsonValue(tools);
}

}  // namespace

std::string render_chat(const ChatTemplate& chat_template, const JsonArray& messages,
                        const ChatOptions& options, const TemplateTokens& tokens) {
  if (messages.empty())
    fail(ErrorCode::InvalidArgument, "messages: expected at least one message, got none");
  JsonArray cleaned;
  for (std::size_t i = 0; i < messages.size(); ++i)
    cleaned.push_back(clean_message(chat_template, fmt::format("messages[{}]", i), messages[i]));
  JsonObject variables;
  for (const auto& [name, token] : tokens) variables[name] = token;
  variables["documents"] = nullptr;
  for (const auto& member : options.template_kwargs)
    variables.insert_or_assign(member.key(), member.value());
  for (const char* const taken : {"messages", "tools", "add_generation_prompt"})
    if (options.template_kwargs.contains(taken))
      fail(ErrorCode::InvalidArgument, "chat_template_kwargs.{}: expected another name", taken);
  variables["messages"] = std::move(cleaned);
  variables["tools"] = clean_tools(options.tools);
  variables["add_generation_prompt"] = options.add_generation_prompt;
  return chat_template.render(variables);
}

}  // namespace emlx
