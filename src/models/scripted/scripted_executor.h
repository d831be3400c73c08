// An executor without a model: it says what it was told to say.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "models/executor.h"
#include "models/row_check.h"

namespace emlx {

// In place of a token in a script: logits that are all NaN; a step that fails (collect throws).
inline constexpr TokenId kNanLogits = -1;
inline constexpr TokenId kFailure = -2;

struct ScriptedOptions {
  int vocab = 0;
  // The script of the n-th sequence to be opened or forked, from 0.
  std::function<std::vector<TokenId>(int n)> script;
  TokenId end = 0;                       // said after the end of a script
  std::chrono::microseconds delay = {};  // that a step with logits takes, in collect
  int context = 4096;
  int sequences = 4;
  int step_tokens = 2048;
  int step_rows = 4;
  int max_in_flight = 2;
};

// Lets engine and server be tested exactly, and clients without a model. The first position of a
// sequence whose logits are asked for has the script's first token, the next position the second,
// and so on, whatever was fed; so a truncated sequence repeats itself. Logits are 10 for the
// scripted token and 0 elsewhere. Follows the Executor contract in all else, one byte of KV a
// position.
class ScriptedExecutor final : public Executor {
 public:
  // Throws Error(InvalidArgument) for a vocabulary that lacks `end`.
  explicit ScriptedExecutor(ScriptedOptions options);
  // Every sequence has the same script.
  ScriptedExecutor(int vocab, std::vector<TokenId> script, TokenId end);

  SequenceId open() override;
  SequenceId fork(SequenceId sequence, int length) override;
  void truncate(SequenceId sequence, int length) override;
  void close(SequenceId sequence) override;
  int length(SequenceId sequence) const override;

  void submit(std::span<const Row> rows) override;
  std::span<const RowResult> collect() override;

  int vocab() const override { return options_.vocab; }
  ExecutorInfo info() const override;
  ExecutorCapacity capacity() const override;
  ExecutorMemory memory() const override;

 private:
  struct Sequence : SequenceState {
    std::vector<TokenId> script;
    std::optional<int> script_start;  // the position of the script's first token
  };
  struct Step {
    std::vector<SequenceId> sequences;
    std::vector<std::vector<float>> logits;  // a row each
    std::vector<RowResult> results;
    bool speaks = false;  // some row has logits
    bool fails = false;
  };

  void run(const Row& row, Step& step);
  TokenId scripted(const Sequence& sequence, int position) const;

  ScriptedOptions options_;
  std::map<SequenceId, Sequence> sequences_;
  SequenceId next_id_ = 0;
  std::deque<Step> in_flight_;
  std::deque<Step> collected_;  // since the last submit: their results are still valid
};

}  // namespace emlx
