// The executor's logits against a decoder in doubles.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "models/cpu/cpu_test_support.h"
#include "models/cpu/reference_decoder.h"

namespace emlx {
namespace {

// Errors as parts of the reference logits' standard deviation.
struct Errors {
  double max, rms;
};

Errors errors(const Logits& logits, const Doubles& expected) {
  double sum = 0, squares = 0, error = 0, most = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = static_cast<double>(logits[i]) - expected[i];
    sum += expected[i];
    squares += expected[i] * expected[i];
    error += difference * difference;
    most = std::isfinite(difference) ? std::max(most, std::abs(difference)) : INFINITY;
  }
  const auto n = static_cast<double>(expected.size());
  const double spread = std::sqrt(squares / n - sum / n * (sum / n));
  return {most / spread, std::sqrt(error / n) / spread};
}

struct KvChoice {
  const char* name;
  int bits;
  Errors bound;
};
// Affine matrices take their inputs as int16, dense ones as float32.
constexpr KvChoice kAffineBounds[] = {
    {"float32", 32, {1e-3, 2e-4}}, {"float16", 16, {8e-3, 1e-3}}, {"int8", 8, {0.15, 0.03}}};
constexpr KvChoice kDenseBounds[] = {
    {"float32", 32, {1e-5, 2e-6}}, {"float16", 16, {8e-3, 1e-3}}, {"int8", 8, {0.15, 0.03}}};

void expect_near_reference(const std::shared_ptr<const Model>& model, int count,
                           std::span<const KvChoice> choices) {
  const Tokens tokens = some_tokens(count, model->spec.vocab, 5);
  ReferenceDecoder reference(*model);
  Doubles expected;
  for (const TokenId token : tokens) {
    const Doubles logits = reference.next(token);
    expected.insert(expected.end(), logits.begin(), logits.end());
  }
  for (const KvChoice& kv : choices) {
    SCOPED_TRACE(kv.name);
    const auto executor = make_cpu_executor(model, {.threads = 1, .kv_bits = kv.bits});
    const Logits logits = feed_in_chunks(*executor, executor->open(), tokens, 29);
    ASSERT_EQ(logits.size(), expected.size());
    const Errors found = errors(logits, expected);
    EXPECT_LT(found.max, kv.bound.max);
    EXPECT_LT(found.rms, kv.bound.rms);
    testing::Test::RecordProperty(std::string("max_") + kv.name, fmt::format("{:.2g}", found.max));
    testing::Test::RecordProperty(std::string("rms_") + kv.name, fmt::format("{:.2g}", found.rms));
  }
}

DecoderSpec shape(const std::string& family, int hidden, int heads, int kv_heads, int head_dim,
                  int intermediate) {
  return {.family = family,
          .layers = 2,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = kv_heads,
          .head_dim = head_dim,
          .intermediate = intermediate,
          .vocab = 150,
          .max_positions = 512,
          .rms_eps = 1e-5F,
          .qk_norm = family == "qwen3",
          .tied_head = true,
          .rope = {.dims = head_dim}};
}

struct Case {
  std::string name;
  DecoderSpec spec;
  RandomWeights weights;
  std::function<void(DecoderSpec&)> change_spec;
  std::function<void(TestModel&)> change_weights;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

class CpuExecutorReference : public testing::TestWithParam<Case> {};

TEST_P(CpuExecutorReference, LogitsAgreeWithTheReferenceDecoder) {
  DecoderSpec spec = GetParam().spec;
  if (GetParam().change_spec) GetParam().change_spec(spec);
  TestModel test(spec, GetParam().weights);
  if (GetParam().change_weights) GetParam().change_weights(test);
  expect_near_reference(TestModel::share(std::move(test)), 70,
                        GetParam().weights.bits == 0 ? kDenseBounds : kAffineBounds);
}

void with_biases(DecoderSpec& spec) {
  spec.attention_bias = spec.mlp_bias = true;
}

void llama3_rope(DecoderSpec& spec) {
  spec.rope.kind = RopeSpec::Kind::Llama3;
  spec.rope.theta = 500.0F;
  spec.rope.factor = 8;
  spec.rope.original_max_positions = 64;
}

// Every matrix of a layer in another format: nothing can be fused, one input serves many formats.
void mix_formats(TestModel& test) {
  const DecoderWeights& eight = test.random({.bits = 8, .group_size = 32, .dtype = DType::F16});
  const DecoderWeights& six = test.random({.bits = 6, .group_size = 64, .dtype = DType::F32});
  const DecoderWeights& dense = test.random({.bits = 0, .head_bits = 0, .dtype = DType::F16});
  const DecoderWeights& float32 = test.random({.bits = 0, .head_bits = 0, .dtype = DType::F32});
  LayerWeights &first = test.layer(0), &second = test.layer(1);
  first.q = dense.layers[0].q;
  first.k = eight.layers[0].k;
  first.o = six.layers[0].o;
  first.up = eight.layers[0].up;
  first.down = float32.layers[0].down;
  second.v = float32.layers[1].v;
  second.gate = dense.layers[1].gate;
  second.down = eight.layers[1].down;
  test.model().weights.head = dense.embedding;
  test.model().spec.tied_head = false;
}

// As llama.cpp writes llama: rows of q and k interleaved, blocks and floats side by side.
void use_gguf_blocks(TestModel& test) {
  const DecoderSpec& spec = test.model().spec;
  const int q = spec.heads * spec.head_dim, kv = spec.kv_heads * spec.head_dim;
  const float spread = 1.0F / std::sqrt(static_cast<float>(spec.hidden));
  test.model().weights.embedding = test.gguf(spec.vocab, spec.hidden, DType::Q8_0, spread);
  constexpr DType kTypes[] = {DType::Q4_0, DType::Q4_1, DType::Q8_0};
  for (std::size_t i = 0; i < 2; ++i) {
    LayerWeights& layer = test.layer(i);
    const DType a = kTypes[i], b = kTypes[i + 1];
    layer.q.weight = test.gguf(q, spec.hidden, a, spread, spec.heads);
    layer.k.weight = test.gguf(kv, spec.hidden, b, spread, spec.kv_heads);
    layer.v.weight = test.gguf(kv, spec.hidden, a, spread);
    layer.o.weight = test.gguf(spec.hidden, q, b, spread);
    layer.gate.weight = test.gguf(spec.intermediate, spec.hidden, a, spread);
    layer.up.weight = test.gguf(spec.intermediate, spec.hidden, a, spread);
    // Scales times 128 that are no float16 any more.
    layer.down.weight = test.gguf(spec.hidden, spec.intermediate, DType::Q8_0, 50000.0F);
  }
  test.layer(1).k.weight = test.random({.bits = 0, .dtype = DType::F16}).layers[1].k.weight;
  test.layer(1).k.weight.interleaved_heads = spec.kv_heads;
  test.model().weights.layers[0].down = test.random({.bits = 8, .group_size = 32}).layers[0].down;
}

void use_gguf_embedding(TestModel& test, DType dtype) {
  const DecoderSpec& spec = test.model().spec;
  test.model().weights.embedding = test.gguf(spec.vocab, spec.hidden, dtype, 0.1F);
}

std::vector<Case> cases() {
  const RandomWeights f32{.bits = 0, .head_bits = 0, .dtype = DType::F32};
  const RandomWeights f16{.bits = 0, .head_bits = 0, .dtype = DType::F16};
  const RandomWeights bf16{.bits = 0, .head_bits = 0};
  return {
      {"Qwen3Heads4On2Size16", shape("qwen3", 96, 4, 2, 16, 160), {.bits = 4, .group_size = 32}},
      {"Qwen3Heads6On2Size64", shape("qwen3", 128, 6, 2, 64, 256), {.dtype = DType::F16}},
      {"Qwen3Heads4On2Size80",
       shape("qwen3", 160, 4, 2, 80, 96),
       {.bits = 8, .group_size = 32, .head_bits = 6}},
      {"Qwen3Heads8On1Size128", shape("qwen3", 128, 8, 1, 128, 192), {}},
      {"LlamaHeads9On3Size64",
       shape("llama", 576, 9, 3, 64, 192),
       {.bits = 4, .group_size = 32, .head_bits = 8}},
      {"LlamaHeads8On1Size24",
       shape("llama", 64, 8, 1, 24, 192),
       {.bits = 5, .head_bits = 3, .dtype = DType::F32}},
      {"LlamaHeads8On1Size80",
       shape("llama", 256, 8, 1, 80, 128),
       {.bits = 6, .group_size = 128, .head_bits = 8}},
      {"DenseFloat32LinearRope", shape("llama", 100, 9, 3, 24, 90), f32,
       [](DecoderSpec& spec) {
         with_biases(spec);
         spec.tied_head = false;
         spec.rope.kind = RopeSpec::Kind::Linear;
         spec.rope.scale = 0.25F;
       }},
      {"DenseFloat16Llama3Rope", shape("llama", 96, 6, 2, 16, 96), f16, llama3_rope},
      {"DenseBFloat16PartialTraditionalRope", shape("qwen3", 96, 8, 1, 80, 64), bf16,
       [](DecoderSpec& spec) {
         spec.rope.traditional = true;
         spec.rope.dims = 32;
       }},
      {"TraditionalRopeAndBiases",
       shape("llama", 128, 4, 2, 64, 128),
       {},
       [](DecoderSpec& spec) {
         with_biases(spec);
         spec.rope.traditional = true;
       }},
      {"PartialRope",
       shape("qwen3", 64, 6, 2, 64, 64),
       {},
       [](DecoderSpec& spec) { spec.rope.dims = 20; }},
      {"MoreQueryHeadsThanAttentionTakesAtOnce",
       shape("llama", 64, 150, 1, 16, 64),
       {.bits = 4, .group_size = 32}},
      {"MixedFormats", shape("qwen3", 128, 4, 2, 64, 192), {.head_bits = 3}, {}, mix_formats},
      {"GgufBlocks",
       shape("llama", 96, 6, 2, 16, 160),
       {.bits = 4, .group_size = 32},
       {},
       use_gguf_blocks},
      {"Q4_0Embedding",
       shape("llama", 64, 4, 2, 16, 64),
       {},
       {},
       [](TestModel& test) { use_gguf_embedding(test, DType::Q4_0); }},
      {"Q4_1Embedding",
       shape("llama", 64, 4, 2, 16, 64),
       {},
       {},
       [](TestModel& test) { use_gguf_embedding(test, DType::Q4_1); }},
  };
}

INSTANTIATE_TEST_SUITE_P(Shapes, CpuExecutorReference, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

TEST(CpuExecutorReference, EveryAffineFormatAgreesWithTheReferenceDecoder) {
  for (const int bits : {2, 3, 4, 5, 6, 8})
    for (const int group : {32, 64, 128})
      for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
        SCOPED_TRACE(fmt::format("{} bits, group {}, {}", bits, group, to_string(dtype)));
        DecoderSpec spec = shape("llama", 128, 4, 2, 32, 128);
        spec.layers = 1;
        const RandomWeights weights{
            .bits = bits, .group_size = group, .head_bits = bits, .dtype = dtype};
        expect_near_reference(random_model(spec, weights), 5, std::span(kAffineBounds).first(1));
      }
}

}  // namespace
}  // namespace emlx
