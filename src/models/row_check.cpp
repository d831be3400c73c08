#include "models/row_check.h"

#include <algorithm>

namespace emlx {
namespace {

void check_sound(SequenceId sequence, const SequenceState& state) {
  if (state.failed)
    fail(ErrorCode::InvalidArgument, "sequence {} failed in an earlier step", sequence);
}

void check_row(const Row& row, const SequenceState& state, int vocab,
               const ExecutorCapacity& capacity) {
  check_sound(row.sequence, state);
  if (row.tokens.empty() && !state.sampled)
    fail(ErrorCode::InvalidArgument, "sequence {} has no sampled token to feed", row.sequence);
  if (row.tokens.size() > static_cast<std::size_t>(capacity.step_tokens))
    fail(ErrorCode::InvalidArgument, "expected at most {} tokens a row, got {}",
         capacity.step_tokens, row.tokens.size());
  const int fed = fed_tokens(row);
  if (fed > capacity.context - state.length)
    fail(ErrorCode::ContextLength, "sequence {}: {} more tokens do not fit: {} of {} used",
         row.sequence, fed, state.length, capacity.context);
  if (row.logits_from < 0 || row.logits_from > fed)
    fail(ErrorCode::InvalidArgument, "logits_from: expected 0 to {}, got {}", fed, row.logits_from);
  for (const TokenId token : row.tokens)
    if (token < 0 || token >= vocab)
      fail(ErrorCode::InvalidArgument, "token: expected 0 to {}, got {}", vocab - 1, token);
}

}  // namespace

int checked_context(int wanted, int limit) {
  if (wanted < 0 || wanted > limit)
    fail(ErrorCode::InvalidArgument, "context: expected 1 to {} (the model's limit), got {}", limit,
         wanted);
  return wanted == 0 ? limit : wanted;
}

int fed_tokens(const Row& row) {
  return row.tokens.empty() ? 1 : static_cast<int>(row.tokens.size());
}

int first_wanted(const Row& row) {
  const int fed = fed_tokens(row);
  return std::min(row.fetch_logits ? row.logits_from : fed, row.greedy ? fed - 1 : fed);
}

void check_step(std::span<const Row> rows, std::size_t in_flight, int vocab,
                const ExecutorCapacity& capacity,
                const std::function<SequenceState(SequenceId)>& state_of) {
  if (rows.empty() || rows.size() > static_cast<std::size_t>(capacity.step_rows))
    fail(ErrorCode::InvalidArgument, "expected 1 to {} rows a step, got {}", capacity.step_rows,
         rows.size());
  if (in_flight >= static_cast<std::size_t>(capacity.max_in_flight))
    fail(ErrorCode::InvalidArgument, "expected at most {} steps in flight", capacity.max_in_flight);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    check_row(row, state_of(row.sequence), vocab, capacity);
    for (const Row& earlier : rows.first(i))
      if (earlier.sequence == row.sequence)
        fail(ErrorCode::InvalidArgument, "sequence {} has two rows in a step", row.sequence);
  }
}

void check_prefix(const char* action, SequenceId sequence, const SequenceState& state, int length) {
  check_sound(sequence, state);
  if (length < 0 || length > state.length)
    fail(ErrorCode::InvalidArgument, "{}: expected 0 to {} positions, got {}", action, state.length,
         length);
}

}  // namespace emlx
