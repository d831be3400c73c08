#include "models/mlx/mlx_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <list>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "models/mlx/mlx_weights.h"

namespace emlx {
namespace {

using Logits = std::vector<float>;

// A random two-layer decoder in memory: quantized attention, dense MLP, tied 8-bit embedding.
class TinyModel {
 public:
  TinyModel() {
    DecoderSpec& spec = model->spec;
    spec = {.family = "qwen3",
            .layers = 2,
            .hidden = 64,
            .heads = 4,
            .kv_heads = 2,
            .head_dim = 32,
            .intermediate = 96,
            .vocab = 200,
            .max_positions = 640,
            .qk_norm = true,
            .tied_head = true,
            .rope = {.dims = 32}};
    DecoderWeights& weights = model->weights;
    weights.embedding = affine("embedding", spec.vocab, spec.hidden, 8);
    for (int i = 0; i < spec.layers; ++i) {
      LayerWeights layer;
      layer.attention_norm = vector("attention_norm", spec.hidden);
      layer.q.weight = affine("q", spec.heads * spec.head_dim, spec.hidden, 4);
      layer.k.weight = affine("k", spec.kv_heads * spec.head_dim, spec.hidden, 4);
      layer.v.weight = affine("v", spec.kv_heads * spec.head_dim, spec.hidden, 4);
      layer.q_norm = vector("q_norm", spec.head_dim);
      layer.k_norm = vector("k_norm", spec.head_dim);
      layer.o.weight = affine("o", spec.hidden, spec.heads * spec.head_dim, 4);
      layer.mlp_norm = vector("mlp_norm", spec.hidden);
      layer.gate.weight = dense("gate", spec.intermediate, spec.hidden);
      layer.up.weight = dense("up", spec.intermediate, spec.hidden);
      layer.down.weight = dense("down", spec.hidden, spec.intermediate);
      weights.layers.push_back(std::move(layer));
    }
    weights.final_norm = vector("final_norm", spec.hidden);
  }

  Matrix dense(std::string name, int rows, int cols) {
    return {.name = std::move(name),
            .rows = rows,
            .cols = cols,
            .data = floats(rows * cols, -0.2F, 0.2F)};
  }

  // One byte in front: file data need not be aligned.
  template <typename T>
  std::span<const std::byte> stored(const std::vector<T>& values) {
    auto& bytes = storage_.emplace_back(values.size() * sizeof(T) + 1);
    std::memcpy(bytes.data() + 1, values.data(), values.size() * sizeof(T));
    return std::span(bytes).subspan(1);
  }

  std::shared_ptr<Model> model = std::make_shared<Model>();

 private:
  std::span<const std::byte> floats(int count, float low, float high) {
    std::uniform_real_distribution<float> uniform(low, high);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = uniform(random_);
    return stored(values);
  }

  Vector vector(std::string name, int size) {
    return {std::move(name), size, DType::F32, floats(size, 0.5F, 1.5F)};
  }

  Matrix affine(std::string name, int rows, int cols, int bits) {
    constexpr int kGroup = 32;
    std::vector<std::uint32_t> packed(static_cast<std::size_t>(rows * cols / 32 * bits));
    for (std::uint32_t& word : packed) word = static_cast<std::uint32_t>(random_());
    const float scale = 1.0F / static_cast<float>(1 << bits);
    return {.name = std::move(name),
            .rows = rows,
            .cols = cols,
            .encoding = MatrixEncoding::MlxAffine,
            .data = stored(packed),
            .scales = floats(rows * cols / kGroup, 0.2F * scale, 0.4F * scale),
            .biases = floats(rows * cols / kGroup, -0.2F, -0.1F),
            .bits = bits,
            .group_size = kGroup};
  }

  std::mt19937 random_{7};
  std::list<std::vector<std::byte>> storage_;
};

class MlxExecutorTest : public ::testing::Test {
 protected:
  static std::unique_ptr<Executor> make(const ExecutorOptions& options = {}) {
    static const TinyModel tiny;
    return make_mlx_executor(tiny.model, options);
  }

  static std::vector<TokenId> random_tokens(int count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<TokenId> tokens(static_cast<std::size_t>(count));
    for (TokenId& token : tokens) token = static_cast<TokenId>(random() % 200);
    return tokens;
  }

  static RowResult step(Executor& executor, const Row& row) {
    executor.submit({&row, 1});
    return executor.collect()[0];
  }

  static void prefill(Executor& executor, SequenceId sequence, std::span<const TokenId> tokens) {
    step(executor,
         {.sequence = sequence, .tokens = tokens, .logits_from = static_cast<int>(tokens.size())});
  }

  // Feeds the tokens one by one; the logits of all.
  static Logits feed(Executor& executor, SequenceId sequence, std::span<const TokenId> tokens) {
    Logits all;
    for (const TokenId& token : tokens) {
      const RowResult result =
          step(executor, {.sequence = sequence, .tokens = {&token, 1}, .fetch_logits = true});
      all.insert(all.end(), result.logits.begin(), result.logits.end());
    }
    return all;
  }

  static void expect_error(ErrorCode code, const std::string& part, const auto& action) {
    try {
      action();
      ADD_FAILURE() << "expected an error about: " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_THAT(error.what(), ::testing::HasSubstr(part));
    }
  }
};

// First of all: what MLX has compiled once, a process keeps.
TEST_F(MlxExecutorTest, ACpuCompilesNothingAtRunTime) {
  std::string folder = ::testing::TempDir() + "emlx-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const char* before = std::getenv("TMPDIR");
  const std::string restored = before == nullptr ? ::testing::TempDir() : before;
  ::setenv("TMPDIR", folder.c_str(), 1);
  const auto executor = make();
  feed(*executor, executor->open(), random_tokens(2, 1));
  ::setenv("TMPDIR", restored.c_str(), 1);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

TEST_F(MlxExecutorTest, ComputesInFloat32OnACpu) {
  const auto executor = make();
  const ExecutorInfo info = executor->info();
  EXPECT_EQ(info.backend, "mlx");
  EXPECT_TRUE(info.exact);
  EXPECT_EQ(info.dtype, "float32");  // the tiny model's own dtype too
  EXPECT_EQ(make({.dtype = ComputeDType::BFloat16})->info().dtype, "bfloat16");
  EXPECT_EQ(make({.dtype = ComputeDType::Float16})->info().dtype, "float16");
}

TEST_F(MlxExecutorTest, StatesWhatItCanTake) {
  const ExecutorCapacity capacity = make({.context = 500})->capacity();
  EXPECT_EQ(capacity.context, 500);
  EXPECT_EQ(make()->capacity().context, 640);
  EXPECT_EQ(capacity.step_tokens, 2048);
  EXPECT_EQ(capacity.step_rows, 1);
  EXPECT_EQ(capacity.max_in_flight, 2);
  expect_error(ErrorCode::InvalidArgument, "context", [] { make({.context = 641}); });
  expect_error(ErrorCode::InvalidArgument, "context", [] { make({.context = -1}); });
}

TEST_F(MlxExecutorTest, CacheUpdatesInPlaceAreRepeatable) {
  const auto executor = make();
  const std::vector<TokenId> tokens = random_tokens(300, 1);
  Logits first;
  for (int run = 0; run < 3; ++run) {
    const SequenceId sequence = executor->open();
    const Logits logits = feed(*executor, sequence, tokens);
    executor->close(sequence);
    if (run == 0) first = logits;
    ASSERT_EQ(logits, first) << "run " << run;
  }
}

TEST_F(MlxExecutorTest, PipelinedGreedyEqualsFeedingEachTokenFromTheHost) {
  const auto executor = make();
  const std::vector<TokenId> prompt = random_tokens(250, 2);
  constexpr int kSteps = 20;

  std::vector<TokenId> expected;
  std::vector<float> expected_logprobs;
  const SequenceId plain = executor->open();
  prefill(*executor, plain, prompt);
  TokenId last = 5;
  for (int i = 0; i < kSteps; ++i) {
    const RowResult result =
        step(*executor, {.sequence = plain, .tokens = {&last, 1}, .greedy = true});
    EXPECT_TRUE(result.logits.empty());
    expected.push_back(last = result.token);
    expected_logprobs.push_back(result.logprob);
  }

  const SequenceId pipelined = executor->open();
  prefill(*executor, pipelined, prompt);
  const TokenId start = 5;
  const Row first = {.sequence = pipelined, .tokens = {&start, 1}, .greedy = true};
  const Row next = {.sequence = pipelined, .greedy = true};
  executor->submit({&first, 1});
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
  for (int i = 0; i < kSteps; ++i) {
    executor->submit({&next, 1});
    const RowResult result = executor->collect()[0];
    tokens.push_back(result.token);
    logprobs.push_back(result.logprob);
  }
  executor->collect();  // the surplus step
  EXPECT_EQ(tokens, expected);
  EXPECT_EQ(logprobs, expected_logprobs);
  EXPECT_EQ(executor->length(pipelined), 250 + kSteps + 1);
}

TEST_F(MlxExecutorTest, FeedsASampledTokenOnlyAtTheStepAfterIt) {
  const auto executor = make();
  const TokenId token = 3;
  const SequenceId sequence = executor->open();
  const Row greedy = {.sequence = sequence, .tokens = {&token, 1}, .greedy = true};
  const Row next = {.sequence = sequence};
  step(*executor, greedy);
  feed(*executor, sequence, {&token, 1});
  expect_error(ErrorCode::InvalidArgument, "no sampled token", [&] { step(*executor, next); });
  step(*executor, greedy);
  executor->truncate(sequence, 2);
  expect_error(ErrorCode::InvalidArgument, "no sampled token", [&] { step(*executor, next); });
  const SequenceId fork = executor->fork(sequence, 2);
  expect_error(ErrorCode::InvalidArgument, "no sampled token",
               [&] { step(*executor, {.sequence = fork}); });
}

TEST_F(MlxExecutorTest, ForkEqualsRecomputingThePrefix) {
  const auto executor = make();
  const std::vector<TokenId> prompt = random_tokens(300, 3), more = random_tokens(5, 4);
  for (const int length : {0, 255, 256, 257}) {
    const SequenceId parent = executor->open(), recomputed = executor->open();
    feed(*executor, parent, prompt);
    feed(*executor, recomputed, std::span(prompt).first(static_cast<std::size_t>(length)));
    const SequenceId child = executor->fork(parent, length);
    EXPECT_EQ(executor->length(child), length);
    EXPECT_EQ(feed(*executor, child, more), feed(*executor, recomputed, more)) << length;
    executor->close(recomputed);

    // Neither side's writes reach the other.
    const SequenceId again = executor->fork(parent, 300);
    const Logits expected = feed(*executor, again, more);
    feed(*executor, child, more);
    EXPECT_EQ(feed(*executor, parent, more), expected) << length;
    for (const SequenceId sequence : {parent, child, again}) executor->close(sequence);
  }
}

TEST_F(MlxExecutorTest, TruncateEqualsRecomputingThePrefix) {
  const auto executor = make();
  const std::vector<TokenId> prompt = random_tokens(300, 5), more = random_tokens(50, 6);
  for (const int length : {0, 230, 256, 299}) {
    const SequenceId truncated = executor->open(), recomputed = executor->open();
    feed(*executor, truncated, prompt);
    executor->truncate(truncated, length);
    EXPECT_EQ(executor->length(truncated), length);
    feed(*executor, recomputed, std::span(prompt).first(static_cast<std::size_t>(length)));
    EXPECT_EQ(feed(*executor, truncated, more), feed(*executor, recomputed, more)) << length;
    executor->close(truncated);
    executor->close(recomputed);
  }
}

TEST_F(MlxExecutorTest, ReturnsTheLogitsFromTheTokenAskedFor) {
  const auto executor = make();
  const std::vector<TokenId> prompt = random_tokens(10, 7);
  const SequenceId one = executor->open(), other = executor->open();
  const Logits alone = feed(*executor, one, prompt);
  const RowResult result = step(*executor, {.sequence = other,
                                            .tokens = prompt,
                                            .logits_from = 7,
                                            .greedy = true,
                                            .fetch_logits = true});
  ASSERT_EQ(result.logits.size(), 3 * 200U);
  for (std::size_t i = 0; i < result.logits.size(); ++i) {
    ASSERT_NEAR(result.logits[i], alone[7 * 200 + i], 1e-4) << i;
  }
  const auto last = result.logits.last(200);
  const auto best = std::max_element(last.begin(), last.end());
  double mass = 0;
  for (const float logit : last) mass += std::exp(static_cast<double>(logit) - *best);
  EXPECT_EQ(result.token, best - last.begin());
  EXPECT_NEAR(result.logprob, -std::log(mass), 1e-5);
}

TEST_F(MlxExecutorTest, ResultsStayValidUntilTheNextSubmit) {
  const auto executor = make();
  const TokenId token = 3;
  const SequenceId sequence = executor->open();
  const Row row = {.sequence = sequence, .tokens = {&token, 1}, .fetch_logits = true};
  executor->submit({&row, 1});
  executor->submit({&row, 1});
  const std::span<const float> first = executor->collect()[0].logits;
  const Logits copy(first.begin(), first.end());
  executor->collect();
  EXPECT_EQ(Logits(first.begin(), first.end()), copy);
}

TEST_F(MlxExecutorTest, AStepOfAClosedSequenceCanStillBeCollected) {
  const auto executor = make();
  const TokenId token = 3;
  const SequenceId kept = executor->open(), closed = executor->open();
  const Row first = {.sequence = closed, .tokens = {&token, 1}, .greedy = true};
  const Row second = {.sequence = kept, .tokens = {&token, 1}, .greedy = true};
  executor->submit({&first, 1});
  executor->submit({&second, 1});
  executor->close(closed);
  const TokenId dropped = executor->collect()[0].token;
  EXPECT_EQ(executor->collect()[0].token, dropped);
}

TEST_F(MlxExecutorTest, MisuseChangesNothing) {
  const auto executor = make({.context = 20});
  const std::vector<TokenId> prompt = random_tokens(18, 8);
  const SequenceId sequence = executor->open();
  prefill(*executor, sequence, prompt);
  const auto submit = [&](Row row) { return [&executor, row] { executor->submit({&row, 1}); }; };
  const std::vector<TokenId> three = {1, 2, 3}, low = {-1}, high = {200};
  expect_error(ErrorCode::ContextLength, "18 of 20",
               submit({.sequence = sequence, .tokens = three}));
  expect_error(ErrorCode::InvalidArgument, "no sampled token", submit({.sequence = sequence}));
  expect_error(ErrorCode::InvalidArgument, "unknown sequence",
               submit({.sequence = sequence + 1, .tokens = three}));
  expect_error(ErrorCode::InvalidArgument, "token", submit({.sequence = sequence, .tokens = low}));
  expect_error(ErrorCode::InvalidArgument, "token", submit({.sequence = sequence, .tokens = high}));
  expect_error(ErrorCode::InvalidArgument, "logits_from",
               submit({.sequence = sequence, .tokens = {three.data(), 1}, .logits_from = 2}));
  expect_error(ErrorCode::InvalidArgument, "1 to 1 rows", [&] { executor->submit({}); });
  expect_error(ErrorCode::InvalidArgument, "in flight", [&] { executor->collect(); });
  expect_error(ErrorCode::InvalidArgument, "truncate", [&] { executor->truncate(sequence, 19); });
  expect_error(ErrorCode::InvalidArgument, "fork", [&] { executor->fork(sequence, 19); });
  expect_error(ErrorCode::InvalidArgument, "unknown sequence", [&] { executor->close(99); });

  EXPECT_EQ(executor->length(sequence), 18);
  const SequenceId fresh = executor->open();
  prefill(*executor, fresh, prompt);
  const std::span<const TokenId> rest = std::span(three).first(2);
  EXPECT_EQ(feed(*executor, sequence, rest), feed(*executor, fresh, rest));
  expect_error(ErrorCode::ContextLength, "20 of 20", [&] { feed(*executor, sequence, low); });
}

TEST_F(MlxExecutorTest, RefusesMoreThanItsCapacity) {
  const auto executor = make();
  std::vector<SequenceId> sequences;
  for (int i = 0; i < executor->capacity().sequences; ++i) sequences.push_back(executor->open());
  expect_error(ErrorCode::Busy, "open", [&] { executor->open(); });
  expect_error(ErrorCode::Busy, "open", [&] { executor->fork(sequences[0], 0); });
  executor->close(sequences[2]);
  EXPECT_NO_THROW(executor->open());

  const TokenId token = 1;
  const Row row = {.sequence = sequences[0], .tokens = {&token, 1}, .greedy = true};
  executor->submit({&row, 1});
  executor->submit({&row, 1});
  expect_error(ErrorCode::InvalidArgument, "in flight", [&] { executor->submit({&row, 1}); });
  executor->collect();
  executor->collect();
  EXPECT_EQ(executor->length(sequences[0]), 2);
}

TEST_F(MlxExecutorTest, CountsItsMemory) {
  const auto executor = make();
  constexpr std::size_t kPosition = 2 * 2 * 2 * 32 * sizeof(float);  // layers, K and V, heads, dim
  EXPECT_EQ(executor->memory().kv_used, 0U);
  EXPECT_EQ(executor->memory().kv_capacity, 4 * (640 + 255) * kPosition);
  EXPECT_GT(executor->memory().weights, 200U * 64);
  const SequenceId sequence = executor->open();
  prefill(*executor, sequence, random_tokens(256, 9));
  EXPECT_EQ(executor->memory().kv_used, 256 * kPosition);
  feed(*executor, sequence, random_tokens(1, 10));
  EXPECT_EQ(executor->memory().kv_used, 512 * kPosition);
  executor->fork(sequence, 200);
  EXPECT_EQ(executor->memory().kv_used, (512 + 256) * kPosition);
  executor->close(sequence);
  EXPECT_EQ(executor->memory().kv_used, 256 * kPosition);
}

TEST_F(MlxExecutorTest, UsesNoMoreMemoryThanItSays) {
  for (const int context : {1, 640}) {
    const auto executor = make({.context = context});
    for (int i = 0; i < executor->capacity().sequences; ++i) {
      const SequenceId sequence = executor->open();
      const int first = context / 256 * 256;
      if (first > 0) prefill(*executor, sequence, random_tokens(first, 12));
      prefill(*executor, sequence, random_tokens(context - first, 13));
    }
    const ExecutorMemory memory = executor->memory();
    EXPECT_LE(memory.kv_used, memory.kv_capacity) << context;
  }
}

TEST_F(MlxExecutorTest, KnowsWhetherAFileMixesDTypes) {
  TinyModel tiny;
  EXPECT_FALSE(load_mlx_weights(tiny.model->weights, mx::float32).cast);
  EXPECT_TRUE(load_mlx_weights(tiny.model->weights, mx::bfloat16).cast);
  Vector& norm = tiny.model->weights.final_norm;
  norm.dtype = DType::F16;
  norm.data = norm.data.first(norm.data.size() / 2);
  EXPECT_TRUE(load_mlx_weights(tiny.model->weights, mx::float32).cast);
  // A CPU computes in float32 whatever the file holds, and so does its reference.
  EXPECT_TRUE(make_mlx_executor(tiny.model, {})->info().exact);
}

TEST_F(MlxExecutorTest, PutsInterleavedRowsOfADenseMatrixInOrder) {
  constexpr std::size_t kHeads = 4, kHalf = 16, kCols = 64;
  TinyModel tiny;
  Matrix& q = tiny.model->weights.layers[0].q.weight;
  q = tiny.dense("q", 2 * kHalf * kHeads, kCols);
  const std::vector<TokenId> tokens = random_tokens(4, 11);
  const auto logits = [&] {
    const auto executor = make_mlx_executor(tiny.model, {});
    return feed(*executor, executor->open(), tokens);
  };
  const Logits expected = logits();

  std::vector<float> ordered(2 * kHalf * kHeads * kCols), interleaved(ordered.size());
  std::memcpy(ordered.data(), q.data.data(), q.data.size());
  for (std::size_t head = 0; head < kHeads; ++head) {
    for (std::size_t row = 0; row < 2 * kHalf; ++row) {
      const std::size_t file_row = row < kHalf ? 2 * row : 2 * (row - kHalf) + 1;
      std::copy_n(&ordered[(head * 2 * kHalf + row) * kCols], kCols,
                  &interleaved[(head * 2 * kHalf + file_row) * kCols]);
    }
  }
  q.data = tiny.stored(interleaved);
  q.interleaved_heads = kHeads;
  EXPECT_EQ(logits(), expected);
}

TEST_F(MlxExecutorTest, NamesTheWeightThatDoesNotFit) {
  TinyModel tiny;
  Matrix& down = tiny.model->weights.layers[1].down.weight;
  down.name = "model.layers.1.mlp.down_proj";
  down.data = down.data.first(down.data.size() - 4);
  expect_error(ErrorCode::InvalidFile, "model.layers.1.mlp.down_proj",
               [&] { make_mlx_executor(tiny.model, {}); });
}

TEST_F(MlxExecutorTest, AFailedStepThrowsFromCollectAndLeavesOnlyClose) {
  TinyModel tiny;
  Vector& norm = *tiny.model->weights.layers[1].q_norm;
  norm.size /= 2;  // MLX refuses it when the graph is built
  norm.data = norm.data.first(norm.data.size() / 2);
  const auto executor = make_mlx_executor(tiny.model, {});
  const TokenId token = 1;
  const SequenceId sequence = executor->open();
  const Row row = {.sequence = sequence, .tokens = {&token, 1}, .greedy = true};
  EXPECT_NO_THROW(executor->submit({&row, 1}));
  expect_error(ErrorCode::Internal, "rms_norm", [&] { executor->collect(); });
  expect_error(ErrorCode::InvalidArgument, "failed", [&] { executor->submit({&row, 1}); });
  expect_error(ErrorCode::InvalidArgument, "failed", [&] { executor->fork(sequence, 0); });
  expect_error(ErrorCode::InvalidArgument, "failed", [&] { executor->truncate(sequence, 0); });
  EXPECT_NO_THROW(executor->close(sequence));
  EXPECT_NO_THROW(executor->open());
}

}  // namespace
}  // namespace emlx
