#include "models/mlx/mlx_executor.h"

#include <mlx/device.h>
#include <mlx/memory.h>
#include <mlx/ops.h>
#include <mlx/stream.h>
#include <mlx/transforms.h>

#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "models/mlx/mlx_decoder.h"
#include "models/row_check.h"

namespace emlx {
namespace {

constexpr int kStepTokens = 2048;  // mlx_lm's prefill_step_size
constexpr int kSequences = 4;
constexpr int kMaxInFlight = 2;
constexpr int kClearCacheSteps = 256;  // as mlx_lm: MLX keeps freed buffers until told to drop them

// Whether the compute dtype is not the file's own: mlx_lm has one to be compared in only after
// set_dtype or a conversion, which cast as we do.
bool is_chosen(ComputeDType wanted, const Matrix& embedding) {
  return wanted != ComputeDType::Auto || mx::default_device() == mx::Device::cpu ||
         embedding.encoding == MatrixEncoding::GgufBlock;
}

mx::Dtype compute_dtype(ComputeDType wanted, const Matrix& embedding) {
  switch (wanted) {
    case ComputeDType::Float32:
      return mx::float32;
    case ComputeDType::BFloat16:
      return mx::bfloat16;
    case ComputeDType::Float16:
      return mx::float16;
    case ComputeDType::Auto:
      break;
  }
  if (mx::default_device() == mx::Device::cpu) return mx::float32;
  if (embedding.encoding == MatrixEncoding::GgufBlock) return mx::float16;
  switch (embedding.dtype) {
    case DType::BF16:
      return mx::bfloat16;
    case DType::F16:
      return mx::float16;
    default:
      return mx::float32;
  }
}

const char* dtype_name(mx::Dtype dtype) {
  if (dtype == mx::bfloat16) return "bfloat16";
  return dtype == mx::float16 ? "float16" : "float32";
}

struct Sequence {
  MlxSequenceCache cache;
  std::optional<mx::array> sampled;  // [1] U32: what the last step chose on the device
  bool failed = false;

  int length() const { return cache.empty() ? 0 : cache.front().length(); }
  SequenceState state() const { return {length(), sampled.has_value(), failed}; }
};

using Sequences = std::map<SequenceId, Sequence>;

// A step that was submitted; kept until the submit after its collect.
struct Step {
  SequenceId sequence = 0;
  std::optional<mx::array> logits;          // [wanted, vocab] float32
  std::optional<mx::array> token, logprob;  // [1] U32, [1] float32
  std::optional<std::string> error;         // what building or scheduling it threw
  RowResult result;
};

class MlxExecutor final : public Executor {
 public:
  MlxExecutor(const Model& model, const ExecutorOptions& options)
      : spec_(model.spec),
        context_(checked_context(options.context, model.spec.max_positions)),
        dtype_(compute_dtype(options.dtype, model.weights.embedding)),
        decoder_(model.spec, load_mlx_weights(model.weights, dtype_)),
        exact_(!decoder_.weights_were_cast() || is_chosen(options.dtype, model.weights.embedding)) {
  }

  SequenceId open() override;
  SequenceId fork(SequenceId sequence, int length) override;
  void truncate(SequenceId sequence, int length) override;
  void close(SequenceId sequence) override;
  int length(SequenceId sequence) const override {
    return find_sequence(sequences_, sequence).length();
  }

  void submit(std::span<const Row> rows) override;
  std::span<const RowResult> collect() override;

  int vocab() const override { return spec_.vocab; }
  ExecutorInfo info() const override;
  ExecutorCapacity capacity() const override;
  ExecutorMemory memory() const override;

 private:
  void build(const Row& row, Sequence& sequence, Step& step) const;
  static void finish(Step& step);

  DecoderSpec spec_;
  int context_;
  mx::Dtype dtype_;
  MlxDecoder decoder_;
  bool exact_;
  Sequences sequences_;
  SequenceId next_id_ = 0;
  std::deque<Step> in_flight_;
  std::deque<Step> collected_;  // since the last submit: their results are still valid
  int collected_steps_ = 0;
};

SequenceId MlxExecutor::open() {
  if (sequences_.size() == kSequences) {
    fail(ErrorCode::Busy, "all {} sequences are open", kSequences);
  }
  const SequenceId id = next_id_++;
  sequences_[id].cache.resize(static_cast<std::size_t>(spec_.layers));
  return id;
}

SequenceId MlxExecutor::fork(SequenceId sequence, int length) {
  const Sequence& parent = find_sequence(sequences_, sequence);
  check_prefix("fork", sequence, parent.state(), length);
  MlxSequenceCache cache;
  for (const MlxKvCache& layer : parent.cache) cache.push_back(layer.fork(length));
  const SequenceId id = open();
  sequences_[id].cache = std::move(cache);
  return id;
}

void MlxExecutor::truncate(SequenceId sequence, int length) {
  Sequence& s = find_sequence(sequences_, sequence);
  check_prefix("truncate", sequence, s.state(), length);
  for (MlxKvCache& layer : s.cache) layer.truncate(length);
  s.sampled.reset();
}

void MlxExecutor::close(SequenceId sequence) {
  find_sequence(sequences_, sequence);
  sequences_.erase(sequence);
  mx::clear_cache();
}

// Adds the row to the graph and schedules it. Where no logits are wanted only the cache is
// evaluated, so the last layer's MLP, the final norm and the head never run.
void MlxExecutor::build(const Row& row, Sequence& sequence, Step& step) const {
  const int fed = fed_tokens(row);
  const mx::array tokens = row.tokens.empty() ? mx::reshape(*sequence.sampled, {1, 1})
                                              : mx::array(row.tokens.data(), {1, fed}, mx::int32);
  sequence.sampled.reset();
  const mx::array hidden = decoder_.forward(tokens, sequence.cache);

  std::vector<mx::array> wanted;
  const int from = first_wanted(row);
  if (from == fed) {
    for (const MlxKvCache& layer : sequence.cache) layer.collect(wanted);
    mx::async_eval(std::move(wanted));
    return;
  }
  const mx::array logits = decoder_.logits(mx::slice(hidden, {0, from, 0}, {1, fed, spec_.hidden}));
  if (row.fetch_logits && row.logits_from < fed) {
    step.logits = mx::contiguous(
        mx::astype(mx::slice(logits, {0, row.logits_from - from, 0}, {1, fed - from, spec_.vocab}),
                   mx::float32));
    wanted.push_back(*step.logits);
  }
  if (row.greedy) {
    const mx::array last =
        mx::squeeze(mx::slice(logits, {0, fed - from - 1, 0}, {1, fed - from, spec_.vocab}), 1);
    // The subtraction rounds in the model's dtype and makes ties that the lowest index wins: the
    // argmax of the logits alone would be another token.
    const mx::array logprobs = mx::subtract(last, mx::logsumexp(last, /*keepdims=*/true));
    step.token = mx::argmax(logprobs, -1);
    step.logprob =
        mx::astype(mx::take_along_axis(logprobs, mx::expand_dims(*step.token, 1), 1), mx::float32);
    sequence.sampled = step.token;
    wanted.push_back(*step.token);
    wanted.push_back(*step.logprob);
  }
  mx::async_eval(std::move(wanted));
}

void MlxExecutor::submit(std::span<const Row> rows) {
  check_step(rows, in_flight_.size(), spec_.vocab, capacity(),
             [this](SequenceId id) { return find_sequence(sequences_, id).state(); });
  const Row& row = rows.front();
  Sequence& sequence = sequences_.at(row.sequence);

  collected_.clear();
  Step& step = in_flight_.emplace_back();
  step.sequence = row.sequence;
  try {
    build(row, sequence, step);
  } catch (const std::exception& error) {
    step.error = error.what();
    sequence.failed = true;
  }
}

// Waits for the step and reads its results.
void MlxExecutor::finish(Step& step) {
  if (step.error) fail(ErrorCode::Internal, "MLX: {}", *step.error);
  if (step.logits) {
    step.logits->eval();
    step.result.logits = {step.logits->data<float>(), step.logits->size()};
  }
  if (step.token) {
    step.result.token = static_cast<TokenId>(step.token->item<std::uint32_t>());
    step.result.logprob = step.logprob->item<float>();
  }
  if (!step.logits && !step.token) mx::synchronize();
}

std::span<const RowResult> MlxExecutor::collect() {
  if (in_flight_.empty()) fail(ErrorCode::InvalidArgument, "no step is in flight");
  Step& step = collected_.emplace_back(std::move(in_flight_.front()));
  in_flight_.pop_front();
  try {
    finish(step);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    if (const auto found = sequences_.find(step.sequence); found != sequences_.end()) {
      found->second.failed = true;
    }
    // Steps behind this one have nothing to stand on.
    for (Step& behind : in_flight_) {
      if (behind.sequence == step.sequence) behind.error = error.what();
    }
    fail(ErrorCode::Internal, "MLX: {}", error.what());
  }
  const bool prefill = !step.logits && !step.token;
  if (prefill || ++collected_steps_ % kClearCacheSteps == 0) mx::clear_cache();
  return {&step.result, 1};
}

ExecutorInfo MlxExecutor::info() const {
  return {.backend = "mlx",
          .device = mx::default_device() == mx::Device::gpu ? "gpu" : "cpu",
          .dtype = dtype_name(dtype_),
          .kv_dtype = dtype_name(dtype_),
          .exact = exact_};
}

ExecutorCapacity MlxExecutor::capacity() const {
  return {.context = context_,
          .sequences = kSequences,
          .step_tokens = kStepTokens,
          .step_rows = 1,
          .max_in_flight = kMaxInFlight};
}

ExecutorMemory MlxExecutor::memory() const {
  ExecutorMemory memory;
  memory.weights = decoder_.weight_bytes();
  for (const auto& [id, sequence] : sequences_) {
    for (const MlxKvCache& layer : sequence.cache) memory.kv_used += layer.bytes();
  }
  memory.kv_capacity = std::size_t{2} * mx::size_of(dtype_) * spec_.layers * spec_.kv_heads *
                       spec_.head_dim * MlxKvCache::max_positions(context_) * kSequences;
  return memory;
}

}  // namespace

std::unique_ptr<Executor> make_mlx_executor(const std::shared_ptr<const Model>& model,
                                            const ExecutorOptions& options) {
  if (options.threads != 0) {
    log(LogLevel::Warning, "threads: {} has no effect, MLX offers no such setting",
        options.threads);
  }
  return std::make_unique<MlxExecutor>(*model, options);
}

bool mlx_has_gpu() {
  return mx::default_device() == mx::Device::gpu;
}

}  // namespace emlx
