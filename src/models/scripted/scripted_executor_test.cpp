#include "models/scripted/scripted_executor.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <vector>

#include "formats/test_support.h"

namespace emlx {
namespace {

using Tokens = std::vector<TokenId>;

constexpr int kVocab = 8;
constexpr TokenId kEnd = 7;

// Feeds `tokens` (none: what was sampled) and returns the greedy token.
RowResult step(Executor& executor, SequenceId sequence, const Tokens& tokens, bool fetch = false) {
  const Row row{.sequence = sequence,
                .tokens = tokens,
                .logits_from = std::max(0, static_cast<int>(tokens.size()) - 1),
                .greedy = true,
                .fetch_logits = fetch};
  executor.submit({&row, 1});
  return executor.collect().front();
}

TEST(ScriptedExecutor, SaysItsScriptAndThenTheEndToken) {
  ScriptedExecutor executor(kVocab, {3, 5}, kEnd);
  const SequenceId sequence = executor.open();
  EXPECT_EQ(step(executor, sequence, {1, 2, 6}).token, 3);
  EXPECT_EQ(step(executor, sequence, {}).token, 5);
  EXPECT_EQ(step(executor, sequence, {4}).token, kEnd);
  EXPECT_EQ(step(executor, sequence, {}).token, kEnd);
  EXPECT_EQ(executor.length(sequence), 6);
  EXPECT_EQ(executor.memory().kv_used, 6U);
}

TEST(ScriptedExecutor, EverySequenceMayHaveItsOwnScript) {
  ScriptedExecutor executor(
      {.vocab = kVocab, .script = [](int n) { return Tokens{n + 1}; }, .end = kEnd});
  const SequenceId first = executor.open();
  const SequenceId second = executor.open();
  EXPECT_EQ(step(executor, second, {0}).token, 2);
  EXPECT_EQ(step(executor, first, {0}).token, 1);
}

TEST(ScriptedExecutor, LogitsNameTheScriptedToken) {
  ScriptedExecutor executor(kVocab, {3}, kEnd);
  const RowResult result = step(executor, executor.open(), {1, 2}, /*fetch=*/true);
  ASSERT_EQ(result.logits.size(), static_cast<std::size_t>(kVocab));
  for (int i = 0; i < kVocab; ++i)
    EXPECT_EQ(result.logits[static_cast<std::size_t>(i)], i == 3 ? 10.0F : 0.0F);
  EXPECT_FLOAT_EQ(result.logprob, static_cast<float>(10 - std::log(std::exp(10.0) + kVocab - 1)));
}

TEST(ScriptedExecutor, PrefillChunksWithoutLogitsTakeNothingOfTheScript) {
  ScriptedExecutor executor(kVocab, {3}, kEnd);
  const SequenceId sequence = executor.open();
  const Tokens chunk = {1, 2, 3};
  const Row row{.sequence = sequence, .tokens = chunk, .logits_from = 3};
  executor.submit({&row, 1});
  const RowResult result = executor.collect().front();
  EXPECT_TRUE(result.logits.empty());
  EXPECT_EQ(result.token, -1);
  EXPECT_EQ(step(executor, sequence, {4}).token, 3);
}

TEST(ScriptedExecutor, SeveralPositionsOfARowTakeScriptTokensInTurn) {
  ScriptedExecutor executor(kVocab, {3, 5, 6}, kEnd);
  const Tokens tokens = {0, 1, 2};
  const Row row{
      .sequence = executor.open(), .tokens = tokens, .logits_from = 1, .fetch_logits = true};
  executor.submit({&row, 1});
  const auto logits = executor.collect().front().logits;
  ASSERT_EQ(logits.size(), 2U * kVocab);
  EXPECT_EQ(logits[3], 10.0F);
  EXPECT_EQ(logits[kVocab + 5], 10.0F);
}

TEST(ScriptedExecutor, StepsMayBePipelined) {
  ScriptedExecutor executor(kVocab, {3, 5}, kEnd);
  const SequenceId sequence = executor.open();
  const Tokens prompt = {1};
  const Row first{.sequence = sequence, .tokens = prompt, .greedy = true};
  const Row second{.sequence = sequence, .greedy = true};
  executor.submit({&first, 1});
  executor.submit({&second, 1});
  expect_error(ErrorCode::InvalidArgument, "2 steps in flight", [&] {
    executor.submit({&second, 1});
  });
  const auto one = executor.collect();
  const auto two = executor.collect();
  EXPECT_EQ(one.front().token, 3);  // still valid
  EXPECT_EQ(two.front().token, 5);
  expect_error(ErrorCode::InvalidArgument, "no step is in flight", [&] { executor.collect(); });
}

TEST(ScriptedExecutor, RowsOfAStepKeepTheirOrder) {
  ScriptedExecutor executor(
      {.vocab = kVocab, .script = [](int n) { return Tokens{n + 1}; }, .end = kEnd});
  const Tokens prompt = {0};
  const SequenceId a = executor.open();
  const SequenceId b = executor.open();
  const Row rows[] = {{.sequence = b, .tokens = prompt, .greedy = true},
                      {.sequence = a, .tokens = prompt, .greedy = true, .fetch_logits = true}};
  executor.submit(rows);
  const auto results = executor.collect();
  EXPECT_EQ(results[0].token, 2);
  EXPECT_EQ(results[1].token, 1);
  EXPECT_EQ(results[1].logits[1], 10.0F);
  const Row twice[] = {rows[0], rows[0]};
  expect_error(ErrorCode::InvalidArgument, "two rows", [&] { executor.submit(twice); });
}

TEST(ScriptedExecutor, TruncationRepeatsTheScript) {
  ScriptedExecutor executor(kVocab, {3, 5, 6}, kEnd);
  const SequenceId sequence = executor.open();
  step(executor, sequence, {1, 2});
  step(executor, sequence, {3});
  step(executor, sequence, {5});
  executor.truncate(sequence, 3);
  expect_error(ErrorCode::InvalidArgument, "no sampled token",
               [&] { step(executor, sequence, {}); });
  EXPECT_EQ(step(executor, sequence, {5}).token, 6);
  executor.truncate(sequence, 0);
  EXPECT_EQ(step(executor, sequence, {1}).token, 3);
}

TEST(ScriptedExecutor, AForkStartsWithThePositionsOfItsParent) {
  ScriptedExecutor executor(
      {.vocab = kVocab, .script = [](int n) { return Tokens{n + 1}; }, .end = kEnd});
  const SequenceId parent = executor.open();
  step(executor, parent, {1, 2, 3});
  const SequenceId child = executor.fork(parent, 2);
  EXPECT_EQ(executor.length(child), 2);
  EXPECT_EQ(executor.length(parent), 3);
  EXPECT_EQ(step(executor, child, {4}).token, 2);
  expect_error(ErrorCode::InvalidArgument, "expected 0 to 3 positions",
               [&] { executor.fork(parent, 4); });
  expect_error(ErrorCode::InvalidArgument, "expected 0 to 3 positions",
               [&] { executor.truncate(parent, -1); });
}

TEST(ScriptedExecutor, HoldsItsLimitsAndChangesNothingOnMisuse) {
  ScriptedExecutor executor({.vocab = kVocab,
                             .end = kEnd,
                             .context = 4,
                             .sequences = 1,
                             .step_tokens = 3,
                             .step_rows = 1});
  const SequenceId sequence = executor.open();
  expect_error(ErrorCode::Busy, "all 1 sequences", [&] { executor.open(); });
  expect_error(ErrorCode::Busy, "all 1 sequences", [&] { executor.fork(sequence, 0); });
  expect_error(ErrorCode::InvalidArgument, "at most 3 tokens", [&] {
    step(executor, sequence, {1, 1, 1, 1});
  });
  expect_error(ErrorCode::InvalidArgument, "token: expected 0 to 7, got 8",
               [&] { step(executor, sequence, {8}); });
  expect_error(ErrorCode::InvalidArgument, "token: expected 0 to 7, got -1",
               [&] { step(executor, sequence, {-1}); });
  expect_error(ErrorCode::InvalidArgument, "no sampled token",
               [&] { step(executor, sequence, {}); });
  const Tokens one = {1};
  const Row from{.sequence = sequence, .tokens = one, .logits_from = 2};
  expect_error(ErrorCode::InvalidArgument, "logits_from", [&] { executor.submit({&from, 1}); });
  expect_error(ErrorCode::InvalidArgument, "1 to 1 rows", [&] { executor.submit({}); });
  EXPECT_EQ(executor.length(sequence), 0);
  step(executor, sequence, {1, 1, 1});
  expect_error(ErrorCode::ContextLength, "3 of 4 used", [&] { step(executor, sequence, {1, 1}); });
  EXPECT_EQ(step(executor, sequence, {1}).token, kEnd);
  executor.close(sequence);
  expect_error(ErrorCode::InvalidArgument, "unknown sequence", [&] { executor.length(sequence); });
  EXPECT_NE(executor.open(), sequence);
  EXPECT_EQ(executor.memory().kv_used, 0U);
}

TEST(ScriptedExecutor, GivesNotANumberOnDemand) {
  ScriptedExecutor executor(kVocab, {3, kNanLogits}, kEnd);
  const SequenceId sequence = executor.open();
  EXPECT_FALSE(std::isnan(step(executor, sequence, {1}, true).logprob));
  const RowResult result = step(executor, sequence, {2}, true);
  EXPECT_TRUE(std::isnan(result.logprob));
  for (const float logit : result.logits) EXPECT_TRUE(std::isnan(logit));
}

TEST(ScriptedExecutor, FailsOnDemandAndThenTheSequenceCanOnlyBeClosed) {
  ScriptedExecutor executor(kVocab, {3, kFailure}, kEnd);
  const SequenceId sequence = executor.open();
  step(executor, sequence, {1});
  const Row row{.sequence = sequence, .greedy = true};
  executor.submit({&row, 1});
  executor.submit({&row, 1});
  expect_error(ErrorCode::Internal, "this step fails", [&] { executor.collect(); });
  expect_error(ErrorCode::Internal, "this step fails", [&] { executor.collect(); });
  expect_error(ErrorCode::InvalidArgument, "failed in an earlier step",
               [&] { step(executor, sequence, {1}); });
  expect_error(ErrorCode::InvalidArgument, "failed in an earlier step",
               [&] { executor.fork(sequence, 1); });
  expect_error(ErrorCode::InvalidArgument, "failed in an earlier step",
               [&] { executor.truncate(sequence, 1); });
  executor.close(sequence);
  EXPECT_EQ(step(executor, executor.open(), {1}).token, 3);
}

TEST(ScriptedExecutor, TakesItsTimeForATokenOnly) {
  using Clock = std::chrono::steady_clock;
  ScriptedExecutor executor(
      {.vocab = kVocab, .end = kEnd, .delay = std::chrono::milliseconds(200)});
  const SequenceId sequence = executor.open();
  const Tokens chunk = {1, 2};
  const Row prefill{.sequence = sequence, .tokens = chunk, .logits_from = 2};
  auto start = Clock::now();
  executor.submit({&prefill, 1});
  executor.collect();
  EXPECT_LT(Clock::now() - start, std::chrono::milliseconds(200));
  start = Clock::now();
  step(executor, sequence, {1});
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(200));
}

TEST(ScriptedExecutor, TheEndTokenMustBeInTheVocabulary) {
  expect_error(ErrorCode::InvalidArgument, "an end token of 0 to 7, got 8",
               [] { ScriptedExecutor(kVocab, {}, 8); });
}

}  // namespace
}  // namespace emlx
