// Answers in the OpenAI chat API's JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/request.h"
#include "server/api_error.h"
#include "server/openai_types.h"

namespace emlx {

// A fresh id and the time now.
AnswerHead make_answer_head(std::string model, bool include_usage);

// The whole answer, "chat.completion". `end.reason` must not be Cancelled here and below.
std::string render_completion(const AnswerHead& head, std::string_view content,
                              const FinishEvent& end);

// A streamed answer's parts, "chat.completion.chunk": the first, one of text, the last of its
// choice, and the one with the usage after that.
std::string render_role_chunk(const AnswerHead& head);
std::string render_text_chunk(const AnswerHead& head, std::string_view text);
std::string render_finish_chunk(const AnswerHead& head, FinishReason reason);
std::string render_usage_chunk(const AnswerHead& head, const FinishEvent& end);

std::string render_error(const ApiError& error);

// GET /v1/models/{id}, and the list that holds just it.
JsonObject model_object(const std::string& name, std::int64_t created);
std::string render_models(const std::string& name, std::int64_t created);

}  // namespace emlx
