#include "kernels/worker_pool.h"

#include <algorithm>
#include <system_error>

#include "base/error.h"

#if defined(__linux__)
#include <sched.h>

#include <cstdio>
#include <set>
#include <string>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace emlx {
namespace {

void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");  // longer than yield, which most cores ignore
#endif
}

// Spins a bounded while (tens of microseconds), then parks: a core that another process needs, or
// that a preempted worker could run on, is not burnt.
void wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t old,
                     int spins) noexcept {
  for (int i = 0; i < spins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

#if defined(__linux__)
// The hardware threads of this one's core as the system lists them, e.g. "0,8"; its own number if
// the system does not say.
std::string hardware_threads_beside(int cpu) {
  std::string name = std::to_string(cpu);
  const std::string path = "/sys/devices/system/cpu/cpu" + name + "/topology/thread_siblings_list";
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return name;
  char line[256] = "";
  const bool read = std::fgets(line, sizeof line, file) != nullptr;
  std::fclose(file);
  return read ? line : name;
}
#endif

constexpr int kSpinsInStep = 2000, kSpinsBetweenSteps = 10000;

}  // namespace

int physical_cores() {
#if defined(__linux__)
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    std::set<std::string> cores;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &allowed)) continue;
      cores.insert(hardware_threads_beside(cpu));
    }
    if (!cores.empty()) return static_cast<int>(cores.size());
  }
#elif defined(__APPLE__)
  int cores = 0;
  std::size_t size = sizeof cores;  // performance cores where there are two kinds
  if (sysctlbyname("hw.perflevel0.physicalcpu", &cores, &size, nullptr, 0) == 0 && cores > 0)
    return cores;
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

WorkerPool::WorkerPool(int threads) : threads_(threads), next_(static_cast<std::size_t>(threads)) {
  try {
    for (int worker = 1; worker < threads; ++worker)
      workers_.emplace_back([this, worker] { work_loop(worker); });
  } catch (const std::system_error& error) {
    const std::size_t got = workers_.size() + 1;
    stopping_ = true;
    started_.value.fetch_add(1);
    started_.value.notify_all();
    for (std::thread& worker : workers_) worker.join();
    fail(ErrorCode::Busy, "expected {} threads, the system gave {}: {}", threads, got,
         error.what());
  }
}

WorkerPool::~WorkerPool() {
  stopping_ = true;
  started_.value.fetch_add(1, std::memory_order_release);
  started_.value.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void WorkerPool::run(const std::function<void(int)>& job) {
  job_ = &job;
  started_.value.fetch_add(1, std::memory_order_release);
  started_.value.notify_all();
  job(0);
  phase(0, 0, 1, [](int, int) {});  // all workers are done with the job
}

void WorkerPool::work_loop(int worker) {
  for (std::uint32_t seen = 0;; ++seen) {
    wait_for_change(started_.value, seen, kSpinsBetweenSteps);
    if (stopping_) return;
    (*job_)(worker);
    phase(worker, 0, 1, [](int, int) {});
  }
}

// The last to arrive makes all shares new and lets everybody go on.
void WorkerPool::barrier() {
  const std::uint32_t passed = released_.value.load(std::memory_order_relaxed);
  if (arrived_.value.fetch_add(1, std::memory_order_acq_rel) == threads_ - 1) {
    arrived_.value.store(0, std::memory_order_relaxed);
    for (auto& next : next_) next.value.store(0, std::memory_order_relaxed);
    released_.value.store(passed + 1, std::memory_order_release);
    released_.value.notify_all();
    return;
  }
  wait_for_change(released_.value, passed, kSpinsInStep);
}

}  // namespace emlx
