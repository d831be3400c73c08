#include "server/openai_render.h"

#include <fmt/format.h>

#include <chrono>
#include <random>
#include <utility>

namespace emlx {
namespace {

std::string random_id() {
  constexpr std::string_view kAlphabet =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::random_device device;
  std::string id = "chatcmpl-";
  for (int i = 0; i < 24; ++i) id += kAlphabet[device() % kAlphabet.size()];
  return id;
}

const char* finish_name(FinishReason reason) {
  return reason == FinishReason::Length ? "length" : "stop";
}

JsonObject usage_object(const FinishEvent& end) {
  return {{"prompt_tokens", end.prompt_tokens},
          {"completion_tokens", end.completion_tokens},
          {"total_tokens", end.prompt_tokens + end.completion_tokens}};
}

JsonObject answer_object(const AnswerHead& head, const char* kind, JsonArray choices) {
  return {{"id", head.id},
          {"object", kind},
          {"created", head.created},
          {"model", head.model},
          {"system_fingerprint", nullptr},
          {"choices", std::move(choices)}};
}

std::string render_chunk(const AnswerHead& head, JsonArray choices, const JsonValue& usage) {
  JsonObject chunk = answer_object(head, "chat.completion.chunk", std::move(choices));
  if (head.include_usage) chunk["usage"] = usage;
  return to_json(chunk);
}

std::string render_delta(const AnswerHead& head, JsonObject delta, const JsonValue& reason) {
  JsonArray choices;
  choices.push_back(JsonObject{
      {"index", 0}, {"delta", std::move(delta)}, {"logprobs", nullptr}, {"finish_reason", reason}});
  return render_chunk(head, std::move(choices), nullptr);
}

JsonValue string_or_null(const std::string& text) {
  return text.empty() ? JsonValue(nullptr) : JsonValue(text);
}

}  // namespace

AnswerHead make_answer_head(std::string model, bool include_usage) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {random_id(), std::move(model),
          std::chrono::duration_cast<std::chrono::seconds>(now).count(), include_usage};
}

std::string render_completion(const AnswerHead& head, std::string_view content,
                              const FinishEvent& end) {
  JsonArray choices;
  choices.push_back(JsonObject{{"index", 0},
                               {"message", {{"role", "assistant"}, {"content", content}}},
                               {"logprobs", nullptr},
                               {"finish_reason", finish_name(end.reason)}});
  JsonObject answer = answer_object(head, "chat.completion", std::move(choices));
  answer["usage"] = usage_object(end);
  return to_json(answer);
}

std::string render_role_chunk(const AnswerHead& head) {
  return render_delta(head, {{"role", "assistant"}, {"content", ""}}, nullptr);
}

std::string render_text_chunk(const AnswerHead& head, std::string_view text) {
  return render_delta(head, {{"content", text}}, nullptr);
}

std::string render_finish_chunk(const AnswerHead& head, FinishReason reason) {
  return render_delta(head, {}, finish_name(reason));
}

std::string render_usage_chunk(const AnswerHead& head, const FinishEvent& end) {
  return render_chunk(head, {}, usage_object(end));
}

std::string render_error(const ApiError& error) {
  return to_json(JsonObject{{"error",
                             {{"message", error.message},
                              {"type", error.type},
                              {"param", string_or_null(error.param)},
                              {"code", string_or_null(error.code)}}}});
}

JsonObject model_object(const std::string& name, std::int64_t created) {
  return {{"id", name}, {"object", "model"}, {"created", created}, {"owned_by", "engine-mlx"}};
}

std::string render_models(const std::string& name, std::int64_t created) {
  JsonArray models;
  models.push_back(model_object(name, created));
  return to_json(JsonObject{{"object", "list"}, {"data", std::move(models)}});
}

}  // namespace emlx
