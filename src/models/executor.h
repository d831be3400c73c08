// The only thing the engine knows of the hardware.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/token_id.h"

namespace emlx {

using SequenceId = std::int32_t;

// One sequence's part of a step.
struct Row {
  SequenceId sequence = 0;
  std::span<const TokenId>
      tokens;  // empty: feed what this sequence sampled on the device in the step before
  int logits_from =
      0;  // first fed token whose logits are wanted; tokens.size() (or 1 if empty): none
  bool greedy = false;        // argmax of the last fed token's logits on the device
  bool fetch_logits = false;  // bring the wanted logits to the host
};

struct RowResult {
  std::span<const float> logits;  // [wanted, vocab] if fetched, else empty; widened to float32
                                  // without loss; valid until the next submit
  TokenId token = -1;             // greedy: the chosen token
  float logprob = 0.0F;           // greedy: its log-probability
};

struct ExecutorInfo {
  std::string backend;   // "mlx", "scripted"
  std::string device;    // "cpu", "gpu"
  std::string dtype;     // of activations: "float32", "bfloat16", "float16"
  std::string kv_dtype;  // these or "int8"
  bool exact = false;    // bit-equal to mlx_lm on the same device and dtype
};

struct ExecutorCapacity {
  int context = 0;        // positions one sequence can hold
  int sequences = 0;      // sequences open at once
  int step_tokens = 0;    // tokens one row may feed
  int step_rows = 0;      // rows a step takes
  int max_in_flight = 0;  // steps submitted and not yet collected
};

struct ExecutorMemory {
  std::size_t weights = 0;      // bytes
  std::size_t kv_used = 0;      // bytes
  std::size_t kv_capacity = 0;  // bytes this executor may use for KV in all
};

// Owns the weights and all KV memory, and advances sequences by one step. Constructed, called and
// destroyed on the engine thread only. Misuse (unknown sequence, too many tokens, a full context)
// throws Error and leaves all sequences as they were; a failure inside a step throws from
// collect(), after which the sequences of that step can only be closed.
class Executor {
 public:
  virtual ~Executor() = default;

  virtual SequenceId open() = 0;  // an empty sequence; Error(Busy) if none is free
  // A new sequence that starts with the first `length` positions of `sequence`.
  virtual SequenceId fork(SequenceId sequence, int length) = 0;
  virtual void truncate(SequenceId sequence,
                        int length) = 0;  // drops the positions from `length` on
  virtual void close(SequenceId sequence) = 0;
  virtual int length(
      SequenceId sequence) const = 0;  // positions fed so far, submitted steps included

  // Enqueues a step. Spans in `rows` need only live until it returns.
  virtual void submit(std::span<const Row> rows) = 0;
  // Waits for the oldest submitted step; results in the order of its rows, valid until the next
  // submit.
  virtual std::span<const RowResult> collect() = 0;

  virtual int vocab() const = 0;
  virtual ExecutorInfo info() const = 0;
  virtual ExecutorCapacity capacity() const = 0;
  virtual ExecutorMemory memory() const = 0;
};

}  // namespace emlx
