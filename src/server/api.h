// The server's routes: what each request asks of the model and the engine. Knows no sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "engine/text_model.h"
#include "server/chat_call.h"
#include "server/http_types.h"

namespace emlx {

// GET  /health (503 once the engine is dead), /v1/models, /v1/models/{id}
// POST /v1/chat/completions
// The /v1 may be left out; HEAD is GET; queries are ignored. Thread-safe.
class Api {
 public:
  // `text` and `engine` must outlive it. `sampling`: for fields a request leaves out.
  Api(const TextModel& text, Engine& engine, const SamplingParams& sampling);

  // Whether chat() is to answer instead of answer().
  static bool is_chat(const HttpRequest& request);

  HttpReply answer(const HttpRequest& request) const;

  // Queues a chat completion. Renders and encodes on the calling thread. `max_buffered` (streamed
  // answers only) and `notify`: as in EventMailbox. Throws Error.
  std::unique_ptr<ChatCall> chat(std::string_view body, std::size_t max_buffered,
                                 std::function<void()> notify) const;

 private:
  HttpReply health() const;
  HttpReply models() const;
  HttpReply model(std::string_view id) const;
  void check_model(std::string_view name) const;
  void check_length(const JsonArray& messages) const;

  const TextModel& text_;
  Engine& engine_;
  const SamplingParams sampling_;
  const std::size_t max_text_;  // bytes; no prompt with more fits the context
  const std::int64_t started_;  // Unix time
};

}  // namespace emlx
