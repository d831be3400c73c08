#include "models/random_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "base/test_support.h"

namespace emlx {
namespace {

constexpr DecoderSpec shape() {
  DecoderSpec spec;
  spec.layers = 2;
  spec.hidden = 64;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.head_dim = 32;
  spec.intermediate = 192;
  spec.vocab = 100;
  return spec;
}

using Visit = std::function<void(std::span<const std::byte>)>;

void visit(const Matrix& matrix, const Visit& with) {
  for (const auto& part : {matrix.data, matrix.scales, matrix.biases}) with(part);
}
void visit(const Linear& linear, const Visit& with) {
  visit(linear.weight, with);
  if (linear.bias) with(linear.bias->data);
}

std::string hash_of(const Model& model) {
  std::vector<std::byte> all;
  const Visit append = [&](std::span<const std::byte> bytes) {
    all.insert(all.end(), bytes.begin(), bytes.end());
  };
  visit(model.weights.embedding, append);
  if (model.weights.head) visit(*model.weights.head, append);
  for (const LayerWeights& layer : model.weights.layers) {
    append(layer.attention_norm.data);
    append(layer.mlp_norm.data);
    for (const auto* norm : {&layer.q_norm, &layer.k_norm})
      if (*norm) append((*norm)->data);
    for (const Linear* linear :
         {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down})
      visit(*linear, append);
  }
  append(model.weights.final_norm.data);
  return sha256_hex(all);
}

TEST(RandomModel, IsTheSameOnEveryMachine) {
  EXPECT_EQ(hash_of(*random_model(shape(), {})),
            "8a56c4ca0803b65f7b4371faad621b43e26226a27457b1ebcaa71de8ed579f8d");
  EXPECT_EQ(hash_of(*random_model(shape(), {.bits = 0, .head_bits = 6, .dtype = DType::F16})),
            "e61f20590e989200d70c19a132499ab9b5df4412f89068cbac3c5756aa146aae");
}

TEST(RandomModel, FollowsItsSeed) {
  EXPECT_EQ(hash_of(*random_model(shape(), {.seed = 2})),
            hash_of(*random_model(shape(), {.seed = 2})));
  EXPECT_NE(hash_of(*random_model(shape(), {.seed = 2})),
            hash_of(*random_model(shape(), {.seed = 3})));
}

TEST(RandomModel, HasThePartsOfItsSpec) {
  DecoderSpec spec = shape();
  const auto plain = random_model(spec, {});
  EXPECT_EQ(plain->spec.hidden, 64);
  EXPECT_EQ(plain->quantization, "4-bit affine, group 64");
  ASSERT_TRUE(plain->weights.head);
  ASSERT_EQ(plain->weights.layers.size(), 2U);
  EXPECT_FALSE(plain->weights.layers[1].q_norm || plain->weights.layers[1].q.bias ||
               plain->weights.layers[1].down.bias);
  spec.tied_head = spec.qk_norm = spec.attention_bias = spec.mlp_bias = true;
  const auto full = random_model(spec, {.bits = 0, .dtype = DType::F16});
  EXPECT_EQ(full->quantization, "F16");
  EXPECT_FALSE(full->weights.head);
  const LayerWeights& layer = full->weights.layers[1];
  ASSERT_TRUE(layer.q_norm && layer.k_norm);
  EXPECT_EQ(layer.k_norm->data.size(), 32U * 2);
  for (const Linear* linear :
       {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down}) {
    ASSERT_TRUE(linear->bias);
    EXPECT_EQ(linear->bias->size, linear->weight.rows);
    EXPECT_EQ(linear->weight.data.size(),
              static_cast<std::size_t>(linear->weight.rows * linear->weight.cols * 2));
  }
}

TEST(RandomModel, AffineMatricesHaveTheirSizes) {
  for (const int bits : {2, 3, 4, 5, 6, 8})
    for (const int group : {32, 64}) {
      const auto model = random_model(shape(), {.bits = bits, .group_size = group, .head_bits = 8});
      const Matrix& down = model->weights.layers[0].down.weight;
      EXPECT_EQ(down.bits, bits);
      EXPECT_EQ(down.group_size, group);
      EXPECT_EQ(down.rows, 64);
      EXPECT_EQ(down.cols, 192);
      EXPECT_EQ(down.data.size(), static_cast<std::size_t>(64 * 192 * bits / 8));
      EXPECT_EQ(down.scales.size(), static_cast<std::size_t>(64 * 192 / group * 2));
      EXPECT_EQ(down.biases.size(), down.scales.size());
      EXPECT_EQ(model->weights.embedding.bits, 8);
    }
}

TEST(RandomModel, WeightsKeepTheScaleOfActivations) {
  const auto model = random_model(shape(), {.bits = 0, .dtype = DType::F32});
  const Matrix& gate = model->weights.layers[0].gate.weight;
  double squares = 0;
  for (std::size_t i = 0; i < gate.data.size(); i += 4) {
    const auto weight = static_cast<double>(read_float(&gate.data[i], DType::F32));
    squares += weight * weight;
  }
  EXPECT_NEAR(squares / gate.rows, 1, 0.05);
}

TEST(NamedShape, KnowsPublishedModels) {
  const DecoderSpec qwen3 = named_shape("qwen3-4b");
  EXPECT_EQ(qwen3.layers, 36);
  EXPECT_EQ(qwen3.hidden, 2560);
  EXPECT_EQ(qwen3.heads, 32);
  EXPECT_EQ(qwen3.kv_heads, 8);
  EXPECT_EQ(qwen3.head_dim, 128);
  EXPECT_EQ(qwen3.intermediate, 9728);
  EXPECT_EQ(qwen3.vocab, 151936);
  EXPECT_TRUE(qwen3.qk_norm && qwen3.tied_head);
  EXPECT_EQ(named_shape("qwen3-0.6b").hidden, 1024);
  EXPECT_EQ(named_shape("qwen3-1.7b").intermediate, 6144);
  const DecoderSpec smollm2 = named_shape("smollm2-135m");
  EXPECT_EQ(smollm2.family, "llama");
  EXPECT_EQ(smollm2.layers, 30);
  EXPECT_EQ(smollm2.hidden, 576);
  EXPECT_EQ(smollm2.heads, 9);
  EXPECT_EQ(smollm2.kv_heads, 3);
  EXPECT_FALSE(smollm2.qk_norm);
  EXPECT_EQ(smollm2.rope.dims, 64);
  expect_error(ErrorCode::InvalidArgument,
               "qwen3-0.6b, qwen3-1.7b, qwen3-4b or smollm2-135m, got \"gpt-5\"",
               [] { named_shape("gpt-5"); });
}

}  // namespace
}  // namespace emlx
