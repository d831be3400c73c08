// A token's logits have the same bits however it is fed.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "models/cpu/cpu_test_support.h"

namespace emlx {
namespace {

constexpr int kLength = 540;

// A model, a text, and the text's logits fed token by token on one thread.
struct Subject {
  std::shared_ptr<const Model> model;
  int kv_bits;
  Tokens tokens;
  Logits alone;

  Subject(std::shared_ptr<const Model> which, int bits)
      : model(std::move(which)), kv_bits(bits), tokens(some_tokens(kLength, model->spec.vocab, 1)) {
    const auto executor = make(1);
    alone = feed_in_chunks(*executor, executor->open(), tokens, 1);
  }
  std::unique_ptr<Executor> make(int threads) const {
    return make_cpu_executor(model, {.threads = threads, .kv_bits = kv_bits});
  }
  std::span<const TokenId> part(int first, int last) const {
    return std::span(tokens).subspan(static_cast<std::size_t>(first),
                                     static_cast<std::size_t>(last - first));
  }
  // Feeds tokens [first, last) in one step; whether their logits are as alone.
  testing::AssertionResult as_alone(Executor& executor, SequenceId sequence, int first,
                                    int last) const {
    return is_alone(feed(executor, sequence, part(first, last)), first);
  }
  testing::AssertionResult is_alone(std::span<const float> logits, int first) const {
    return same_logits(logits, alone, static_cast<std::size_t>(first), model->spec.vocab);
  }
};

DecoderSpec shape(int hidden, int heads, int kv_heads, int head_dim, int intermediate) {
  return {.family = "random",
          .layers = 2,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = kv_heads,
          .head_dim = head_dim,
          .intermediate = intermediate,
          .vocab = 130,
          .max_positions = 2048,
          .qk_norm = true,
          .tied_head = true,
          .rope = {.dims = head_dim}};
}

Subject make_subject(const std::string& name) {
  if (name == "AffineFloat16")
    return {random_model(shape(64, 4, 2, 16, 96), {.bits = 4, .group_size = 32}), 16};
  if (name == "DenseInt8")
    return {random_model(shape(48, 9, 3, 24, 40), {.bits = 0, .head_bits = 0}), 8};
  TestModel test(shape(128, 8, 1, 16, 128), {.bits = 8, .group_size = 128});
  const DecoderWeights& other = test.random({.bits = 3, .group_size = 32});
  const DecoderWeights& dense = test.random({.bits = 0});
  test.layer(0).q = other.layers[0].q;
  test.layer(0).up = other.layers[0].up;
  test.layer(1).v = dense.layers[1].v;
  return {TestModel::share(std::move(test)), 32};
}

class CpuExecutorInvariance : public testing::TestWithParam<std::string> {
 protected:
  const Subject& subject() {
    static std::map<std::string, Subject> made;
    auto found = made.find(GetParam());
    if (found == made.end()) found = made.emplace(GetParam(), make_subject(GetParam())).first;
    return found->second;
  }
};
INSTANTIATE_TEST_SUITE_P(Models, CpuExecutorInvariance,
                         testing::Values("AffineFloat16", "DenseInt8", "MixedFloat32"),
                         [](const auto& test) { return test.param; });

TEST_P(CpuExecutorInvariance, ChunksAndThreadsChangeNoBit) {
  const Subject& s = subject();
  const std::pair<int, std::size_t> kWays[] = {{1, 7},  {1, 37}, {1, 512}, {2, 1},
                                               {2, 65}, {2, 8},  {3, 37},  {3, 64}};
  for (const auto& [threads, chunk] : kWays) {
    SCOPED_TRACE(fmt::format("{} threads, chunks of {}", threads, chunk));
    const auto executor = s.make(threads);
    const int count = chunk < 16 ? 140 : kLength;
    EXPECT_TRUE(
        s.is_alone(feed_in_chunks(*executor, executor->open(), s.part(0, count), chunk), 0));
  }
}

TEST_P(CpuExecutorInvariance, OtherSequencesInTheStepChangeNoBit) {
  const Subject& s = subject();
  std::minstd_rand random(3);
  for (const int others : {1, 8}) {
    SCOPED_TRACE(fmt::format("{} others", others));
    const auto executor = s.make(2);
    std::vector<SequenceId> ids;
    for (int i = 0; i <= others; ++i) ids.push_back(executor->open());
    const auto ours = static_cast<std::size_t>(others) / 2;
    for (int done = 0; done < 200;) {
      std::vector<Tokens> fed;
      std::vector<Row> rows;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const int count = random() % 3 == 0 ? 1 : static_cast<int>(random() % 60) + 1;
        const std::span<const TokenId> part = s.part(done, std::min(done + count, kLength));
        fed.push_back(i == ours ? Tokens(part.begin(), part.end())
                                : some_tokens(count, s.model->spec.vocab, random()));
      }
      for (std::size_t i = 0; i < ids.size(); ++i)
        rows.push_back({.sequence = ids[i],
                        .tokens = fed[i],
                        .greedy = i % 2 == 0,
                        .fetch_logits = i % 3 == 0 || i == ours});
      executor->submit(rows);
      ASSERT_TRUE(s.is_alone(executor->collect()[ours].logits, done));
      done += static_cast<int>(fed[ours].size());
    }
  }
}

TEST_P(CpuExecutorInvariance, ARowThatGoesOnInAnotherPassChangesNoBit) {
  const Subject& s = subject();
  const auto executor = s.make(2);
  const Tokens other = some_tokens(450, s.model->spec.vocab, 9);
  const Row rows[] = {
      {.sequence = executor->open(), .tokens = other},
      {.sequence = executor->open(), .tokens = s.part(0, 512), .fetch_logits = true},
      {.sequence = executor->open(), .tokens = s.part(0, 88), .fetch_logits = true}};
  executor->submit(rows);
  const std::span<const RowResult> results = executor->collect();
  EXPECT_TRUE(s.is_alone(results[1].logits, 0));
  EXPECT_TRUE(s.is_alone(results[2].logits, 0));
}

TEST_P(CpuExecutorInvariance, WhatIsWantedChangesNoBit) {
  const Subject& s = subject();
  const auto executor = s.make(1);
  const SequenceId id = executor->open();
  for (const int wanted : {1, 17, 100}) {
    executor->truncate(id, 0);
    const Row row{.sequence = id,
                  .tokens = s.part(0, 100),
                  .logits_from = 100 - wanted,
                  .fetch_logits = true};
    executor->submit({&row, 1});
    const std::span<const float> logits = executor->collect().front().logits;
    ASSERT_EQ(logits.size(), static_cast<std::size_t>(wanted * s.model->spec.vocab));
    EXPECT_TRUE(s.is_alone(logits, 100 - wanted));
  }
}

TEST_P(CpuExecutorInvariance, AForkGoesOnAsItsParentWouldAndSoDoesTheParent) {
  const Subject& s = subject();
  const auto executor = s.make(1);
  const Tokens other = some_tokens(40, s.model->spec.vocab, 8);
  for (const int at : {0, 1, 64, 100, 128, 130}) {
    SCOPED_TRACE(fmt::format("fork at {}", at));
    const SequenceId parent = executor->open();
    feed(*executor, parent, s.part(0, 130));
    const SequenceId child = executor->fork(parent, at), stranger = executor->fork(parent, at);
    EXPECT_EQ(executor->length(child), at);
    feed(*executor, stranger, other);
    EXPECT_TRUE(s.as_alone(*executor, parent, 130, 150));
    EXPECT_TRUE(s.as_alone(*executor, child, at, 150));
    const Row rows[] = {{.sequence = child, .tokens = s.part(150, 200), .fetch_logits = true},
                        {.sequence = parent, .tokens = s.part(150, 200), .fetch_logits = true}};
    executor->submit(rows);
    for (const RowResult& result : executor->collect()) EXPECT_TRUE(s.is_alone(result.logits, 150));
    for (const SequenceId id : {parent, child, stranger}) executor->close(id);
  }
}

TEST_P(CpuExecutorInvariance, ASharedBlockIsCopiedBeforeOneOfItsSequencesWritesAnew) {
  const Subject& s = subject();
  const auto executor = s.make(1);
  const Tokens other = some_tokens(60, s.model->spec.vocab, 8);
  const SequenceId parent = executor->open();
  feed(*executor, parent, s.part(0, 130));
  const SequenceId child = executor->fork(parent, 128);
  executor->truncate(parent, 90);
  feed(*executor, parent, other);
  EXPECT_TRUE(s.as_alone(*executor, child, 128, 180));
  executor->truncate(parent, 90);
  EXPECT_TRUE(s.as_alone(*executor, parent, 90, 180));
}

TEST_P(CpuExecutorInvariance, TruncatedAndFedAgainItHasTheSameBits) {
  const Subject& s = subject();
  const auto executor = s.make(1);
  const SequenceId id = executor->open();
  feed(*executor, id, s.part(0, 200));
  for (const int length : {199, 150, 128, 65, 64, 3, 0}) {
    SCOPED_TRACE(fmt::format("truncated to {}", length));
    feed(*executor, id, some_tokens(70, s.model->spec.vocab, 4));
    executor->truncate(id, length);
    EXPECT_EQ(executor->length(id), length);
    EXPECT_TRUE(s.as_alone(*executor, id, length, 200));
  }
}

}  // namespace
}  // namespace emlx
