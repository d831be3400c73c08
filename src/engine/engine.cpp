#include "engine/engine.h"

#include <atomic>
#include <exception>
#include <future>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "base/bounded_queue.h"
#include "base/log.h"
#include "engine/generation.h"

namespace emlx {
namespace {

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

// What `failure` is to the requests it ends.
Error to_error(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return Error(ErrorCode::Internal, error.what());
  } catch (...) {
    return Error(ErrorCode::Internal, "unknown exception");
  }
}

// A listener that breaks its promise not to throw loses the event; nobody else does.
template <typename Report>
void report(Report&& to_listener) noexcept {
  try {
    to_listener();
  } catch (...) {
    log_line(LogLevel::Warning, "a request's listener threw");
  }
}

}  // namespace

struct Engine::Impl {
  Impl(std::shared_ptr<const Tokenizer> tokenizer, std::vector<TokenId> eos,
       const EngineOptions& options)
      : queue(options.queue) {
    shared.tokenizer = std::move(tokenizer);
    shared.eos = std::move(eos);
  }

  void run(const ExecutorFactory& make_executor, std::promise<void> ready);
  void open(const ExecutorFactory& make_executor);
  void serve(Generation& generation);
  void advance(Generation& generation);
  void release(SequenceId sequence);
  void drop_cancelled();
  void die(const Error& error);
  void update_memory();
  bool must_stop(const Generation& generation) const {
    return stopping || generation.cancellation().cancelled();
  }

  // Set before the constructor returns, constant then.
  GenerationContext shared;
  int vocab = 0;
  ExecutorInfo info;
  ExecutorCapacity capacity;

  BoundedQueue<std::unique_ptr<Generation>> queue;
  std::atomic<bool> stopping = false;
  std::atomic<int> active = 0;
  mutable std::mutex mutex;
  std::optional<std::string> failure;  // guarded by mutex; set: the engine is dead
  ExecutorMemory memory;               // guarded by mutex

  // The engine thread's own.
  std::unique_ptr<Executor> executor;
  int in_flight = 0;  // steps submitted and not collected

  std::thread thread;
};

Engine::Engine(std::shared_ptr<const Tokenizer> tokenizer, std::vector<TokenId> eos,
               ExecutorFactory make_executor, const EngineOptions& options)
    : impl_(std::make_unique<Impl>(std::move(tokenizer), std::move(eos), options)) {
  std::promise<void> ready;
  std::future<void> is_ready = ready.get_future();
  impl_->thread =
      std::thread([impl = impl_.get(), make = std::move(make_executor),
                   ready = std::move(ready)]() mutable { impl->run(make, std::move(ready)); });
  try {
    is_ready.get();
  } catch (...) {
    impl_->thread.join();
    throw;
  }
}

Engine::~Engine() {
  impl_->stopping = true;
  impl_->queue.close();
  impl_->thread.join();
}

Cancellation Engine::submit(GenerationRequest request,
                            std::shared_ptr<GenerationListener> listener) {
  validate(request, impl_->vocab, impl_->capacity.context);
  auto generation = std::make_unique<Generation>(impl_->shared, std::move(request),
                                                 std::move(listener), random_seed());
  Cancellation cancellation = generation->cancellation();
  if (!impl_->queue.try_push(std::move(generation))) {
    const EngineStatus now = status();
    if (!now.alive) fail(ErrorCode::Internal, "the engine stopped: {}", now.failure);
    fail(ErrorCode::Busy, "all {} places in the queue are taken", impl_->queue.capacity());
  }
  return cancellation;
}

EngineStatus Engine::status() const {
  EngineStatus status;
  status.active = impl_->active;
  status.queued = impl_->queue.size();
  const std::scoped_lock lock(impl_->mutex);
  status.alive = !impl_->failure;
  status.failure = impl_->failure.value_or("");
  return status;
}

const ExecutorInfo& Engine::info() const {
  return impl_->info;
}

const ExecutorCapacity& Engine::capacity() const {
  return impl_->capacity;
}

ExecutorMemory Engine::memory() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->memory;
}

void Engine::Impl::run(const ExecutorFactory& make_executor, std::promise<void> ready) {
  try {
    open(make_executor);
  } catch (...) {
    executor.reset();
    ready.set_exception(std::current_exception());
    return;
  }
  ready.set_value();
  while (auto next = queue.pop()) {
    active = 1;
    serve(**next);
    next->reset();  // lets go of the listener
    active = 0;
  }
  executor.reset();  // where it was built
}

void Engine::Impl::open(const ExecutorFactory& make_executor) {
  executor = make_executor();
  vocab = executor->vocab();
  info = executor->info();
  capacity = executor->capacity();
  shared.context = capacity.context;
  shared.step_tokens = capacity.step_tokens;
  update_memory();
}

// Works on one request from the queue until its last event.
void Engine::Impl::serve(Generation& generation) {
  std::optional<SequenceId> sequence;
  try {
    if (!must_stop(generation)) {
      sequence = executor->open();
      generation.start(*sequence);
    }
    while (!generation.finished()) {
      drop_cancelled();
      if (must_stop(generation)) {
        generation.finish(FinishReason::Cancelled);
      } else {
        advance(generation);
      }
    }
  } catch (...) {
    const Error error = to_error(std::current_exception());
    report([&] { generation.fail(error); });
  }
  if (sequence) release(*sequence);
}

// Keeps as many steps in flight as the executor and the request allow; else waits for the oldest.
void Engine::Impl::advance(Generation& generation) {
  if (in_flight < capacity.max_in_flight) {
    if (const std::optional<Row> row = generation.next_row()) {
      executor->submit({&*row, 1});
      ++in_flight;
      return;
    }
  }
  --in_flight;  // also if collect throws
  generation.accept(executor->collect().front());
  update_memory();
}

void Engine::Impl::release(SequenceId sequence) {
  for (; in_flight > 0; --in_flight) {
    try {
      executor->collect();
    } catch (...) {  // of a step past the end of the text
      log(LogLevel::Debug, "a surplus step failed: {}", to_error(std::current_exception()).what());
    }
  }
  try {
    executor->close(sequence);
    update_memory();
  } catch (...) {
    die(to_error(std::current_exception()));
  }
}

// Requests cancelled while they wait give up their places.
void Engine::Impl::drop_cancelled() {
  const auto cancelled =
      queue.remove_if([](const auto& waiting) { return waiting->cancellation().cancelled(); });
  for (const auto& generation : cancelled)
    report([&] { generation->finish(FinishReason::Cancelled); });
}

// The executor cannot be brought back to order: nothing can be served any more.
void Engine::Impl::die(const Error& error) {
  log(LogLevel::Error, "the engine stopped: {}", error.what());
  {
    const std::scoped_lock lock(mutex);
    failure = error.what();
  }
  queue.close();
  while (const auto waiting = queue.try_pop())
    report([&] { (*waiting)->fail(Error(ErrorCode::Internal, "the engine stopped")); });
}

void Engine::Impl::update_memory() {
  const ExecutorMemory now = executor->memory();
  const std::scoped_lock lock(mutex);
  memory = now;
}

}  // namespace emlx
