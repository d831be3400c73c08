// The engine: one thread that owns the executor and turns requests into tokens.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/cancellation.h"
#include "engine/request.h"
#include "models/executor.h"
#include "tokenizer/tokenizer.h"

namespace emlx {

struct EngineOptions {
  std::size_t queue = 64;  // requests that may wait
};

// For /health and the start-up line.
struct EngineStatus {
  bool alive = true;  // false once the engine thread cannot serve any more; `failure` says why
  std::string failure;
  int active = 0;  // requests being worked on
  std::size_t queued = 0;
};

// Thread-safe unless said otherwise. Tokens go: queue -> prefill -> decode loop -> listener.
class Engine {
 public:
  using ExecutorFactory = std::function<std::unique_ptr<Executor>()>;

  // Starts the engine thread, builds the executor on it, and returns when that is done; what the
  // factory throws comes out here. `eos`: token ids that end a text.
  Engine(std::shared_ptr<const Tokenizer> tokenizer, std::vector<TokenId> eos,
         ExecutorFactory make_executor, const EngineOptions& options = {});
  // Cancels every request (their listeners hear Cancelled) and joins the thread, which first ends
  // the steps in progress, see submit().
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Queues a request. Cancelling the returned flag ends it wherever it is: queued, in prefill or in
  // decode; the listener then hears on_finish(Cancelled), once the steps in progress are done: a
  // token or two, or one chunk of the prompt, up to capacity().step_tokens tokens, which take
  // minutes on a slow executor. Throws Error: ContextLength if the prompt leaves no room for one
  // token, InvalidArgument for an empty prompt, a token outside the vocabulary or bad parameters
  // (naming the field), Busy if the queue is full, Internal if the engine thread is dead.
  Cancellation submit(GenerationRequest request, std::shared_ptr<GenerationListener> listener);

  EngineStatus status() const;
  // Fixed at construction.
  const ExecutorInfo& info() const;
  const ExecutorCapacity& capacity() const;
  ExecutorMemory memory() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emlx
