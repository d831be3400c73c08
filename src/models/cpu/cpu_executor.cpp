#include "models/cpu/cpu_executor.h"

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "kernels/worker_pool.h"
#include "models/cpu/cpu_decoder.h"
#include "models/cpu/kv_pool.h"
#include "models/row_check.h"

namespace emlx {
namespace {

constexpr int kSequences = 64;
constexpr int kStepRows = 64;
constexpr int kFullContexts = 4;  // KV memory by default: so many sequences of the whole context
constexpr double kMaxBlocks = 1e8;
constexpr double kKvShare = 0.5;  // at most, of the memory that is left

struct Sequence {
  explicit Sequence(KvPool& pool) : kv(pool) {}
  KvSequence kv;
  std::optional<TokenId> sampled;
  bool failed = false;

  SequenceState state() const { return {kv.length(), sampled.has_value(), failed}; }
};

using Sequences = std::map<SequenceId, Sequence>;

int checked_threads(int wanted) {
  if (wanted < 0 || wanted > kMaxThreads)
    fail(ErrorCode::InvalidArgument, "threads: expected 1 to {}, got {}", kMaxThreads, wanted);
  return wanted == 0 ? std::min(physical_cores(), kMaxThreads) : wanted;
}

KvKind kv_kind(int bits) {
  switch (bits) {
    case 0:
    case 16:
      return KvKind::F16;
    case 32:
      return KvKind::F32;
    case 8:
      return KvKind::I8;
    default:
      fail(ErrorCode::InvalidArgument, "KV bits: expected 8, 16 or 32, got {}", bits);
  }
}

const char* kv_name(KvKind kind) {
  return kind == KvKind::F16 ? "float16" : kind == KvKind::F32 ? "float32" : "int8";
}

// Blocks and context of the KV pool, within the memory there is.
struct KvPlan {
  int context, blocks;
};

KvPlan plan_kv(const ExecutorOptions& options, int limit, std::size_t block_bytes) {
  const int context = checked_context(options.context, limit);
  const auto blocks_of = [](int positions) { return (positions + kKvBlock - 1) / kKvBlock; };
  const std::size_t available = available_memory();
  const bool told = options.kv_memory != 0;
  if (told && available != 0 && options.kv_memory > available)
    fail(ErrorCode::Busy, "{:.1f} MB of KV memory were asked for, {:.1f} MB are available",
         static_cast<double>(options.kv_memory) / 1e6, static_cast<double>(available) / 1e6);
  const double share =
      told ? static_cast<double>(options.kv_memory) : kKvShare * static_cast<double>(available);
  const double fit =
      !told && available == 0 ? kMaxBlocks : share / static_cast<double>(block_bytes);
  const double wanted = told ? kMaxBlocks : static_cast<double>(blocks_of(context)) * kFullContexts;
  const int blocks = static_cast<int>(std::min({fit, wanted, kMaxBlocks}));
  if (blocks >= blocks_of(context)) return {context, blocks};
  const double megabytes = static_cast<double>(block_bytes) * blocks_of(context) / 1e6;
  if (options.context != 0 || blocks < 1)
    fail(ErrorCode::Busy,
         "a context of {} needs {:.1f} MB of KV memory, at most {:.1f} MB are there for it",
         context, megabytes, share / 1e6);
  log(LogLevel::Warning, "the model's context of {} needs {:.1f} MB of KV memory; {} positions fit",
      context, megabytes, blocks * kKvBlock);
  return {blocks * kKvBlock, blocks};
}

class CpuExecutor final : public Executor {
 public:
  CpuExecutor(std::shared_ptr<const Model> model, const ExecutorOptions& options)
      : spec_(model->spec),
        isa_(chosen_isa()),
        kv_(kv_kind(options.kv_bits)),
        workers_(checked_threads(options.threads)),
        decoder_(std::move(model), kernels(isa_), kv_, workers_),
        plan_(plan_kv(options, spec_.max_positions, decoder_.block_bytes())),
        pool_(decoder_.block_bytes(), plan_.blocks) {}

  SequenceId open() override;
  SequenceId fork(SequenceId sequence, int length) override;
  void truncate(SequenceId sequence, int length) override;
  void close(SequenceId sequence) override;
  int length(SequenceId sequence) const override {
    return find_sequence(sequences_, sequence).kv.length();
  }

  void submit(std::span<const Row> rows) override;
  std::span<const RowResult> collect() override;

  int vocab() const override { return spec_.vocab; }
  ExecutorInfo info() const override;
  ExecutorCapacity capacity() const override;
  ExecutorMemory memory() const override;

 private:
  void reserve(std::span<const Row> rows);
  void compute(std::span<const Row> rows);
  void keep(const Row& row, int token, const CpuLogits& logits, std::size_t result);

  DecoderSpec spec_;
  CpuIsa isa_;
  KvKind kv_;
  WorkerPool workers_;
  CpuDecoder decoder_;
  KvPlan plan_;
  KvPool pool_;
  Sequences sequences_;
  SequenceId next_id_ = 0;
  bool in_flight_ = false;
  std::exception_ptr failure_;  // of the step in flight
  std::vector<RowResult> results_;
  std::vector<std::vector<float>> logits_;  // [rows][wanted * vocab], of the last step
};

SequenceId CpuExecutor::open() {
  if (sequences_.size() == kSequences)
    fail(ErrorCode::Busy, "all {} sequences are open", kSequences);
  const SequenceId id = next_id_++;
  sequences_.try_emplace(id, pool_);
  return id;
}

SequenceId CpuExecutor::fork(SequenceId sequence, int length) {
  const Sequence& parent = find_sequence(sequences_, sequence);
  check_prefix("fork", sequence, parent.state(), length);
  const SequenceId id = open();
  try {
    sequences_.at(id).kv.copy_prefix(parent.kv, length);
  } catch (...) {
    sequences_.erase(id);
    throw;
  }
  return id;
}

void CpuExecutor::truncate(SequenceId sequence, int length) {
  Sequence& s = find_sequence(sequences_, sequence);
  check_prefix("truncate", sequence, s.state(), length);
  s.kv.truncate(length);
  s.sampled.reset();
}

void CpuExecutor::close(SequenceId sequence) {
  find_sequence(sequences_, sequence);
  sequences_.erase(sequence);
}

// KV blocks for all rows or, if they do not fit, none.
void CpuExecutor::reserve(std::span<const Row> rows) {
  int needed = 0;
  for (const Row& row : rows)
    needed += sequences_.at(row.sequence).kv.blocks_needed(fed_tokens(row));
  if (needed > pool_.free())
    fail(ErrorCode::Busy, "the step needs {} KV blocks of {} positions, {} of {} are free", needed,
         kKvBlock, pool_.free(), pool_.total());
  for (const Row& row : rows) sequences_.at(row.sequence).kv.extend(fed_tokens(row));
}

void CpuExecutor::keep(const Row& row, int token, const CpuLogits& logits, std::size_t result) {
  if (row.fetch_logits && token >= row.logits_from)
    logits_[result].insert(logits_[result].end(), logits.logits, logits.logits + spec_.vocab);
  if (row.greedy && token == fed_tokens(row) - 1) {
    results_[result].token = logits.best;
    results_[result].logprob = logits.logprob;
    sequences_.at(row.sequence).sampled = logits.best;
  }
}

// All rows' tokens in passes of at most kMaxColumns; a row may go on in the next pass.
void CpuExecutor::compute(std::span<const Row> rows) {
  std::vector<std::span<const TokenId>> tokens;
  std::vector<TokenId> sampled(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::optional<TokenId>& last = sequences_.at(rows[i].sequence).sampled;
    sampled[i] = last.value_or(0);
    last.reset();
    tokens.push_back(rows[i].tokens.empty() ? std::span<const TokenId>(&sampled[i], 1)
                                            : rows[i].tokens);
  }
  struct Wanted {
    std::size_t row;
    int token;
  };
  std::vector<CpuSpan> spans;
  std::vector<Wanted> wanted;
  int columns = 0;
  const auto flush = [&] {
    const std::span<const CpuLogits> found = decoder_.forward(spans);
    for (std::size_t k = 0; k < found.size(); ++k)
      keep(rows[wanted[k].row], wanted[k].token, found[k], wanted[k].row);
    spans.clear();
    wanted.clear();
    columns = 0;
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const KvSequence& kv = sequences_.at(rows[i].sequence).kv;
    const int fed = static_cast<int>(tokens[i].size()), start = kv.length() - fed;
    const int from = first_wanted(rows[i]);
    for (int done = 0; done < fed;) {
      const int here = std::min(fed - done, CpuDecoder::kMaxColumns - columns);
      const int first = std::clamp(from - done, 0, here);
      spans.push_back(
          {&kv, tokens[i].subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(here)),
           start + done, first});
      for (int k = first; k < here; ++k) wanted.push_back({i, done + k});
      done += here;
      columns += here;
      if (columns == CpuDecoder::kMaxColumns) flush();
    }
  }
  if (columns > 0) flush();
}

void CpuExecutor::submit(std::span<const Row> rows) {
  check_step(rows, in_flight_ ? 1 : 0, spec_.vocab, capacity(),
             [this](SequenceId id) { return find_sequence(sequences_, id).state(); });
  reserve(rows);
  in_flight_ = true;
  try {
    results_.assign(rows.size(), {});
    logits_.assign(rows.size(), {});
    compute(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) results_[i].logits = logits_[i];
  } catch (...) {
    failure_ = std::current_exception();
    for (const Row& row : rows) sequences_.at(row.sequence).failed = true;
  }
}

std::span<const RowResult> CpuExecutor::collect() {
  if (!in_flight_) fail(ErrorCode::InvalidArgument, "no step is in flight");
  in_flight_ = false;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return results_;
}

ExecutorInfo CpuExecutor::info() const {
  return {.backend = "cpu",
          .device = std::string(isa_name(isa_)),
          .dtype = "float32",
          .kv_dtype = kv_name(kv_),
          .exact = false};
}

ExecutorCapacity CpuExecutor::capacity() const {
  return {.context = plan_.context,
          .sequences = kSequences,
          .step_tokens = CpuDecoder::kMaxColumns,
          .step_rows = kStepRows,
          .max_in_flight = 1};
}

ExecutorMemory CpuExecutor::memory() const {
  return {.weights = decoder_.weight_bytes(),
          .kv_used = pool_.block_bytes() * static_cast<std::size_t>(pool_.total() - pool_.free()),
          .kv_capacity = pool_.block_bytes() * static_cast<std::size_t>(pool_.total())};
}

}  // namespace

std::unique_ptr<Executor> make_cpu_executor(std::shared_ptr<const Model> model,
                                            const ExecutorOptions& options) {
  if (options.dtype != ComputeDType::Auto && options.dtype != ComputeDType::Float32)
    fail(ErrorCode::InvalidArgument, "dtype: the CPU executor computes in float32 only");
  return std::make_unique<CpuExecutor>(std::move(model), options);
}

}  // namespace emlx
