// The executor's contract: what it refuses, what it holds, what it gives back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <limits>
#include <vector>

#include "base/log.h"
#include "kernels/cpu_isa.h"
#include "models/cpu/cpu_test_support.h"

namespace emlx {
namespace {

constexpr int kVocab = 130;

DecoderSpec shape(int max_positions) {
  return {.family = "llama",
          .layers = 2,
          .hidden = 64,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 16,
          .intermediate = 96,
          .vocab = kVocab,
          .max_positions = max_positions,
          .tied_head = true,
          .rope = {.dims = 16}};
}

std::unique_ptr<Executor> make(int max_positions, const ExecutorOptions& options = {.threads = 1}) {
  return make_cpu_executor(random_model(shape(max_positions), {.bits = 4, .group_size = 32}),
                           options);
}

void expect_refused(const ExecutorOptions& options, ErrorCode code, std::string_view part) {
  expect_error(code, part, [&] { make(256, options); });
}

TEST(CpuExecutor, SaysWhatItIs) {
  struct {
    int bits;
    const char* name;
  } kinds[] = {{0, "float16"}, {16, "float16"}, {32, "float32"}, {8, "int8"}};
  for (const auto& kind : kinds) {
    const ExecutorInfo info = make(256, {.threads = 1, .kv_bits = kind.bits})->info();
    EXPECT_EQ(info.backend, "cpu");
    EXPECT_EQ(info.device, isa_name(chosen_isa()));
    EXPECT_EQ(info.dtype, "float32");
    EXPECT_EQ(info.kv_dtype, kind.name);
    EXPECT_FALSE(info.exact);
  }
  EXPECT_EQ(make(256)->vocab(), kVocab);
}

TEST(CpuExecutor, ObeysTheChosenInstructionSet) {
  for (const CpuIsa isa : supported_isas()) {
    const ForcedIsa forced{std::string(isa_name(isa))};
    EXPECT_EQ(make(256)->info().device, isa_name(isa));
  }
}

TEST(CpuExecutor, RefusesOptionsThatCannotBeInOneLine) {
  constexpr auto kInvalid = ErrorCode::InvalidArgument;
  expect_refused({.threads = -1}, kInvalid, "threads: expected 1 to 256, got -1");
  expect_refused({.threads = 257}, kInvalid, "threads: expected 1 to 256, got 257");
  expect_refused({.threads = 10000}, kInvalid, "threads: expected 1 to 256, got 10000");
  expect_refused({.kv_bits = 7}, kInvalid, "KV bits: expected 8, 16 or 32, got 7");
  expect_refused({.dtype = ComputeDType::Float16}, kInvalid, "computes in float32 only");
  expect_refused({.dtype = ComputeDType::BFloat16}, kInvalid, "computes in float32 only");
  expect_refused({.context = -1}, kInvalid,
                 "context: expected 1 to 256 (the model's limit), got -1");
  expect_refused({.context = 257}, kInvalid,
                 "context: expected 1 to 256 (the model's limit), got 257");
  const ForcedIsa forced("foo");
  expect_refused({}, kInvalid,
                 "EMLX_CPU_ISA: expected scalar, avx2, avxvnni, avx512 or neon, got \"foo\"");
}

TEST(CpuExecutor, TakesAnyNumberOfThreads) {
  const Tokens tokens = some_tokens(20, kVocab, 1);
  const auto one = make(256);
  const Logits expected = feed(*one, one->open(), tokens);
  for (const int threads : {0, 7}) {
    const auto executor = make(256, {.dtype = ComputeDType::Float32, .threads = threads});
    EXPECT_TRUE(same_logits(feed(*executor, executor->open(), tokens), expected, 0, kVocab));
  }
}

// 4.4 TB for the whole context.
std::shared_ptr<const Model> huge_context() {
  DecoderSpec spec = shape(1 << 26);
  spec.layers = 8;
  spec.heads = spec.kv_heads = 8;
  spec.head_dim = 128;
  return random_model(spec, {.bits = 4, .group_size = 32});
}

TEST(CpuExecutor, RefusesAContextThatDoesNotFitIntoMemory) {
  expect_error(
      ErrorCode::Busy, "a context of 67108864 needs 4398046.5 MB of KV memory, at most ",
      [] { make_cpu_executor(huge_context(), {.context = 1 << 26, .threads = 1, .kv_bits = 32}); });
}

TEST(CpuExecutor, TakesAsMuchOfTheModelsContextAsFits) {
  const auto executor = make_cpu_executor(huge_context(), {.threads = 1, .kv_bits = 32});
  EXPECT_LT(executor->capacity().context, 1 << 26);
  EXPECT_GT(executor->capacity().context, 0);
  EXPECT_EQ(executor->capacity().context % 64, 0);
}

TEST(CpuExecutor, CapacityFollowsTheContext) {
  EXPECT_EQ(make(300)->capacity().context, 300);
  const auto executor = make(300, {.context = 100, .threads = 1});
  const ExecutorCapacity capacity = executor->capacity();
  EXPECT_EQ(capacity.context, 100);
  EXPECT_EQ(capacity.sequences, 64);
  EXPECT_EQ(capacity.step_rows, 64);
  EXPECT_EQ(capacity.step_tokens, 512);
  EXPECT_EQ(capacity.max_in_flight, 1);
  // Four contexts of two blocks: 2 layers, 2 KV heads, K and V of 64 positions, 16 float16.
  EXPECT_EQ(executor->memory().kv_capacity, 8U * 2 * 2 * 2 * 64 * 16 * 2);
  EXPECT_EQ(executor->memory().kv_used, 0U);
  EXPECT_GT(executor->memory().weights, 2U * 64 * 96 * 3 / 2);
}

TEST(CpuExecutor, TakesTheKvMemoryItIsGiven) {
  constexpr std::size_t kBlock = 2 * 2 * 2 * 64 * 16 * 2;
  const auto executor = make(300, {.threads = 1, .kv_memory = 7 * kBlock + 1});
  EXPECT_EQ(executor->memory().kv_capacity, 7 * kBlock);
  EXPECT_EQ(executor->capacity().context, 300);
  // Without a context asked for, what fits; with one, nothing less.
  EXPECT_EQ(make(300, {.threads = 1, .kv_memory = 2 * kBlock})->capacity().context, 128);
  expect_refused({.context = 129, .threads = 1, .kv_memory = 2 * kBlock}, ErrorCode::Busy,
                 "a context of 129 needs 0.0 MB of KV memory, at most 0.0 MB");
  expect_refused({.threads = 1, .kv_memory = kBlock - 1}, ErrorCode::Busy, "at most 0.0 MB");
  expect_refused({.threads = 1, .kv_memory = std::size_t{1} << 60}, ErrorCode::Busy,
                 "1152921504606.8 MB of KV memory were asked for, ");
}

TEST(CpuExecutor, RefusesAnUnknownOrClosedSequence) {
  const auto executor = make(256);
  const SequenceId closed = executor->open(), open = executor->open();
  executor->close(closed);
  const Tokens token{1};
  for (const SequenceId id : {closed, open + 1, -1}) {
    const auto refused = [&](const auto& action) {
      expect_error(ErrorCode::InvalidArgument, fmt::format("unknown sequence {}", id), action);
    };
    refused([&] { executor->close(id); });
    refused([&] { executor->truncate(id, 0); });
    refused([&] { executor->fork(id, 0); });
    refused([&] { executor->length(id); });
    refused([&] { feed(*executor, id, token); });
  }
  EXPECT_NE(executor->open(), closed);
}

TEST(CpuExecutor, RefusesRowsThatCannotBeAndChangesNothing) {
  const auto executor = make(600, {.context = 520, .threads = 1});
  const SequenceId id = executor->open(), other = executor->open();
  feed(*executor, id, some_tokens(100, kVocab, 1));
  const std::size_t used = executor->memory().kv_used;
  const Tokens good{1, 2}, bad{1, kVocab}, negative{-1}, many(513, 1), long_text(421, 1);
  const auto refused = [&](ErrorCode code, std::string_view part, const Row& row) {
    const Row rows[] = {{.sequence = other, .tokens = good}, row};
    expect_error(code, part, [&] { executor->submit(rows); });
    EXPECT_EQ(executor->length(id), 100);
    EXPECT_EQ(executor->length(other), 0);
    EXPECT_EQ(executor->memory().kv_used, used);
  };
  constexpr auto kInvalid = ErrorCode::InvalidArgument;
  refused(kInvalid, "token: expected 0 to 129, got 130", {.sequence = id, .tokens = bad});
  refused(kInvalid, "token: expected 0 to 129, got -1", {.sequence = id, .tokens = negative});
  refused(kInvalid, "at most 512 tokens a row, got 513", {.sequence = id, .tokens = many});
  refused(kInvalid, "logits_from", {.sequence = id, .tokens = good, .logits_from = 3});
  refused(kInvalid, "two rows", {.sequence = other, .tokens = good});
  refused(kInvalid, "no sampled token", {.sequence = id});
  refused(ErrorCode::ContextLength, "421 more tokens do not fit: 100 of 520 used",
          {.sequence = id, .tokens = long_text});
  feed(*executor, id, std::span(long_text).first(420));
  EXPECT_EQ(executor->length(id), 520);
}

TEST(CpuExecutor, RefusesPrefixesThatAreNotThere) {
  const auto executor = make(256);
  const SequenceId id = executor->open();
  feed(*executor, id, Tokens{1, 2, 3});
  for (const int length : {-1, 4}) {
    expect_error(ErrorCode::InvalidArgument, "0 to 3", [&] { executor->truncate(id, length); });
    expect_error(ErrorCode::InvalidArgument, "0 to 3", [&] { executor->fork(id, length); });
  }
  EXPECT_EQ(executor->length(id), 3);
}

TEST(CpuExecutor, HoldsOneStepAtATime) {
  const auto executor = make(256);
  const SequenceId id = executor->open();
  const Tokens tokens{1};
  const Row row{.sequence = id, .tokens = tokens};
  expect_error(ErrorCode::InvalidArgument, "no step", [&] { executor->collect(); });
  executor->submit({&row, 1});
  expect_error(ErrorCode::InvalidArgument, "at most 1 steps in flight", [&] {
    executor->submit({&row, 1});
  });
  EXPECT_EQ(executor->length(id), 1);
  executor->collect();
  expect_error(ErrorCode::InvalidArgument, "no step", [&] { executor->collect(); });
  expect_error(ErrorCode::InvalidArgument, "expected 1 to 64 rows", [&] { executor->submit({}); });
}

TEST(CpuExecutor, ResultsAreWhatWasWanted) {
  const auto executor = make(256);
  const Tokens tokens{1, 2, 3};
  const Row rows[] = {
      {.sequence = executor->open(), .tokens = tokens, .logits_from = 1, .fetch_logits = true},
      {.sequence = executor->open(), .tokens = tokens, .logits_from = 3, .fetch_logits = true},
      {.sequence = executor->open(), .tokens = tokens, .greedy = true},
      {.sequence = executor->open(), .tokens = tokens}};
  executor->submit(rows);
  const std::span<const RowResult> results = executor->collect();
  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(results[0].logits.size(), 2U * kVocab);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(results[i].logits.empty());
  for (const std::size_t i : {0, 1, 3}) EXPECT_EQ(results[i].token, -1);
  EXPECT_GE(results[2].token, 0);
  EXPECT_LT(results[2].logprob, 0.0F);
}

TEST(CpuExecutor, OpensSixtyFourSequencesAndNoMore) {
  const auto executor = make(256);
  std::vector<SequenceId> ids(64);
  for (SequenceId& id : ids) id = executor->open();
  expect_error(ErrorCode::Busy, "all 64 sequences are open", [&] { executor->open(); });
  expect_error(ErrorCode::Busy, "all 64 sequences", [&] { executor->fork(ids[0], 0); });
  executor->close(ids[5]);
  executor->open();
}

// Four blocks in all.
class CpuExecutorPool : public testing::Test {
 protected:
  std::unique_ptr<Executor> executor = make(64);
  std::size_t block = executor->memory().kv_capacity / 4;
  Tokens full = some_tokens(64, kVocab, 1);

  std::size_t used() const { return executor->memory().kv_used / block; }
  SequenceId filled() {
    const SequenceId id = executor->open();
    feed(*executor, id, full);
    return id;
  }
};

TEST_F(CpuExecutorPool, AStepThatDoesNotFitChangesNothing) {
  std::vector<Row> rows(5, {.tokens = full});
  for (Row& row : rows) row.sequence = executor->open();
  expect_error(ErrorCode::Busy, "needs 5 KV blocks of 64 positions, 4 of 4 are free",
               [&] { executor->submit(rows); });
  EXPECT_EQ(used(), 0U);
  for (const Row& row : rows) EXPECT_EQ(executor->length(row.sequence), 0);
  executor->submit(std::span(rows).first(4));
  executor->collect();
  EXPECT_EQ(used(), 4U);
  expect_error(ErrorCode::Busy, "needs 1 KV blocks of 64 positions, 0 of 4 are free",
               [&] { feed(*executor, rows[4].sequence, Tokens{1}); });
  EXPECT_EQ(executor->length(rows[4].sequence), 0);
}

TEST_F(CpuExecutorPool, AChosenTokenOutlivesAStepThatDoesNotFit) {
  const SequenceId first = filled(), second = filled(), third = filled();
  executor->truncate(first, 1);
  const SequenceId id = executor->fork(first, 0);
  const Row choose{.sequence = id, .tokens = std::span(full).first(1), .greedy = true};
  executor->submit({&choose, 1});
  executor->collect();
  const SequenceId waiting = executor->open();
  const Row rows[] = {{.sequence = id}, {.sequence = waiting, .tokens = full}};
  expect_error(ErrorCode::Busy, "0 of 4 are free", [&] { executor->submit(rows); });
  executor->submit(std::span(rows).first(1));
  executor->collect();
  EXPECT_EQ(executor->length(id), 2);
  for (const SequenceId other : {first, second, third, id}) executor->close(other);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CpuExecutorPool, TruncateAndCloseGiveBackExactlyWhatWasTaken) {
  const auto larger = make(256);
  const std::size_t size = larger->memory().kv_capacity / 16;
  const auto in_use = [&] { return larger->memory().kv_used / size; };
  const SequenceId a = larger->open(), b = larger->open();
  EXPECT_EQ(in_use(), 0U);
  feed(*larger, a, some_tokens(130, kVocab, 1));
  feed(*larger, b, some_tokens(64, kVocab, 1));
  EXPECT_EQ(in_use(), 4U);
  larger->truncate(a, 128);
  EXPECT_EQ(in_use(), 3U);
  larger->truncate(a, 65);
  EXPECT_EQ(in_use(), 3U);
  larger->truncate(a, 1);
  EXPECT_EQ(in_use(), 2U);
  larger->close(b);
  EXPECT_EQ(in_use(), 1U);
  larger->close(a);
  EXPECT_EQ(in_use(), 0U);
}

TEST_F(CpuExecutorPool, AForkSharesFullBlocks) {
  const SequenceId parent = filled();
  const SequenceId shared = executor->fork(parent, 64), copied = executor->fork(parent, 63);
  EXPECT_EQ(used(), 2U);
  executor->close(parent);
  EXPECT_EQ(used(), 2U);
  executor->truncate(shared, 10);
  EXPECT_EQ(used(), 2U);
  executor->close(copied);
  executor->close(shared);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CpuExecutorPool, AForkThatDoesNotFitLeavesNothingBehind) {
  for (int i = 0; i < 3; ++i) filled();
  const SequenceId parent = filled();
  expect_error(ErrorCode::Busy, "all 4 KV blocks are in use", [&] { executor->fork(parent, 63); });
  EXPECT_EQ(used(), 4U);
  for (int i = 0; i < 60; ++i) executor->fork(parent, 64);
  EXPECT_EQ(used(), 4U);
}

#if defined(__linux__)
// As long as this lives, the process gets 16 MB more and then nothing.
class LittleMemory {
 public:
  LittleMemory() {
    unsigned long long pages = 0;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> statm(
        std::fopen("/proc/self/statm", "re"), &std::fclose);
    EXPECT_TRUE(statm && std::fscanf(statm.get(), "%llu", &pages) == 1);
    ::getrlimit(RLIMIT_AS, &before_);
    rlimit little = before_;
    little.rlim_cur =
        static_cast<rlim_t>(pages * static_cast<unsigned long long>(::getpagesize()) + (16U << 20));
    ::setrlimit(RLIMIT_AS, &little);
  }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;
  ~LittleMemory() { ::setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

TEST(CpuExecutor, ASequenceOfAStepThatRanOutOfMemoryCanOnlyBeClosed) {
  DecoderSpec spec = shape(512);
  spec.vocab = 20000;
  const auto executor =
      make_cpu_executor(random_model(spec, {.bits = 4, .group_size = 32}), {.threads = 1});
  const SequenceId id = executor->open(), healthy = executor->open();
  const Tokens tokens = some_tokens(500, spec.vocab, 1);
  feed(*executor, id, std::span(tokens).first(2));
  const Row row{.sequence = id, .tokens = tokens, .greedy = true, .fetch_logits = true};
  {
    const LittleMemory limit;  // and the step's logits take 40 MB
    executor->submit({&row, 1});
  }
  expect_error(ErrorCode::Busy, "memory", [&] { executor->collect(); });
  expect_error(ErrorCode::InvalidArgument, "failed in an earlier step", [&] {
    executor->submit({&row, 1});
  });
  expect_error(ErrorCode::InvalidArgument, "failed", [&] { executor->truncate(id, 0); });
  expect_error(ErrorCode::InvalidArgument, "failed", [&] { executor->fork(id, 0); });
  executor->close(id);
  EXPECT_EQ(executor->memory().kv_used, 0U);
  EXPECT_EQ(feed(*executor, healthy, tokens).size(), tokens.size() * 20000);
}
#endif

}  // namespace
}  // namespace emlx
