// One request on its way through the engine.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cancellation.h"
#include "engine/request.h"
#include "engine/sampler.h"
#include "engine/stop_checker.h"
#include "models/executor.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer.h"

namespace emlx {

// What all requests of an engine share; outlives them.
struct GenerationContext {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::vector<TokenId> eos;
  int context = 0;      // positions a sequence holds
  int step_tokens = 0;  // tokens a row may feed
};

// Plans the rows one request needs computed and turns their results into its listener's events. It
// never touches the executor. Built by the submitting thread, used by the engine thread.
class Generation {
 public:
  // `request` must be valid; `fallback_seed` serves if it brings none.
  Generation(const GenerationContext& shared, GenerationRequest request,
             std::shared_ptr<GenerationListener> listener, std::uint64_t fallback_seed);

  const Cancellation& cancellation() const noexcept { return cancellation_; }

  // Binds it to an empty sequence of the executor.
  void start(SequenceId sequence);

  // The next row to submit, or nothing while that depends on results still to come (or it is
  // finished). A row's tokens live until the next call. Prompt: chunks of min(step_tokens,
  // remaining - 1), each waiting for the one before, then the last token alone. Decode: greedy rows
  // feed on the device, so the next may be planned before the one before is known.
  std::optional<Row> next_row();

  // Takes the result of the oldest planned row. May finish the request; results of rows planned
  // beyond its end are dropped. Throws Error(Internal) if the result is no distribution.
  void accept(const RowResult& result);

  // Ends it: flushes held text and tells the listener, once; later calls do nothing.
  void finish(FinishReason reason);
  void fail(const Error& error);
  bool finished() const noexcept { return finished_; }

 private:
  using Clock = std::chrono::steady_clock;

  TokenChoice choose(const RowResult& result);
  bool ends_text(TokenId id) const;
  bool on_device() const noexcept { return greedy_ && request_.forced.empty(); }

  const GenerationContext& shared_;
  const GenerationRequest request_;
  const std::shared_ptr<GenerationListener> listener_;
  const Cancellation cancellation_;
  const bool greedy_;
  const int limit_;  // tokens it may produce
  Sampler sampler_;
  StreamDecoder decoder_;
  StopChecker stop_;

  SequenceId sequence_ = -1;
  std::size_t fed_ = 0;  // prompt tokens planned
  int planned_ = 0;      // tokens whose rows are planned
  int produced_ = 0;     // tokens known
  int outstanding_ = 0;  // rows planned, result not seen
  TokenId last_ = -1;    // the newest token
  bool finished_ = false;

  const Clock::time_point submitted_ = Clock::now();
  std::optional<Clock::time_point> started_, first_token_;
};

}  // namespace emlx
