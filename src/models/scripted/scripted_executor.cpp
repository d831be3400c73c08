#include "models/scripted/scripted_executor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <thread>
#include <utility>

#include "base/error.h"

namespace emlx {
namespace {

constexpr float kScriptedLogit = 10.0F;

int fed_tokens(const Row& row) {
  return row.tokens.empty() ? 1 : static_cast<int>(row.tokens.size());
}

// The first fed token whose logits the row needs; fed_tokens if none.
int first_wanted(const Row& row) {
  const int fed = fed_tokens(row);
  return std::min(row.fetch_logits ? row.logits_from : fed, row.greedy ? fed - 1 : fed);
}

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

const ScriptedExecutor::Sequence& ScriptedExecutor::find(SequenceId sequence) const {
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) fail(ErrorCode::InvalidArgument, "unknown sequence {}", sequence);
  return found->second;
}

ScriptedExecutor::Sequence& ScriptedExecutor::find(SequenceId sequence) {
  return const_cast<Sequence&>(std::as_const(*this).find(sequence));
}

SequenceId ScriptedExecutor::open() {
  if (sequences_.size() >= static_cast<std::size_t>(options_.sequences))
    fail(ErrorCode::Busy, "all {} sequences are open", options_.sequences);
  const SequenceId id = next_id_++;
  Sequence& sequence = sequences_[id];
  sequence.script = options_.script ? options_.script(id) : std::vector<TokenId>();
  return id;
}

SequenceId ScriptedExecutor::fork(SequenceId sequence, int length) {
  const int parent = find(sequence).length;
  if (length < 0 || length > parent)
    fail(ErrorCode::InvalidArgument, "fork: expected 0 to {} positions, got {}", parent, length);
  const SequenceId id = open();
  find(id).length = length;
  return id;
}

void ScriptedExecutor::truncate(SequenceId sequence, int length) {
  Sequence& target = find(sequence);
  if (length < 0 || length > target.length)
    fail(ErrorCode::InvalidArgument, "truncate: expected 0 to {} positions, got {}", target.length,
         length);
  target.length = length;
  target.sampled = false;
  if (target.script_start && length <= *target.script_start) target.script_start.reset();
}

void ScriptedExecutor::close(SequenceId sequence) {
  find(sequence);
  sequences_.erase(sequence);
}

void ScriptedExecutor::check(const Row& row) const {
  const Sequence& sequence = find(row.sequence);
  const int fed = fed_tokens(row);
  if (sequence.failed)
    fail(ErrorCode::InvalidArgument, "sequence {} failed in an earlier step", row.sequence);
  if (row.tokens.empty() && !sequence.sampled)
    fail(ErrorCode::InvalidArgument, "sequence {} has no sampled token to feed", row.sequence);
  if (row.tokens.size() > static_cast<std::size_t>(options_.step_tokens))
    fail(ErrorCode::InvalidArgument, "expected at most {} tokens a row, got {}",
         options_.step_tokens, row.tokens.size());
  if (fed > options_.context - sequence.length)
    fail(ErrorCode::ContextLength, "sequence {}: {} more tokens do not fit: {} of {} used",
         row.sequence, fed, sequence.length, options_.context);
  if (row.logits_from < 0 || row.logits_from > fed)
    fail(ErrorCode::InvalidArgument, "logits_from: expected 0 to {}, got {}", fed, row.logits_from);
  for (const TokenId token : row.tokens)
    if (token < 0 || token >= options_.vocab)
      fail(ErrorCode::InvalidArgument, "token: expected 0 to {}, got {}", options_.vocab - 1,
           token);
}

TokenId ScriptedExecutor::scripted(const Sequence& sequence, int position) const {
  const auto index = static_cast<std::size_t>(position - *sequence.script_start);
  return index < sequence.script.size() ? sequence.script[index] : options_.end;
}

void ScriptedExecutor::run(const Row& row, Step& step) {
  Sequence& sequence = find(row.sequence);
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
  if (rows.empty() || rows.size() > static_cast<std::size_t>(options_.step_rows))
    fail(ErrorCode::InvalidArgument, "expected 1 to {} rows a step, got {}", options_.step_rows,
         rows.size());
  if (in_flight_.size() >= static_cast<std::size_t>(options_.max_in_flight))
    fail(ErrorCode::InvalidArgument, "expected at most {} steps in flight", options_.max_in_flight);
  std::set<SequenceId> seen;
  for (const Row& row : rows) {
    check(row);
    if (!seen.insert(row.sequence).second)
      fail(ErrorCode::InvalidArgument, "sequence {} has two rows in a step", row.sequence);
  }
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
  return {.backend = "scripted", .device = "cpu", .dtype = "float32", .exact = true};
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
