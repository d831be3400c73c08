#include "models/scripted/scripted_executor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>

#include "base/error.h"
#include "models/row_check.h"

namespace emlx {
namespace {

constexpr float kScriptedLogit = 10.0F;

}  // namespace

ScriptedExecutor::ScriptedExecutor(ScriptedOptions options) : options_(std::move(options)) {
  if (options_.end < 0 || options_.end >= options_.vocab)
    fail(ErrorCode::InvalidArgument, "expected an end token of 0 to {}, got {}", options_.vocab - 1,
         options_.end);
}

ScriptedExecutor::ScriptedExecutor(int vocab, std::vector<TokenId> script, TokenId end)
    : ScriptedExecutor(
          ScriptedOptions{.vocab = vocab,
                          .script = [script = std::move(script)](int) { return script; },
                          .end = end}) {}

SequenceId ScriptedExecutor::open() {
  if (sequences_.size() >= static_cast<std::size_t>(options_.sequences))
    fail(ErrorCode::Busy, "all {} sequences are open", options_.sequences);
  const SequenceId id = next_id_++;
  Sequence& sequence = sequences_[id];
  sequence.script = options_.script ? options_.script(id) : std::vector<TokenId>();
  return id;
}

SequenceId ScriptedExecutor::fork(SequenceId sequence, int length) {
  check_prefix("fork", sequence, find_sequence(sequences_, sequence), length);
  const SequenceId id = open();
  sequences_[id].length = length;
  return id;
}

void ScriptedExecutor::truncate(SequenceId sequence, int length) {
  Sequence& target = find_sequence(sequences_, sequence);
  check_prefix("truncate", sequence, target, length);
  target.length = length;
  target.sampled = false;
  if (target.script_start && length <= *target.script_start) target.script_start.reset();
}

void ScriptedExecutor::close(SequenceId sequence) {
  find_sequence(sequences_, sequence);
  sequences_.erase(sequence);
}

int ScriptedExecutor::length(SequenceId sequence) const {
  return find_sequence(sequences_, sequence).length;
}

TokenId ScriptedExecutor::scripted(const Sequence& sequence, int position) const {
  const auto index = static_cast<std::size_t>(position - *sequence.script_start);
  return index < sequence.script.size() ? sequence.script[index] : options_.end;
}

void ScriptedExecutor::run(const Row& row, Step& step) {
  Sequence& sequence = find_sequence(sequences_, row.sequence);
  const int start = sequence.length;
  const int fed = fed_tokens(row);
  const int wanted = first_wanted(row);
  const auto vocab = static_cast<std::size_t>(options_.vocab);
  sequence.length += fed;
  sequence.sampled = row.greedy;
  step.sequences.push_back(row.sequence);
  std::vector<float>& logits = step.logits.emplace_back();
  RowResult& result = step.results.emplace_back();
  if (wanted < fed && !sequence.script_start) sequence.script_start = start + wanted;
  for (int i = wanted; i < fed; ++i) {
    const TokenId token = scripted(sequence, start + i);
    const bool nan = token == kNanLogits;
    step.speaks = true;
    step.fails = step.fails || token == kFailure;
    if (row.fetch_logits && i >= row.logits_from) {
      logits.resize(logits.size() + vocab, nan ? std::numeric_limits<float>::quiet_NaN() : 0.0F);
      if (token >= 0) *(logits.end() - options_.vocab + token) = kScriptedLogit;
    }
    if (row.greedy && i == fed - 1) {
      const double sum = std::exp(double{kScriptedLogit}) + options_.vocab - 1;
      result.token = std::max(token, 0);
      result.logprob = nan ? std::numeric_limits<float>::quiet_NaN()
                           : static_cast<float>(kScriptedLogit - std::log(sum));
    }
  }
}

void ScriptedExecutor::submit(std::span<const Row> rows) {
  check_step(rows, in_flight_.size(), options_.vocab, capacity(),
             [this](SequenceId id) -> SequenceState { return find_sequence(sequences_, id); });
  collected_.clear();
  Step& step = in_flight_.emplace_back();
  for (const Row& row : rows) run(row, step);
  for (std::size_t i = 0; i < rows.size(); ++i) step.results[i].logits = step.logits[i];
}

std::span<const RowResult> ScriptedExecutor::collect() {
  if (in_flight_.empty()) fail(ErrorCode::InvalidArgument, "no step is in flight");
  Step& step = collected_.emplace_back(std::move(in_flight_.front()));
  in_flight_.pop_front();
  if (step.speaks) std::this_thread::sleep_for(options_.delay);
  // A step behind a failed one has nothing to stand on.
  const auto failed = [this](SequenceId id) {
    const auto sequence = sequences_.find(id);
    return sequence != sequences_.end() && sequence->second.failed;
  };
  if (!step.fails && std::none_of(step.sequences.begin(), step.sequences.end(), failed))
    return step.results;
  for (const SequenceId id : step.sequences)
    if (const auto sequence = sequences_.find(id); sequence != sequences_.end())
      sequence->second.failed = true;
  fail(ErrorCode::Internal, "the script says that this step fails");
}

ExecutorInfo ScriptedExecutor::info() const {
  return {.backend = "scripted",
          .device = "cpu",
          .dtype = "float32",
          .kv_dtype = "float32",
          .exact = true};
}

ExecutorCapacity ScriptedExecutor::capacity() const {
  return {.context = options_.context,
          .sequences = options_.sequences,
          .step_tokens = options_.step_tokens,
          .step_rows = options_.step_rows,
          .max_in_flight = options_.max_in_flight};
}

ExecutorMemory ScriptedExecutor::memory() const {
  ExecutorMemory memory;
  for (const auto& [id, sequence] : sequences_)
    memory.kv_used += static_cast<std::size_t>(sequence.length);
  memory.kv_capacity =
      static_cast<std::size_t>(options_.context) * static_cast<std::size_t>(options_.sequences);
  return memory;
}

}  // namespace emlx
