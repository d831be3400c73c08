#include "models/families/family.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/json.h"
#include "formats/gguf.h"
#include "formats/test_support.h"
#include "models/test_support.h"

namespace emlx {
namespace {

// The tiny model's config.json with `more` members, written `"a": 1, "b": 2`; null removes one.
DecoderSpec spec_of(const std::string& family, const std::string& more = "") {
  JsonObject config = TinyMlxModel(family).config;
  const JsonValue changes = parse_json("{" + more + "}", "test");
  for (const auto& member : changes.get_object()) config[member.key()] = member.value();
  return find_family(family, "test")
      .from_config(parse_model_config(config, "config.json"), "some/config.json");
}

void expect_refused(const std::string& family, const std::string& more, std::string_view part,
                    ErrorCode code = ErrorCode::InvalidFile) {
  expect_error(code, part, [&] { spec_of(family, more); });
}

TEST(Family, MapsConfigToASpec) {
  const DecoderSpec llama = spec_of("llama");
  EXPECT_EQ(llama.family, "llama");
  EXPECT_EQ(llama.layers, kTinyLayers);
  EXPECT_EQ(llama.hidden, kTinyHidden);
  EXPECT_EQ(llama.heads, kTinyHeads);
  EXPECT_EQ(llama.kv_heads, kTinyKvHeads);
  EXPECT_EQ(llama.head_dim, kTinyHeadDim);
  EXPECT_EQ(llama.intermediate, kTinyIntermediate);
  EXPECT_EQ(llama.vocab, kTinyVocabulary);
  EXPECT_EQ(llama.max_positions, 512);
  EXPECT_EQ(llama.rms_eps, 1e-5F);
  EXPECT_EQ(llama.rope.dims, kTinyHeadDim);
  EXPECT_EQ(llama.rope.theta, 10000.0F);
  EXPECT_EQ(llama.rope.kind, RopeSpec::Kind::Default);
  EXPECT_FALSE(llama.qk_norm);
  EXPECT_FALSE(llama.attention_bias);
  EXPECT_TRUE(llama.tied_head);
  EXPECT_TRUE(spec_of("qwen3").qk_norm);
}

TEST(Family, LlamaHasDefaultsForWhatOlderFilesLeaveOut) {
  const DecoderSpec spec = spec_of("llama", R"("head_dim": null, "num_key_value_heads": null,
      "rope_theta": null, "tie_word_embeddings": null, "max_position_embeddings": null)");
  EXPECT_EQ(spec.head_dim, kTinyHidden / kTinyHeads);
  EXPECT_EQ(spec.kv_heads, kTinyHeads);
  EXPECT_EQ(spec.rope.theta, 10000.0F);
  EXPECT_TRUE(spec.tied_head);
  EXPECT_EQ(spec.max_positions, 2048);
}

TEST(Family, Qwen3NamesWhatIsMissing) {
  for (const char* name : {"head_dim", "num_key_value_heads", "rope_theta", "tie_word_embeddings",
                           "max_position_embeddings"})
    expect_refused("qwen3", fmt::format(R"("{}": null)", name),
                   fmt::format("some/config.json: {} is missing", name));
}

TEST(Family, ReadsTheRopeThetaWhereverItIs) {
  for (const char* family : {"llama", "qwen3"}) {
    EXPECT_EQ(spec_of(family, R"("rope_theta": 1000000)").rope.theta, 1e6F);
    EXPECT_EQ(spec_of(family, R"("rope_theta": null, "rope_parameters": {"rope_theta": 500000,
                                 "rope_type": "default"})")
                  .rope.theta,
              5e5F);
  }
}

TEST(Family, ReadsRopeScaling) {
  const RopeSpec linear =
      spec_of("llama", R"("rope_scaling": {"type": "linear", "factor": 4})").rope;
  EXPECT_EQ(linear.kind, RopeSpec::Kind::Linear);
  EXPECT_EQ(linear.scale, 0.25F);
  EXPECT_EQ(linear.factor, 4);
  const RopeSpec llama3 = spec_of("llama", R"("rope_scaling": {"rope_type": "llama3", "factor": 6.7,
      "low_freq_factor": 1.1, "high_freq_factor": 3.9, "original_max_position_embeddings": 64})")
                              .rope;
  EXPECT_EQ(llama3.kind, RopeSpec::Kind::Llama3);
  EXPECT_EQ(llama3.factor, 6.7);
  EXPECT_EQ(llama3.low_freq_factor, 1.1);
  EXPECT_EQ(llama3.high_freq_factor, 3.9);
  EXPECT_EQ(llama3.original_max_positions, 64);
  EXPECT_EQ(llama3.scale, 1.0F);
  EXPECT_EQ(spec_of("llama", R"("rope_scaling": {"rope_type": "llama3", "factor": 8})")
                .rope.original_max_positions,
            8192);
  EXPECT_TRUE(spec_of("llama", R"("rope_traditional": true)").rope.traditional);
  expect_refused("llama", R"("rope_scaling": {"type": "linear"})", "linear: factor is missing");
  expect_refused("llama", R"("rope_scaling": {"type": "llama3", "factor": 8,
      "low_freq_factor": 4, "high_freq_factor": 4})",
                 "high_freq_factor above low_freq_factor");
}

TEST(Family, NamesWhatItDoesNotSupport) {
  for (const char* type : {"yarn", "dynamic", "longrope", "su"})
    expect_refused("qwen3", fmt::format(R"("rope_scaling": {{"type": "{}", "factor": 2}})", type),
                   fmt::format("RoPE type \"{}\" is not supported", type), ErrorCode::Unsupported);
  expect_refused("llama", R"("hidden_act": "gelu")", R"(hidden_act "gelu" is not supported)",
                 ErrorCode::Unsupported);
  expect_refused("qwen3", R"("use_sliding_window": true)", "use_sliding_window is not supported",
                 ErrorCode::Unsupported);
  expect_refused("llama", R"("partial_rotary_factor": 0.5)", "partial_rotary_factor 0.5",
                 ErrorCode::Unsupported);
  expect_refused("llama", R"("layer_types": ["full_attention", "sliding_attention"])",
                 R"(layer type "sliding_attention" is not supported)", ErrorCode::Unsupported);
  expect_refused("llama", R"("layer_types": ["full_attention"])", "expected 2 layers, got 1");
  EXPECT_NO_THROW(spec_of("llama", R"("layer_types": ["full_attention", "full_attention"])"));
}

TEST(Family, ErrorsNameTheFile) {
  expect_refused("llama", R"("rope_scaling": {"type": "linear"})", "some/config.json: RoPE");
  expect_refused("llama", R"("rope_scaling": {"type": "yarn"})", "some/config.json: RoPE",
                 ErrorCode::Unsupported);
  expect_refused("llama", R"("rope_scaling": {"type": "llama3", "factor": 8,
      "low_freq_factor": 4, "high_freq_factor": 4})",
                 "some/config.json: RoPE");
  expect_refused("llama", R"("hidden_act": "gelu")", "some/config.json: hidden_act",
                 ErrorCode::Unsupported);
  expect_refused("llama", R"("layer_types": [""])", "some/config.json: layer_types");
  expect_refused("llama", R"("head_dim": 15)", "some/config.json: expected an even");
}

TEST(Family, HeadsMustFit) {
  expect_refused("llama", R"("num_key_value_heads": 3)", "a multiple of key heads, got 4 and 3");
  expect_refused("llama", R"("head_dim": 15)", "an even head size, got 15");
  expect_refused("llama", R"("head_dim": null, "num_attention_heads": 128,
      "num_key_value_heads": null)",
                 "an even head size, got 0");
}

class GgufFamily : public testing::Test {
 protected:
  DecoderSpec spec_of(const GgufTestWriter& writer, const std::string& family = "llama") const {
    folder_.write("model.gguf", writer.file());
    const GgufFile file = open_gguf(folder_ / "model.gguf");
    return find_family(family, "test").from_gguf(file.metadata, *file.tensors);
  }
  void expect_refused(const GgufTestWriter& writer, std::string_view part,
                      ErrorCode code = ErrorCode::InvalidFile) const {
    expect_error(code, part, [&] { spec_of(writer); });
  }
  TestFolder folder_;
};

TEST_F(GgufFamily, MapsMetadataToASpec) {
  const DecoderSpec llama = spec_of(tiny_gguf("llama"));
  EXPECT_EQ(llama.family, "llama");
  EXPECT_EQ(llama.layers, kTinyLayers);
  EXPECT_EQ(llama.hidden, kTinyHidden);
  EXPECT_EQ(llama.heads, kTinyHeads);
  EXPECT_EQ(llama.kv_heads, kTinyKvHeads);
  EXPECT_EQ(llama.head_dim, kTinyHeadDim);
  EXPECT_EQ(llama.intermediate, kTinyIntermediate);
  EXPECT_EQ(llama.vocab, kTinyVocabulary);
  EXPECT_EQ(llama.max_positions, 512);
  EXPECT_EQ(llama.rms_eps, 1e-5F);
  EXPECT_EQ(llama.rope.theta, 100000.0F);
  EXPECT_EQ(llama.rope.dims, kTinyHeadDim);
  EXPECT_EQ(llama.rope.kind, RopeSpec::Kind::Default);
  EXPECT_TRUE(llama.tied_head);
  EXPECT_FALSE(llama.qk_norm);
  const DecoderSpec qwen =
      spec_of(tiny_gguf("qwen3", {.tied = false}).u32("qwen3.attention.key_length", 32), "qwen3");
  EXPECT_EQ(qwen.head_dim, 32);
  EXPECT_FALSE(qwen.tied_head);
  EXPECT_TRUE(qwen.qk_norm);
}

TEST_F(GgufFamily, ReadsLinearRopeScaling) {
  const auto rope = [&](const GgufTestWriter& writer) { return spec_of(writer).rope; };
  EXPECT_EQ(rope(tiny_gguf("llama").f32("llama.rope.scaling.factor", 4)).scale, 0.25F);
  EXPECT_EQ(rope(tiny_gguf("llama").f32("llama.rope.scale_linear", 2)).scale, 0.5F);
  EXPECT_EQ(rope(tiny_gguf("llama").f32("llama.rope.scaling.factor", 0)).kind,
            RopeSpec::Kind::Default);
  EXPECT_EQ(rope(tiny_gguf("llama")
                     .text("llama.rope.scaling.type", "none")
                     .f32("llama.rope.scaling.factor", 4))
                .kind,
            RopeSpec::Kind::Default);
}

TEST_F(GgufFamily, NamesWhatItDoesNotSupport) {
  expect_refused(tiny_gguf("llama").text("llama.rope.scaling.type", "yarn"),
                 R"(llama.rope.scaling.type "yarn" is not supported)", ErrorCode::Unsupported);
  expect_refused(tiny_gguf("llama").u32("llama.expert_count", 8), "mixture of experts",
                 ErrorCode::Unsupported);
  expect_refused(tiny_gguf("llama").u32("llama.rope.dimension_count", 8),
                 "rope.dimension_count 8 (other than the head size 16)", ErrorCode::Unsupported);
  expect_refused(tiny_gguf("llama").u32("llama.attention.value_length", 8),
                 "attention.value_length 8", ErrorCode::Unsupported);
  expect_refused(
      tiny_gguf("llama").tensor("rope_freqs.weight", {8}, kGgmlF32, std::string(32, 'x')),
      "rope_freqs.weight", ErrorCode::Unsupported);
}

TEST_F(GgufFamily, NamesWhatIsMissingOrOutOfRange) {
  const auto start = [] { return GgufTestWriter().text("general.architecture", "llama"); };
  expect_refused(start(), "llama.block_count is missing");
  expect_refused(start().u32("llama.block_count", 0),
                 "llama.block_count: expected 1 to 4096, got 0");
  expect_refused(start().u32("llama.block_count", 5000), "expected 1 to 4096, got 5000");
  expect_refused(start().text("llama.block_count", "2"), "expected an integer");
  expect_refused(tiny_gguf("llama").f32("llama.rope.scaling.factor", -1), "expected 0 to");
  for (const char* key : {"llama.rope.scaling.factor", "llama.rope.scale_linear"})
    expect_refused(tiny_gguf("llama").f32(key, 1e-40F), fmt::format("{}: expected 0.001 to", key));
}

}  // namespace
}  // namespace emlx
