// The threads that compute a step together.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace emlx {

// Cores this process may use, hardware threads of one core counted once; at least 1.
int physical_cores();

// `threads` workers: the calling thread is worker 0, the others wait for work, first spinning, then
// parked (no CPU). All work is a sequence of phases that every worker enters in the same order.
class WorkerPool {
 public:
  // threads >= 1. Throws Error(Busy) if the system refuses a thread.
  explicit WorkerPool(int threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int threads() const noexcept { return threads_; }

  // Runs job(worker) on every worker and returns when all are done. `job` must not throw. Called by
  // one thread at a time.
  void run(const std::function<void(int)>& job);

  // Inside a job: work(first, last) over [0, items) in pieces of at most `chunk`, each worker
  // beginning with its own contiguous share and then helping the others; returns when all of it is
  // done by everybody.
  template <typename Work>
  void phase(int worker, int items, int chunk, Work&& work) {
    for (int i = 0; i < threads_; ++i) {
      const int owner = (worker + i) % threads_;
      const int end = share(items, owner + 1);
      std::atomic<int>& next = next_[static_cast<std::size_t>(owner)].value;
      const int start = share(items, owner);
      for (int at = 0; (at = start + next.fetch_add(chunk, std::memory_order_relaxed)) < end;)
        work(at, at + chunk < end ? at + chunk : end);
    }
    barrier();
  }

 private:
  template <typename Value>
  struct alignas(128) Padded {
    Value value{};
  };

  int share(int items, int worker) const noexcept {
    return static_cast<int>(static_cast<std::int64_t>(items) * worker / threads_);
  }
  void work_loop(int worker);
  void barrier();

  int threads_;
  const std::function<void(int)>* job_ = nullptr;
  std::atomic<bool> stopping_{false};
  Padded<std::atomic<std::uint32_t>> started_;   // jobs begun
  Padded<std::atomic<int>> arrived_;             // at the barrier
  Padded<std::atomic<std::uint32_t>> released_;  // barriers passed
  std::vector<Padded<std::atomic<int>>> next_;   // [threads]: items taken of each share
  std::vector<std::thread> workers_;
};

}  // namespace emlx
