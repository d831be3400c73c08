// What every executor refuses, and how rows are read: the part of the Executor contract that no
// hardware changes.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/error.h"
#include "models/executor.h"

namespace emlx {

// Positions a sequence may hold: `wanted`, or all that the model can for 0. Throws
// Error(InvalidArgument) for what lies outside.
int checked_context(int wanted, int limit);

// Tokens the row feeds: 1 if it feeds a sampled one.
int fed_tokens(const Row& row);

// The first fed token whose logits the row needs, for the host or for the argmax; fed_tokens(row):
// none.
int first_wanted(const Row& row);

// What the checks need to know of a sequence.
struct SequenceState {
  int length = 0;
  bool sampled = false;  // a token chosen on the device waits to be fed
  bool failed = false;
};

// All checks throw Error and change nothing: InvalidArgument, or ContextLength where the tokens do
// not fit.

// A step of these rows behind `in_flight` others. `state_of` throws for an unknown sequence.
void check_step(std::span<const Row> rows, std::size_t in_flight, int vocab,
                const ExecutorCapacity& capacity,
                const std::function<SequenceState(SequenceId)>& state_of);

// `action` ("fork", "truncate") of a sequence at `length` positions.
void check_prefix(const char* action, SequenceId sequence, const SequenceState& state, int length);

// The sequence in a map of them (const if that is); throws if it is unknown.
auto& find_sequence(auto& sequences, SequenceId sequence) {
  const auto found = sequences.find(sequence);
  if (found == sequences.end()) fail(ErrorCode::InvalidArgument, "unknown sequence {}", sequence);
  return found->second;
}

}  // namespace emlx
