#include "server/api.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "server/openai_parse.h"
#include "server/openai_render.h"

namespace emlx {
namespace {

constexpr std::string_view kModelPrefix = "/models/";

enum class Route { Health, Models, Model, Chat, Unknown };

std::string_view without_query(std::string_view target) {
  return target.substr(0, target.find_first_of("?#"));
}

// Without query and version.
std::string_view path_of(std::string_view target) {
  std::string_view path = without_query(target);
  if (path.starts_with("/v1/")) path.remove_prefix(3);
  return path;
}

Route route_of(std::string_view path) {
  if (path == "/health") return Route::Health;
  if (path == "/models") return Route::Models;
  if (path == "/chat/completions") return Route::Chat;
  if (path.starts_with(kModelPrefix)) return Route::Model;
  return Route::Unknown;
}

std::string percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const std::string_view digits = text.substr(i).substr(text[i] == '%' ? 1 : 0, 2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    const bool escaped = text[i] == '%' && error == std::errc() && end == digits.data() + 2;
    out += escaped ? static_cast<char>(byte) : text[i];
    if (escaped) i += 2;
  }
  return out;
}

bool allows(Route route, std::string_view method) {
  if (route == Route::Chat) return method == "POST";
  return method == "GET" || method == "HEAD";
}

HttpReply json_reply(std::string body, int status = 200) {
  HttpReply reply;
  reply.status = status;
  reply.body = std::move(body);
  return reply;
}

// The chat layer's messages begin with the field at fault, a template's own do not.
RequestError blame_messages(const Error& error) {
  const std::string_view message = error.what();
  const std::size_t colon = message.find(": ");
  const bool named = colon != std::string_view::npos &&
                     (message.starts_with("messages") || message.starts_with("chat_template"));
  return RequestError(error.code(), std::string(named ? message.substr(0, colon) : "messages"),
                      std::string(named ? message.substr(colon + 2) : message));
}

// Bytes of the longest token.
std::size_t longest_token(const Tokenizer& tokenizer) {
  std::size_t longest = 0;
  bool first = false;
  std::string bytes;
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    bytes.clear();
    tokenizer.append_bytes(id, false, first, bytes);
    longest = std::max(longest, bytes.size());
  }
  return longest;
}

// Bytes of text in a message's field: a string, or parts with a text each. What is neither counts
// nothing.
std::size_t text_size(const JsonValue& message, std::string_view field) {
  const JsonValue* value = message.is_object() ? message.get_object().if_contains(field) : nullptr;
  if (value == nullptr) return 0;
  if (value->is_string()) return value->get_string().size();
  std::size_t size = 0;
  if (value->is_array())
    for (const JsonValue& part : value->get_array()) size += text_size(part, "text");
  return size;
}

HttpReply not_found(std::string message, std::string param, std::string code) {
  return error_reply(
      {404, std::move(message), "invalid_request_error", std::move(param), std::move(code)});
}

}  // namespace

Api::Api(const TextModel& text, Engine& engine, const SamplingParams& sampling)
    : text_(text),
      engine_(engine),
      sampling_(sampling),
      max_text_(static_cast<std::size_t>(engine.capacity().context) *
                longest_token(*text.tokenizer)),
      started_(std::chrono::duration_cast<std::chrono::seconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count()) {}

bool Api::is_chat(const HttpRequest& request) {
  return route_of(path_of(request.target)) == Route::Chat && allows(Route::Chat, request.method);
}

HttpReply Api::answer(const HttpRequest& request) const {
  const std::string_view path = path_of(request.target);
  const Route route = route_of(path);
  if (route == Route::Unknown)
    return not_found("there is no " + quote(without_query(request.target)) + " here", "",
                     "not_found");
  const std::string allowed = route == Route::Chat ? "POST, OPTIONS" : "GET, HEAD, OPTIONS";
  if (request.method == "OPTIONS") return {204, "", {{"Allow", allowed}}};
  if (!allows(route, request.method)) {
    HttpReply reply = error_reply({405,
                                   quote(without_query(request.target)) + " expects " + allowed +
                                       ", got " + quote(request.method),
                                   "invalid_request_error", "", "method_not_allowed"});
    reply.headers.emplace_back("Allow", allowed);
    return reply;
  }
  if (route == Route::Health) return health();
  if (route == Route::Models) return json_reply(render_models(text_.model->name, started_));
  return model(percent_decode(path.substr(kModelPrefix.size())));
}

HttpReply Api::health() const {
  const EngineStatus status = engine_.status();
  const ExecutorInfo& info = engine_.info();
  const JsonObject health{{"status", status.alive ? "ok" : "error"},
                          {"model", text_.model->name},
                          {"backend", info.backend},
                          {"device", info.device},
                          {"dtype", info.dtype},
                          {"mode", info.exact ? "exact" : "fast"},
                          {"active", status.active},
                          {"queued", status.queued}};
  return json_reply(to_json(health), status.alive ? 200 : 503);
}

HttpReply Api::model(std::string_view id) const {
  if (id == text_.model->name)
    return json_reply(to_json(model_object(text_.model->name, started_)));
  return not_found("there is no model " + quote(id) + " here", "model", "model_not_found");
}

// One model is loaded; "default" and no name mean it too.
void Api::check_model(std::string_view name) const {
  if (name.empty() || name == "default" || name == text_.model->name) return;
  throw RequestError(ErrorCode::NotFound, "model",
                     "there is no " + quote(name) + " here; this server has " +
                         quote(text_.model->name) + ", also called \"default\"");
}

// Spares us the work of rendering and encoding what is far too long; the engine counts the tokens.
void Api::check_length(const JsonArray& messages) const {
  std::size_t size = 0;
  for (const JsonValue& message : messages) size += text_size(message, "content");
  if (size > max_text_)
    fail(ErrorCode::ContextLength, "the messages have {} bytes, but the context of {} holds {}",
         size, engine_.capacity().context, max_text_);
}

std::unique_ptr<ChatCall> Api::chat(std::string_view body, std::size_t max_buffered,
                                    std::function<void()> notify) const {
  ChatRequest request = parse_chat_request(body, sampling_);
  check_model(request.model);
  check_length(request.messages);
  try {
    request.generation.prompt = encode_chat(text_, request.messages, request.chat);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::InvalidArgument) throw blame_messages(error);
    throw;
  }
  const auto mailbox = std::make_shared<EventMailbox>(
      request.stream ? max_buffered : std::numeric_limits<std::size_t>::max(), std::move(notify));
  AnswerHead head = make_answer_head(text_.model->name, request.include_usage);
  const Cancellation cancellation = engine_.submit(std::move(request.generation), mailbox);
  return std::make_unique<ChatCall>(std::move(head), request.stream, mailbox, cancellation);
}

}  // namespace emlx
