// What the executor chooses itself, and what becomes of numbers that are none.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "models/cpu/cpu_test_support.h"

namespace emlx {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

DecoderSpec shape(int vocab) {
  return {.family = "llama",
          .layers = 2,
          .hidden = 80,
          .heads = 6,
          .kv_heads = 2,
          .head_dim = 24,
          .intermediate = 170,
          .vocab = vocab,
          .max_positions = 512,
          .rope = {.dims = 24}};
}
constexpr RandomWeights kDense{.bits = 0, .head_bits = 0, .dtype = DType::F32};

float get(std::span<const std::byte> bytes, std::size_t i) {
  return read_float(bytes.data() + 4 * i, DType::F32);
}
void put(std::span<std::byte> bytes, std::size_t i, float value) {
  std::memcpy(&bytes[4 * i], &value, sizeof value);
}

struct Choice {
  TokenId token;
  float logprob;
};

// argmax of float32(logit - logsumexp), the first of equals.
Choice chosen(std::span<const float> logits) {
  double sum = 0;
  const float most = *std::max_element(logits.begin(), logits.end());
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
  const auto total = static_cast<float>(most + std::log(sum));
  Choice best{0, logits[0] - total};
  for (std::size_t i = 1; i < logits.size(); ++i)
    if (logits[i] - total > best.logprob) best = {static_cast<TokenId>(i), logits[i] - total};
  return best;
}

RowResult greedy(Executor& executor, SequenceId id, std::span<const TokenId> tokens,
                 bool fetch = true) {
  const Row row{.sequence = id, .tokens = tokens, .greedy = true, .fetch_logits = fetch};
  executor.submit({&row, 1});
  return executor.collect().front();
}

TEST(CpuExecutorGreedy, TakesTheTokenOfTheHighestLogit) {
  // 9000 logits: three parts whose sums are taken apart.
  for (const int vocab : {130, 9000}) {
    const auto executor = make_cpu_executor(random_model(shape(vocab), kDense), {.threads = 2});
    const SequenceId id = executor->open();
    for (const TokenId token : some_tokens(20, vocab, 2)) {
      const RowResult result = greedy(*executor, id, {&token, 1});
      const Choice expected = chosen(result.logits);
      EXPECT_EQ(result.token, expected.token);
      EXPECT_NEAR(result.logprob, expected.logprob, 2e-6F);
    }
  }
}

// A model whose second half of tokens has the head rows of the first, times `factor`.
std::shared_ptr<const Model> doubled(int vocab, float factor) {
  TestModel test(shape(vocab), kDense);
  const std::span<std::byte> head = test.own(test.model().weights.head->data);
  const std::size_t half = head.size() / 4 / 2;
  for (std::size_t i = 0; i < half; ++i) put(head, half + i, get(head, i) * factor);
  return TestModel::share(std::move(test));
}

TEST(CpuExecutorGreedy, TakesTheFirstOfEquals) {
  for (const int vocab : {130, 9000}) {
    const auto executor = make_cpu_executor(doubled(vocab, 1.0F), {.threads = 2});
    const SequenceId id = executor->open();
    for (const TokenId token : some_tokens(10, vocab, 2)) {
      const RowResult result = greedy(*executor, id, {&token, 1});
      EXPECT_LT(result.token, vocab / 2);
      EXPECT_EQ(result.token, chosen(result.logits).token);
    }
  }
}

TEST(CpuExecutorGreedy, TakesTheFirstWhereSubtractionMakesEquals) {
  int made_equal = 0;
  for (const int vocab : {130, 9000}) {
    const auto executor = make_cpu_executor(doubled(vocab, 1.0000001F), {.threads = 2});
    const SequenceId id = executor->open();
    for (const TokenId token : some_tokens(40, vocab, 2)) {
      const RowResult result = greedy(*executor, id, {&token, 1});
      // Whether the sum is rounded up or down may decide, and ours is not the test's.
      const float total = result.logits[static_cast<std::size_t>(result.token)] - result.logprob;
      const auto equal = [&](float logit) { return logit - total >= result.logprob; };
      const auto first = std::find_if(result.logits.begin(), result.logits.end(), equal);
      EXPECT_EQ(result.token, first - result.logits.begin());
      const auto most = std::max_element(result.logits.begin(), result.logits.end());
      made_equal += most != first ? 1 : 0;
    }
  }
  EXPECT_GT(made_equal, 5);
}

TEST(CpuExecutorGreedy, AnEmptyRowFeedsTheChosenToken) {
  const auto model = random_model(shape(130), kDense);
  const auto executor = make_cpu_executor(model, {.threads = 1});
  const SequenceId id = executor->open(), other = executor->open();
  const Tokens prompt = some_tokens(10, 130, 2);
  const TokenId token = greedy(*executor, id, prompt, false).token;
  const RowResult next = greedy(*executor, id, {});
  EXPECT_EQ(executor->length(id), 11);
  const Logits logits(next.logits.begin(), next.logits.end());
  feed(*executor, other, prompt);
  EXPECT_TRUE(same_logits(feed(*executor, other, {&token, 1}), logits, 0, 130));
}

TEST(CpuExecutorGreedy, AChoiceIsForgottenWhenTheSequenceGoesAnotherWay) {
  const auto executor = make_cpu_executor(random_model(shape(130), kDense), {.threads = 1});
  const SequenceId id = executor->open();
  const Row none{.sequence = id};
  const auto expect_none = [&](SequenceId which) {
    expect_error(ErrorCode::InvalidArgument, "has no sampled token to feed", [&] {
      executor->submit({&(none), 1});
    });
    EXPECT_EQ(executor->length(which), 3);
  };
  feed(*executor, id, Tokens{1, 2, 3});
  expect_none(id);
  greedy(*executor, id, Tokens{4}, false);
  executor->truncate(id, 3);
  expect_none(id);
  executor->truncate(id, 1);
  greedy(*executor, id, Tokens{4}, false);
  feed(*executor, id, Tokens{5});
  expect_none(id);
}

void expect_nan(Executor& executor) {
  const RowResult result = greedy(executor, executor.open(), Tokens{1, 2, 3});
  for (const float logit : result.logits) ASSERT_TRUE(std::isnan(logit));
  EXPECT_TRUE(std::isnan(result.logprob));
  EXPECT_GE(result.token, 0);
  EXPECT_LT(result.token, executor.vocab());
}

TEST(CpuExecutorNan, NansInWeightsReachTheLogits) {
  for (const int kv_bits : {8, 16, 32}) {
    SCOPED_TRACE(kv_bits);
    const auto expect = [&](const auto& poison) {
      TestModel test(shape(5000), kDense);
      poison(test);
      const auto executor =
          make_cpu_executor(TestModel::share(std::move(test)), {.threads = 2, .kv_bits = kv_bits});
      expect_nan(*executor);
    };
    expect([](TestModel& test) { put(test.own(test.layer(0).q.weight.data), 7, kNan); });
    expect([](TestModel& test) { put(test.own(test.layer(0).v.weight.data), 7, kNan); });
    expect([](TestModel& test) { put(test.own(test.layer(1).down.weight.data), 7, kNan); });
    expect([](TestModel& test) { put(test.own(test.layer(0).mlp_norm.data), 7, kNan); });
    expect([](TestModel& test) { put(test.own(test.model().weights.final_norm.data), 7, kNan); });
  }
}

TEST(CpuExecutorNan, NansInScalesReachTheLogits) {
  DecoderSpec spec = shape(300);
  spec.hidden = spec.intermediate = 64;
  spec.head_dim = spec.rope.dims = 32;
  TestModel affine(spec, {.dtype = DType::F32});
  put(affine.own(affine.layer(0).up.weight.scales), 1, kNan);
  TestModel gguf(spec, {});
  Matrix& down = gguf.layer(0).down.weight;
  down = gguf.gguf(64, 64, DType::Q4_0, 0.1F);
  gguf.own(down.data)[1] = std::byte{0x7e};
  for (TestModel* const test : {&affine, &gguf}) {
    const auto executor = make_cpu_executor(TestModel::share(std::move(*test)), {.threads = 1});
    expect_nan(*executor);
  }
}

// A token of NaNs: it spoils its own sequence alone, in the step and in all that use its memory
// later.
TEST(CpuExecutorNan, OtherSequencesDoNotSeeThem) {
  constexpr TokenId kPoison = 9;
  DecoderSpec aligned = shape(130);
  aligned.hidden = 64;
  aligned.head_dim = aligned.rope.dims = 32;
  aligned.intermediate = 96;
  for (const DecoderSpec& spec : {shape(130), aligned})
    for (const int kv_bits : {8, 16, 32})
      for (const int bits : {0, 4}) {
        if (bits != 0 && spec.hidden != 64) continue;
        SCOPED_TRACE(fmt::format("hidden {}, KV {}, {} bits", spec.hidden, kv_bits, bits));
        TestModel test(spec, {.bits = bits, .group_size = 32, .head_bits = 0, .dtype = DType::F32});
        const std::span<std::byte> embedding = test.own(test.model().weights.embedding.data);
        const auto cols = static_cast<std::size_t>(spec.hidden);
        for (std::size_t i = 0; i < cols; ++i) put(embedding, kPoison * cols + i, kNan);
        const auto model = TestModel::share(std::move(test));
        const ExecutorOptions options{.context = 128, .threads = 1, .kv_bits = kv_bits};
        Tokens healthy = some_tokens(70, 130, 3);
        std::replace(healthy.begin(), healthy.end(), kPoison, TokenId{1});
        const auto clean = make_cpu_executor(model, options);
        const Logits expected = feed(*clean, clean->open(), healthy);

        const auto executor = make_cpu_executor(model, options);
        const Tokens poison(90, kPoison);
        const SequenceId id = executor->open(), other = executor->open();
        const Row rows[] = {{.sequence = id, .tokens = poison, .fetch_logits = true},
                            {.sequence = other, .tokens = healthy, .fetch_logits = true}};
        executor->submit(rows);
        const std::span<const RowResult> results = executor->collect();
        for (const float logit : results[0].logits) ASSERT_TRUE(std::isnan(logit));
        EXPECT_TRUE(same_logits(results[1].logits, expected, 0, 130));
        executor->close(id);
        executor->close(other);
        EXPECT_TRUE(same_logits(feed(*executor, executor->open(), healthy), expected, 0, 130));
        EXPECT_TRUE(
            same_logits(feed_in_chunks(*executor, executor->open(), healthy, 1), expected, 0, 130));
      }
}

}  // namespace
}  // namespace emlx
