#include "kernels/worker_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/test_support.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace emlx {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST(WorkerPool, EveryItemOfAPhaseIsDoneOnceBeforeAnyWorkerGoesOn) {
  for (int threads = 1; threads <= 8; ++threads) {
    WorkerPool pool(threads);
    ASSERT_EQ(pool.threads(), threads);
    for (const int items : {0, 1, 2, 3, 7, 64, 1001})
      for (const int chunk : {1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> done(static_cast<std::size_t>(items));
        std::atomic<int> wrong{0}, pieces{0};
        pool.run([&](int worker) {
          pool.phase(worker, items, chunk, [&](int first, int last) {
            ++pieces;
            if (first >= last || last - first > chunk) ++wrong;
            for (int i = first; i < last; ++i)
              done[static_cast<std::size_t>(i)].fetch_add(1, std::memory_order_relaxed);
          });
          for (const std::atomic<int>& count : done)
            if (count.load(std::memory_order_relaxed) != 1) ++wrong;
        });
        EXPECT_EQ(wrong, 0) << threads << " threads, " << items << " items, chunk " << chunk;
        EXPECT_EQ(pieces == 0, items == 0);
      }
  }
}

// Each phase reads what all workers wrote in the one before, unguarded.
TEST(WorkerPool, PhasesFollowEachOther) {
  constexpr std::size_t kSize = 37;
  constexpr int kPhases = 200;
  std::vector<unsigned> expected(kSize, 1), next(kSize);
  for (int phase = 0; phase < kPhases; ++phase) {
    for (std::size_t i = 0; i < kSize; ++i)
      next[i] = 3 * expected[i] + expected[(i + 11) % kSize] + static_cast<unsigned>(i);
    std::swap(expected, next);
  }
  for (const int threads : {1, 2, 3, 8}) {
    WorkerPool pool(threads);
    std::vector<unsigned> values[2] = {std::vector<unsigned>(kSize, 1),
                                       std::vector<unsigned>(kSize)};
    pool.run([&](int worker) {
      for (int phase = 0; phase < kPhases; ++phase)
        pool.phase(worker, kSize, 1 + phase % 5, [&](int first, int last) {
          const std::vector<unsigned>& from = values[phase % 2];
          for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
            values[1 - phase % 2][i] =
                3 * from[i] + from[(i + 11) % kSize] + static_cast<unsigned>(i);
        });
    });
    EXPECT_EQ(values[kPhases % 2], expected) << threads << " threads";
  }
}

TEST(WorkerPool, AJobRunsOnceOnEveryWorkerAndIsOverWhenRunReturns) {
  const auto caller = std::this_thread::get_id();
  for (const int threads : {1, 2, 5}) {
    WorkerPool pool(threads);
    std::vector<int> runs(static_cast<std::size_t>(threads));  // unguarded
    for (int job = 1; job <= 200; ++job) {
      pool.run([&](int worker) {
        EXPECT_EQ(worker == 0, std::this_thread::get_id() == caller);
        ++runs[static_cast<std::size_t>(worker)];
      });
      ASSERT_EQ(runs, std::vector<int>(static_cast<std::size_t>(threads), job));
    }
  }
}

// The first item waits for all others: its worker's share must be taken over by the other worker.
TEST(WorkerPool, AnIdleWorkerTakesOverTheShareOfABusyOne) {
  WorkerPool pool(2);
  std::atomic<int> others{0};
  bool all = false;
  pool.run([&](int worker) {
    pool.phase(worker, 100, 1, [&](int first, int) {
      if (first != 0) {
        ++others;
        return;
      }
      const auto end = steady_clock::now() + milliseconds(5000);
      while (!(all = others == 99) && steady_clock::now() < end) std::this_thread::yield();
    });
  });
  EXPECT_TRUE(all) << others << " of 99";
}

TEST(WorkerPool, LivesAndDiesWithoutWork) {
  for (int repeat = 0; repeat < 10; ++repeat)
    for (int threads = 1; threads <= 8; ++threads) const WorkerPool pool(threads);
}

double process_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

TEST(WorkerPool, UsesNoProcessorWhenIdle) {
  WorkerPool used(4), unused(4);
  used.run([](int) {});
  std::this_thread::sleep_for(milliseconds(100));  // spinning ends
  const double before = process_seconds();
  std::this_thread::sleep_for(milliseconds(1000));
  EXPECT_LT(process_seconds() - before, 0.01);
}

// A worker of a job that waits long for another parks as well.
TEST(WorkerPool, UsesNoProcessorWhileAPhaseWaits) {
  WorkerPool pool(3);
  double used = 1;
  pool.run([&](int worker) {
    pool.phase(worker, 1, 1, [&](int, int) {
      std::this_thread::sleep_for(milliseconds(100));
      const double before = process_seconds();
      std::this_thread::sleep_for(milliseconds(300));
      used = process_seconds() - before;
    });
  });
  EXPECT_LT(used, 0.01);
}

#if defined(__linux__)
[[noreturn]] void start_more_threads_than_allowed() {
  const rlimit few{3, 3};
  ::setrlimit(RLIMIT_NPROC, &few);
  if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(2);  // the limit does not bind root
  const std::string error = error_of([] { const WorkerPool pool(8); });
  ::_exit(error.starts_with("busy: expected 8 threads, the system gave ") ? 0 : 1);
}

TEST(WorkerPool, AThreadTheSystemRefusesIsAnErrorAndTheOthersEnd) {
  EXPECT_EXIT(start_more_threads_than_allowed(), testing::ExitedWithCode(0), "");
}

TEST(PhysicalCores, AreThoseThisProcessMayUse) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(physical_cores(), 1);
  EXPECT_LE(physical_cores(), CPU_COUNT(&before));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(physical_cores(), 1);
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}
#endif

}  // namespace
}  // namespace emlx
