#include "models/row_check.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "formats/test_support.h"

namespace emlx {
namespace {

constexpr int kVocab = 8;
constexpr ExecutorCapacity kCapacity = {
    .context = 10, .sequences = 4, .step_tokens = 3, .step_rows = 2, .max_in_flight = 2};

const std::vector<TokenId> kTwo = {0, 7}, kFour = {1, 1, 1, 1}, kLow = {1, -1}, kHigh = {1, 8};

// Sequences: 0 empty, 1 with a sampled token, 2 nearly full, 3 failed; no other.
SequenceState state_of(SequenceId sequence) {
  static const std::map<SequenceId, SequenceState> states = {
      {0, {}}, {1, {.length = 4, .sampled = true}}, {2, {.length = 9}}, {3, {.failed = true}}};
  return find_sequence(states, sequence);
}

void check(const std::vector<Row>& rows, std::size_t in_flight = 0) {
  check_step(rows, in_flight, kVocab, kCapacity, state_of);
}

void expect_refused(const std::vector<Row>& rows, std::string_view part,
                    ErrorCode code = ErrorCode::InvalidArgument) {
  expect_error(code, part, [&] { check(rows); });
}

TEST(RowCheck, TakesWhatFits) {
  EXPECT_NO_THROW(check({{.sequence = 0, .tokens = kTwo}}));
  EXPECT_NO_THROW(check({{.sequence = 0, .tokens = kTwo, .logits_from = 2}}, 1));
  EXPECT_NO_THROW(check({{.sequence = 1, .logits_from = 1}, {.sequence = 0, .tokens = kTwo}}));
  EXPECT_NO_THROW(check({{.sequence = 2, .tokens = {kTwo.data(), 1}}}));
}

TEST(RowCheck, AStepHoldsItsLimits) {
  expect_refused({}, "1 to 2 rows a step, got 0");
  const Row row = {.sequence = 0, .tokens = kTwo};
  expect_refused({row, row, row}, "1 to 2 rows a step, got 3");
  expect_refused({row, row}, "sequence 0 has two rows");
  expect_error(ErrorCode::InvalidArgument, "at most 2 steps in flight", [&] { check({row}, 2); });
}

TEST(RowCheck, ASequenceMustBeKnownAndSound) {
  expect_refused({{.sequence = 4, .tokens = kTwo}}, "unknown sequence 4");
  expect_refused({{.sequence = 3, .tokens = kTwo}}, "sequence 3 failed in an earlier step");
}

TEST(RowCheck, EveryRowIsChecked) {
  const Row good = {.sequence = 1, .tokens = kTwo};
  expect_refused({good, {.sequence = 0}}, "sequence 0 has no sampled token");
  expect_refused({good, {.sequence = 0, .tokens = kFour}}, "at most 3 tokens a row, got 4");
  expect_refused({good, {.sequence = 0, .tokens = kLow}}, "token: expected 0 to 7, got -1");
  expect_refused({good, {.sequence = 0, .tokens = kHigh}}, "token: expected 0 to 7, got 8");
  expect_refused({good, {.sequence = 0, .tokens = kTwo, .logits_from = -1}},
                 "logits_from: expected 0 to 2, got -1");
  expect_refused({{.sequence = 1, .logits_from = 2}}, "logits_from: expected 0 to 1, got 2");
  expect_refused({good, {.sequence = 2, .tokens = kTwo}}, "2 more tokens do not fit: 9 of 10 used",
                 ErrorCode::ContextLength);
}

TEST(RowCheck, APrefixIsOfASoundSequenceAndNoLonger) {
  EXPECT_NO_THROW(check_prefix("fork", 1, state_of(1), 0));
  EXPECT_NO_THROW(check_prefix("fork", 1, state_of(1), 4));
  for (const int length : {-1, 5})
    expect_error(ErrorCode::InvalidArgument,
                 fmt::format("fork: expected 0 to 4 positions, got {}", length),
                 [&] { check_prefix("fork", 1, state_of(1), length); });
  expect_error(ErrorCode::InvalidArgument, "sequence 3 failed",
               [] { check_prefix("truncate", 3, state_of(3), 0); });
}

TEST(RowCheck, KnowsWhichLogitsARowNeeds) {
  const Row none = {.tokens = kFour, .logits_from = 1};
  EXPECT_EQ(fed_tokens(none), 4);
  EXPECT_EQ(first_wanted(none), 4);
  EXPECT_EQ(first_wanted({.tokens = kFour, .logits_from = 1, .fetch_logits = true}), 1);
  EXPECT_EQ(first_wanted({.tokens = kFour, .logits_from = 4, .fetch_logits = true}), 4);
  EXPECT_EQ(first_wanted({.tokens = kFour, .greedy = true}), 3);
  EXPECT_EQ(first_wanted({.tokens = kFour, .logits_from = 4, .greedy = true, .fetch_logits = true}),
            3);
  EXPECT_EQ(fed_tokens({}), 1);
  EXPECT_EQ(first_wanted({.greedy = true}), 0);
}

TEST(RowCheck, AContextIsTheModelsOrLess) {
  EXPECT_EQ(checked_context(0, 512), 512);
  EXPECT_EQ(checked_context(512, 512), 512);
  EXPECT_EQ(checked_context(1, 512), 1);
  for (const int wanted : {-1, 513})
    expect_error(ErrorCode::InvalidArgument, "context: expected 1 to 512",
                 [&] { checked_context(wanted, 512); });
}

}  // namespace
}  // namespace emlx
