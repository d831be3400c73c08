#include "models/weight_loader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "formats/test_support.h"
#include "models/model.h"
#include "models/test_support.h"

namespace emlx {
namespace {

const std::string kDown = "model.layers.0.mlp.down_proj";  // [64, 128]

JsonObject affine(int bits, int group_size) {
  return {{"bits", bits}, {"group_size", group_size}};
}

// Writes and opens it; the folder is gone afterwards, the mapping is not.
Model open_tiny(const TinyMlxModel& tiny) {
  const TestFolder folder;
  tiny.write(folder);
  return open_model(folder.path());
}

void expect_refused(const TinyMlxModel& tiny, std::string_view part,
                    ErrorCode code = ErrorCode::InvalidFile) {
  expect_error(code, part, [&] { open_tiny(tiny); });
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(WeightLoader, FindsEveryTensorOfAFamily) {
  for (const char* family : {"llama", "qwen3"}) {
    const TinyMlxModel tiny(family);
    const Model model = open_tiny(tiny);
    const LayerWeights& layer = model.weights.layers[1];
    EXPECT_EQ(layer.k.weight.rows, kTinyKvHeads * kTinyHeadDim);
    EXPECT_EQ(layer.k.weight.cols, kTinyHidden);
    EXPECT_EQ(layer.k.weight.interleaved_heads, 0);
    EXPECT_EQ(layer.down.weight.name, "model.layers.1.mlp.down_proj");
    const std::string path = "model.layers.1.";
    const auto data = [&](const char* name) { return tiny.tensors.at(path + name).data; };
    EXPECT_EQ(text_of(layer.q.weight.data), data("self_attn.q_proj.weight"));
    EXPECT_EQ(text_of(layer.k.weight.data), data("self_attn.k_proj.weight"));
    EXPECT_EQ(text_of(layer.v.weight.data), data("self_attn.v_proj.weight"));
    EXPECT_EQ(text_of(layer.o.weight.data), data("self_attn.o_proj.weight"));
    EXPECT_EQ(text_of(layer.gate.weight.data), data("mlp.gate_proj.weight"));
    EXPECT_EQ(text_of(layer.up.weight.data), data("mlp.up_proj.weight"));
    EXPECT_EQ(text_of(layer.down.weight.data), data("mlp.down_proj.weight"));
    EXPECT_EQ(text_of(layer.attention_norm.data), data("input_layernorm.weight"));
    EXPECT_EQ(text_of(layer.mlp_norm.data), data("post_attention_layernorm.weight"));
    EXPECT_EQ(text_of(model.weights.final_norm.data), tiny.tensors.at("model.norm.weight").data);
    EXPECT_EQ(layer.q_norm.has_value(), std::string(family) == "qwen3");
    if (layer.q_norm) {
      EXPECT_EQ(text_of(layer.q_norm->data), data("self_attn.q_norm.weight"));
      EXPECT_EQ(text_of(layer.k_norm->data), data("self_attn.k_norm.weight"));
    }
  }
}

TEST(WeightLoader, InfersBitsAndGroupsFromTheShapes) {
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      TinyMlxModel tiny("llama");
      tiny.quantize(kDown, bits, group);
      // The block's own numbers do not count for a module it does not name.
      tiny.config["quantization"] = affine(4, 64);
      const Matrix down = open_tiny(tiny).weights.layers[0].down.weight;
      EXPECT_EQ(down.encoding, MatrixEncoding::MlxAffine);
      EXPECT_EQ(down.bits, bits);
      EXPECT_EQ(down.group_size, group);
      EXPECT_EQ(down.dtype, DType::F16);
      EXPECT_EQ(down.data.size(), static_cast<std::size_t>(64 * 128 * bits / 8));
      EXPECT_EQ(down.scales.size(), static_cast<std::size_t>(64 * 128 / group * 2));
      EXPECT_EQ(down.biases.size(), down.scales.size());
    }
  }
}

TEST(WeightLoader, AModuleInTheMapHasTheParametersGivenThere) {
  TinyMlxModel tiny("llama");
  tiny.quantize(kDown, 8, 32);
  tiny.quantize("model.layers.1.mlp.up_proj", 4, 64);
  tiny.config["quantization"] = affine(4, 64);
  tiny.config["quantization"].as_object()[kDown] = affine(8, 32);
  tiny.config["quantization"].as_object()["model.layers.1.mlp.down_proj"] = false;
  tiny.config["quantization"].as_object()["model.layers.1.mlp.up_proj"] = true;
  const DecoderWeights weights = open_tiny(tiny).weights;
  EXPECT_EQ(weights.layers[0].down.weight.bits, 8);
  EXPECT_EQ(weights.layers[0].down.weight.group_size, 32);
  EXPECT_EQ(weights.layers[1].down.weight.encoding, MatrixEncoding::Dense);
  EXPECT_EQ(weights.layers[1].up.weight.bits, 4);
}

TEST(WeightLoader, TheMapWinsOverTheShapes) {
  TinyMlxModel tiny("llama");
  tiny.quantize(kDown, 8, 32);
  tiny.config["quantization"] = affine(4, 64);
  tiny.config["quantization"].as_object()[kDown] = affine(4, 32);
  expect_refused(tiny, R"(down_proj.weight": expected U32 [64, 16], got U32 [64, 32])");
  tiny.config["quantization"].as_object()[kDown] = affine(8, 64);
  expect_refused(tiny, R"(down_proj.scales": expected F16 [64, 2], got F16 [64, 4])");
  tiny.config["quantization"].as_object()[kDown] = false;
  expect_refused(tiny, R"(down_proj.weight": expected F32, F16, BF16 or GGUF blocks [64, 128], got)"
                       " U32 [64, 32]");
}

TEST(WeightLoader, AMappedModuleWithoutScalesIsNamed) {
  TinyMlxModel tiny("llama");
  tiny.config["quantization"] = affine(4, 64);
  tiny.config["quantization"].as_object()[kDown] = affine(4, 64);
  expect_refused(tiny, R"(down_proj.weight": expected U32 [64, 16], got F32 [64, 128])");
  tiny.quantize(kDown, 4, 64);
  tiny.tensors.erase(kDown + ".biases");
  expect_refused(tiny, R"(tensor "model.layers.0.mlp.down_proj.biases" is missing)");
}

TEST(WeightLoader, NamesShapesThatFitNoQuantization) {
  const auto refused = [](DType scales, const std::vector<std::int64_t>& scales_shape, DType biases,
                          const std::vector<std::int64_t>& biases_shape, std::string_view part,
                          ErrorCode code = ErrorCode::InvalidFile) {
    TinyMlxModel tiny("llama");
    tiny.config["quantization"] = affine(4, 64);
    tiny.quantize(kDown, 4, 64);
    tiny.add(kDown + ".scales", scales, scales_shape);
    tiny.add(kDown + ".biases", biases, biases_shape);
    expect_refused(tiny, part, code);
  };
  constexpr DType kHalf = DType::F16;
  refused(kHalf, {64, 8}, kHalf, {64, 8},
          "weight [64, 16] and scales [64, 8] fit no quantization of 128 columns");
  refused(kHalf, {64}, kHalf, {64}, "scales [64] fit no quantization");
  refused(kHalf, {64, 0}, kHalf, {64, 0}, "scales [64, 0] fit no quantization");
  refused(kHalf, {64, 3}, kHalf, {64, 3}, "scales [64, 3] fit no quantization");
  refused(kHalf, {63, 2}, kHalf, {63, 2}, R"(scales": expected F16 [64, 2], got F16 [63, 2])");
  refused(kHalf, {64, 2}, DType::F32, {64, 2}, R"(biases": expected F16 [64, 2], got F32 [64, 2])");
  refused(kHalf, {64, 2}, kHalf, {64, 1}, R"(biases": expected F16 [64, 2], got F16 [64, 1])");
  refused(DType::I16, {64, 2}, DType::I16, {64, 2},
          R"(scales": expected F32, F16 or BF16 [64, 2], got I16 [64, 2])");
  refused(DType::U8, {64, 4}, DType::U8, {64, 4}, "mxfp4", ErrorCode::Unsupported);
}

TEST(WeightLoader, GroupsMustDivideTheColumns) {
  TinyMlxModel tiny("llama");
  tiny.config["quantization"] = affine(4, 64);
  tiny.config["quantization"].as_object()["model.embed_tokens"] = affine(4, 128);
  tiny.quantize("model.embed_tokens", 4, 64);
  expect_refused(tiny, "expected groups of 128 to divide 64 columns");
}

TEST(WeightLoader, ReadsAQuantizedEmbeddingAtAnotherWidth) {
  TinyMlxModel tiny("qwen3");
  tiny.quantize(kDown, 4, 64);
  tiny.quantize("model.embed_tokens", 8, 64, DType::BF16);
  tiny.config["quantization"] = affine(4, 64);
  const Model model = open_tiny(tiny);
  EXPECT_TRUE(model.spec.tied_head);
  EXPECT_FALSE(model.weights.head);
  EXPECT_EQ(model.weights.embedding.bits, 8);
  EXPECT_EQ(model.weights.embedding.dtype, DType::BF16);
}

TEST(WeightLoader, ATiedHeadsOwnWeightIsLeftAlone) {
  TinyMlxModel tiny("qwen3");
  tiny.add("lm_head.weight", DType::F32, {1, 1});
  EXPECT_FALSE(open_tiny(tiny).weights.head);
  tiny.add("lm_head.scales", DType::F32, {1, 1});
  expect_refused(tiny, R"(tensor "lm_head.scales" does not belong)");
}

TEST(WeightLoader, AnUntiedHeadMustBeThere) {
  TinyMlxModel tiny("qwen3");
  tiny.config["tie_word_embeddings"] = false;
  expect_refused(tiny, R"(tensor "lm_head.weight" is missing)");
  tiny.add("lm_head.weight", DType::F16, {kTinyVocabulary, kTinyHidden});
  EXPECT_EQ(open_tiny(tiny).weights.head->dtype, DType::F16);
}

TEST(WeightLoader, EveryTensorMustBeThereAndBelongToTheModel) {
  TinyMlxModel tiny("qwen3");
  tiny.tensors.erase("model.layers.1.self_attn.k_norm.weight");
  expect_refused(tiny, R"(tensor "model.layers.1.self_attn.k_norm.weight" is missing)");
  tiny = TinyMlxModel("qwen3");
  tiny.add("model.layers.2.mlp.up_proj.weight", DType::F32, {1});
  expect_refused(tiny, R"("model.layers.2.mlp.up_proj.weight" does not belong)");
  // Scales without a quantization block are not a model's either.
  tiny = TinyMlxModel("qwen3");
  tiny.add(kDown + ".scales", DType::F32, {64, 2});
  expect_refused(tiny, R"(down_proj.scales" does not belong)");
}

TEST(WeightLoader, OldRotaryTablesAreLeftAloneInLlamaOnly) {
  TinyMlxModel llama("llama");
  llama.add("model.layers.0.self_attn.rotary_emb.inv_freq", DType::F32, {8});
  EXPECT_NO_THROW(open_tiny(llama));
  TinyMlxModel qwen("qwen3");
  qwen.add("model.layers.0.self_attn.rotary_emb.inv_freq", DType::F32, {8});
  expect_refused(qwen, "does not belong");
}

TEST(WeightLoader, ChecksShapesAndElementTypes) {
  TinyMlxModel tiny("llama");
  tiny.add("model.norm.weight", DType::F32, {63});
  expect_refused(tiny, R"("model.norm.weight": expected F32 [64], got F32 [63])");
  tiny.add("model.norm.weight", DType::I32, {64});
  expect_refused(tiny, "expected F32, F16 or BF16 [64], got I32 [64]");
  tiny = TinyMlxModel("llama");
  tiny.add(kDown + ".weight", DType::F32, {128, 64});
  expect_refused(tiny, R"(down_proj.weight": expected F32 [64, 128], got F32 [128, 64])");
  tiny.add(kDown + ".weight", DType::F64, {64, 128});
  expect_refused(tiny, "got F64 [64, 128]");
}

TEST(WeightLoader, BiasesComeWithTheirLayers) {
  TinyMlxModel tiny("llama");
  tiny.config["attention_bias"] = true;
  tiny.config["mlp_bias"] = true;
  expect_refused(tiny, R"(q_proj.bias" is missing)");
  for (int i = 0; i < kTinyLayers; ++i) {
    const std::string layer = fmt::format("model.layers.{}.", i);
    tiny.add(layer + "self_attn.q_proj.bias", DType::F16, {64});
    tiny.add(layer + "self_attn.k_proj.bias", DType::F16, {32});
    tiny.add(layer + "self_attn.v_proj.bias", DType::F16, {32});
    tiny.add(layer + "self_attn.o_proj.bias", DType::F16, {64});
    tiny.add(layer + "mlp.gate_proj.bias", DType::F16, {128});
    tiny.add(layer + "mlp.up_proj.bias", DType::F16, {128});
    tiny.add(layer + "mlp.down_proj.bias", DType::F16, {64});
  }
  const LayerWeights layer = open_tiny(tiny).weights.layers[0];
  EXPECT_EQ(layer.k.bias->size, 32);
  EXPECT_EQ(layer.o.bias->size, 64);
  EXPECT_EQ(layer.up.bias->size, 128);
  EXPECT_EQ(layer.down.bias->dtype, DType::F16);
}

class GgufWeights : public testing::Test {
 protected:
  Model open(const GgufTestWriter& writer) const {
    folder_.write("model.gguf", writer.file());
    return open_model(folder_ / "model.gguf");
  }
  TestFolder folder_;
};

TEST_F(GgufWeights, AreBlocksOrDense) {
  const Model model = open(tiny_gguf(
      "qwen3", {.embedding = kGgmlF16, .matrices = kGgmlQ4_0, .head = kGgmlQ8_0, .tied = false}));
  EXPECT_EQ(model.weights.embedding.encoding, MatrixEncoding::Dense);
  EXPECT_EQ(model.weights.embedding.dtype, DType::F16);
  EXPECT_EQ(model.weights.head->dtype, DType::Q8_0);
  const LayerWeights& layer = model.weights.layers[1];
  EXPECT_EQ(layer.down.weight.encoding, MatrixEncoding::GgufBlock);
  EXPECT_EQ(layer.down.weight.dtype, DType::Q4_0);
  EXPECT_EQ(layer.down.weight.name, "blk.1.ffn_down");
  EXPECT_EQ(layer.down.weight.data.size(), static_cast<std::size_t>(64 * 128 / 32 * 18));
  EXPECT_EQ(layer.q_norm->size, kTinyHeadDim);
}

TEST_F(GgufWeights, OfLlamaHaveInterleavedQueryAndKeyRows) {
  const LayerWeights llama = open(tiny_gguf("llama")).weights.layers[0];
  EXPECT_EQ(llama.q.weight.interleaved_heads, kTinyHeads);
  EXPECT_EQ(llama.k.weight.interleaved_heads, kTinyKvHeads);
  EXPECT_EQ(llama.v.weight.interleaved_heads, 0);
  EXPECT_EQ(llama.o.weight.interleaved_heads, 0);
  const LayerWeights qwen = open(tiny_gguf("qwen3")).weights.layers[0];
  EXPECT_EQ(qwen.q.weight.interleaved_heads, 0);
  EXPECT_EQ(qwen.k.weight.interleaved_heads, 0);
}

TEST_F(GgufWeights, MustAllBelongToTheModel) {
  expect_error(ErrorCode::InvalidFile, R"("blk.0.attn_q.bias" does not belong)", [&] {
    open(tiny_gguf("llama").tensor("blk.0.attn_q.bias", {64}, kGgmlF32, std::string(256, '\0')));
  });
}

}  // namespace
}  // namespace emlx
