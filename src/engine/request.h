// What a caller asks of the engine, and what comes back.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/token_id.h"

namespace emlx {

// Filters apply to the probabilities at temperature 1, in mlx_lm's order: top-p, min-p, top-k, then
// the temperature.
struct SamplingParams {
  float temperature = 0.0F;  // 0 (or below 1e-5): greedy
  float top_p = 1.0F;  // keep the smallest set of tokens whose mass reaches top_p; 1 (or 0): off
  float min_p = 0.0F;  // keep tokens at least min_p times as probable as the best; 0: off
  int top_k = 0;       // keep the k best; 0: off
  std::optional<std::uint64_t> seed;  // the same seed gives the same text; none: a fresh one
};

// Every stop string is matched against every byte of the text, on the engine thread.
inline constexpr std::size_t kMaxStops = 64;
inline constexpr std::size_t kMaxStopBytes = 1024;

struct GenerationRequest {
  std::vector<TokenId> prompt;  // at least one token
  SamplingParams sampling;
  std::optional<int> max_tokens;  // >= 1; none: what the context has room for
  std::vector<std::string> stop;  // the text ends before the first of these; non-empty strings
  bool ignore_eos = false;
  bool skip_special_tokens = true;  // leave special tokens out of the text
  bool fetch_logits = false;        // TokenEvent::logits is filled in
  std::vector<TokenId> forced;      // for tests: emit these instead of what is sampled, then finish
                                    // with Length (or with Stop at an EOS token)
};

// Throws Error(InvalidArgument) naming the first field that makes no sense for a model of `vocab`
// tokens, or Error(ContextLength) if the prompt leaves a context of `context` positions no room for
// a token.
void validate(const GenerationRequest& request, int vocab, int context);

enum class FinishReason { Stop, Length, Cancelled };

struct TokenEvent {
  TokenId id = -1;
  float logprob = 0.0F;  // natural log of its probability at temperature 1, before filters
  std::string text;      // text that became certain with this token; whole characters, may be empty
  std::span<const float>
      logits;  // [vocab] the token was chosen from, if asked for; valid during the callback only
};

struct FinishEvent {
  FinishReason reason = FinishReason::Stop;
  std::string text;  // the rest of the text, held back until now
  int prompt_tokens = 0;
  int completion_tokens = 0;  // an EOS token counts
  std::chrono::duration<double> queued{}, prefill{},
      decode{};  // prefill: until the first token is known
};

// Receives one request's events, on the engine thread: on_token any number of times, then exactly
// one of on_finish and on_error. Must return quickly and not throw.
class GenerationListener {
 public:
  virtual ~GenerationListener() = default;
  virtual void on_token(const TokenEvent& event) = 0;
  virtual void on_finish(const FinishEvent& event) = 0;
  virtual void on_error(const Error& error) = 0;
};

}  // namespace emlx
