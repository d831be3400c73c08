#include "engine/generation.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace emlx {
namespace {

// `request` leaves room in the context for at least one token.
int token_limit(const GenerationRequest& request, int context) {
  int limit = context - static_cast<int>(request.prompt.size());
  limit = std::min(limit, request.max_tokens.value_or(limit));
  if (!request.forced.empty() && request.forced.size() < static_cast<std::size_t>(limit))
    limit = static_cast<int>(request.forced.size());
  return limit;
}

}  // namespace

Generation::Generation(const GenerationContext& shared, GenerationRequest request,
                       std::shared_ptr<GenerationListener> listener, std::uint64_t fallback_seed)
    : shared_(shared),
      request_(std::move(request)),
      listener_(std::move(listener)),
      greedy_(is_greedy(request_.sampling)),
      limit_(token_limit(request_, shared.context)),
      sampler_(request_.sampling, request_.sampling.seed.value_or(fallback_seed)),
      decoder_(*shared.tokenizer, request_.skip_special_tokens),
      stop_(request_.stop) {}

void Generation::start(SequenceId sequence) {
  sequence_ = sequence;
  started_ = Clock::now();
}

std::optional<Row> Generation::next_row() {
  if (finished_) return std::nullopt;
  Row row;
  row.sequence = sequence_;
  const std::size_t remaining = request_.prompt.size() - fed_;
  if (remaining > 0) {
    if (outstanding_ > 0) return std::nullopt;  // so that a cancel waits for one chunk at most
    const std::size_t count =
        remaining == 1 ? 1 : std::min(static_cast<std::size_t>(shared_.step_tokens), remaining - 1);
    row.tokens = std::span(request_.prompt).subspan(fed_, count);
    fed_ += count;
    row.logits_from = static_cast<int>(remaining == 1 ? 0 : count);
  } else {
    if (planned_ == limit_ || (outstanding_ > 0 && !on_device())) return std::nullopt;
    if (!on_device()) row.tokens = {&last_, 1};
  }
  if (remaining <= 1) {
    row.greedy = on_device();
    row.fetch_logits = !on_device() || request_.fetch_logits;
    ++planned_;
  }
  ++outstanding_;
  return row;
}

void Generation::accept(const RowResult& result) {
  --outstanding_;
  if (finished_ || planned_ == 0) return;  // a surplus row; a chunk of the prompt
  const TokenChoice choice = choose(result);
  last_ = choice.id;
  ++produced_;
  if (!first_token_) first_token_ = Clock::now();
  const bool ended = ends_text(choice.id);
  TokenEvent event;
  event.id = choice.id;
  event.logprob = choice.logprob;
  if (!ended) event.text = stop_.append(decoder_.append(choice.id));
  if (request_.fetch_logits) event.logits = result.logits;
  listener_->on_token(event);
  if (ended || stop_.matched()) {
    finish(FinishReason::Stop);
  } else if (produced_ == limit_) {
    finish(FinishReason::Length);
  }
}

TokenChoice Generation::choose(const RowResult& result) {
  const auto index = static_cast<std::size_t>(produced_);
  if (!request_.forced.empty()) {
    const TokenId id = request_.forced[index];
    return {id, token_logprob(result.logits, id)};
  }
  if (!greedy_) return sampler_.sample(result.logits, index);
  if (!std::isfinite(result.logprob))
    emlx::fail(ErrorCode::Internal,
               "expected finite logits, the best token's log-probability is {}", result.logprob);
  return {result.token, result.logprob};
}

bool Generation::ends_text(TokenId id) const {
  return !request_.ignore_eos &&
         std::find(shared_.eos.begin(), shared_.eos.end(), id) != shared_.eos.end();
}

void Generation::finish(FinishReason reason) {
  if (std::exchange(finished_, true)) return;
  const Clock::time_point now = Clock::now();
  FinishEvent event;
  if (!stop_.matched()) {
    event.text = stop_.append(decoder_.finish());
    event.text += stop_.finish();
  }
  event.reason = stop_.matched() ? FinishReason::Stop : reason;
  event.prompt_tokens = static_cast<int>(request_.prompt.size());
  event.completion_tokens = produced_;
  const Clock::time_point started = started_.value_or(now);
  const Clock::time_point first = first_token_.value_or(now);
  event.queued = started - submitted_;
  event.prefill = first - started;
  event.decode = now - first;
  listener_->on_finish(event);
}

void Generation::fail(const Error& error) {
  if (!std::exchange(finished_, true)) listener_->on_error(error);
}

}  // namespace emlx
