// The OpenAI chat API's data, checked and in our own terms.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "chat/prompt.h"
#include "engine/request.h"

namespace emlx {

// A chat completion request.
struct ChatRequest {
  std::string model;  // as the client named it; empty: it did not
  JsonArray messages;
  ChatOptions chat;
  GenerationRequest generation;  // without its prompt
  bool stream = false;
  bool include_usage = false;  // a streamed answer ends with a chunk that holds its usage
};

// What all parts of one answer have in common.
struct AnswerHead {
  std::string id;  // "chatcmpl-" and 24 random characters
  std::string model;
  std::int64_t created = 0;    // Unix time in seconds
  bool include_usage = false;  // chunks have a usage field
};

}  // namespace emlx
