// Chooses a token from logits on the host, and scores tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "engine/request.h"

namespace emlx {

struct TokenChoice {
  TokenId id = -1;
  float logprob = 0.0F;  // natural log of its probability at temperature 1, before filters
};

// Throws Error(InvalidArgument) naming the first field that is out of range.
void validate(const SamplingParams& params);

// Whether these parameters always mean the most probable token, which the executor finds by itself.
// Temperatures too small to tell from 0 count as 0.
bool is_greedy(const SamplingParams& params) noexcept;

// The log-probability of `id` at temperature 1. `logits`: [vocab]. Throws Error(Internal) if the
// logits are no distribution: a NaN, an infinity, or nothing but -infinity.
float token_logprob(std::span<const float> logits, TokenId id);

// Draws from one request's distributions. Draw i depends on the seed, i and the logits alone, so a
// text can be continued or recomputed from any position. Not thread-safe (it keeps scratch memory).
class Sampler {
 public:
  // `params` must be valid; its seed is ignored for `seed`.
  Sampler(const SamplingParams& params, std::uint64_t seed);

  // `logits`: [vocab]. Throws as token_logprob does.
  TokenChoice sample(std::span<const float> logits, std::uint64_t draw);

 private:
  void keep_top_k(std::span<const float> logits);
  void keep_top_p(std::span<const float> logits, double max, double total);
  double uniform(std::uint64_t draw) const noexcept;  // in [0, 1)

  SamplingParams params_;
  std::uint64_t key_;
  std::vector<TokenId> candidates_;
  std::vector<double> weights_;
};

}  // namespace emlx
