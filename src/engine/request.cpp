#include "engine/request.h"

#include <cstddef>

#include "engine/sampler.h"

namespace emlx {
namespace {

void validate_tokens(const char* field, const std::vector<TokenId>& tokens, int vocab) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0 || tokens[i] >= vocab)
      fail(ErrorCode::InvalidArgument, "{}[{}]: expected a token id from 0 to {}, got {}", field, i,
           vocab - 1, tokens[i]);
}

void validate_stops(const std::vector<std::string>& stops) {
  if (stops.size() > kMaxStops)
    fail(ErrorCode::InvalidArgument, "stop: expected at most {} strings, got {}", kMaxStops,
         stops.size());
  for (const std::string& stop : stops)
    if (stop.empty() || stop.size() > kMaxStopBytes)
      fail(ErrorCode::InvalidArgument, "stop: expected strings of 1 to {} bytes, got one of {}",
           kMaxStopBytes, stop.size());
}

}  // namespace

void validate(const GenerationRequest& request, int vocab, int context) {
  if (request.prompt.empty())
    fail(ErrorCode::InvalidArgument, "prompt: expected at least one token, got none");
  if (request.prompt.size() >= static_cast<std::size_t>(context))
    fail(ErrorCode::ContextLength,
         "the prompt has {} tokens, but the context of {} must also hold at least one token of the "
         "answer",
         request.prompt.size(), context);
  validate_tokens("prompt", request.prompt, vocab);
  validate_tokens("forced", request.forced, vocab);
  validate(request.sampling);
  if (request.max_tokens && *request.max_tokens < 1)
    fail(ErrorCode::InvalidArgument, "max_tokens: expected an integer >= 1, got {}",
         *request.max_tokens);
  validate_stops(request.stop);
}

}  // namespace emlx
