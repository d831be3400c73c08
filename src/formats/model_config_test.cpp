#include "formats/model_config.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "formats/test_support.h"

namespace emlx {
namespace {

constexpr std::string_view kSmall = R"({
  "model_type": "qwen3", "hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 128,
  "num_attention_heads": 4, "vocab_size": 100, "rms_norm_eps": 1e-6)";

// kSmall with more members, written `"a": 1, "b": 2`; they win over kSmall's.
ModelConfig parse(const std::string& more = R"("x": 0)") {
  return parse_model_config(parse_json(std::string(kSmall) + "," + more + "}", "test"),
                            "config.json");
}

void expect_refused(const std::string& more, std::string_view part,
                    ErrorCode code = ErrorCode::InvalidFile) {
  expect_error(code, part, [&] { parse(more); });
}

TEST(ModelConfig, ReadsWhatIsThere) {
  const ModelConfig config = parse(R"("num_key_value_heads": 2, "head_dim": 32,
      "max_position_embeddings": 4096, "rope_theta": 1000000, "tie_word_embeddings": true,
      "attention_bias": true, "eos_token_id": [3, 4], "layer_types": ["full_attention"],
      "hidden_act": "gelu", "use_sliding_window": false, "unknown": {"a": []})");
  EXPECT_EQ(config.model_type, "qwen3");
  EXPECT_EQ(config.hidden_size, 64);
  EXPECT_EQ(config.num_hidden_layers, 2);
  EXPECT_EQ(config.intermediate_size, 128);
  EXPECT_EQ(config.num_attention_heads, 4);
  EXPECT_EQ(config.vocab_size, 100);
  EXPECT_EQ(config.rms_norm_eps, 1e-6);
  EXPECT_EQ(config.num_key_value_heads, 2);
  EXPECT_EQ(config.head_dim, 32);
  EXPECT_EQ(config.max_position_embeddings, 4096);
  EXPECT_EQ(config.rope_theta, 1e6);
  EXPECT_EQ(config.tie_word_embeddings, true);
  EXPECT_TRUE(config.attention_bias);
  EXPECT_FALSE(config.mlp_bias);
  EXPECT_EQ(config.eos, (std::vector<TokenId>{3, 4}));
  EXPECT_EQ(config.layer_types, std::vector<std::string>{"full_attention"});
  EXPECT_EQ(config.hidden_act, "gelu");
  EXPECT_FALSE(config.quantization);
}

TEST(ModelConfig, NullCountsAsAbsent) {
  const ModelConfig config = parse(R"("head_dim": null, "rope_scaling": null,
      "quantization": null, "eos_token_id": null, "layer_types": null)");
  EXPECT_EQ(config.head_dim, std::nullopt);
  EXPECT_EQ(config.rope_scaling.type, "default");
  EXPECT_EQ(config.hidden_act, "silu");
  EXPECT_TRUE(config.eos.empty());
  EXPECT_FALSE(config.quantization);
  expect_refused(R"("hidden_size": null)", "config.json: hidden_size is missing");
}

TEST(ModelConfig, EveryNumberHasATypeAndARange) {
  expect_refused(R"("hidden_size": -1)", "hidden_size: expected an integer of 1 to");
  expect_refused(R"("hidden_size": 0)", "hidden_size: expected an integer of 1 to");
  expect_refused(R"("hidden_size": 64.0)", "got \"64.0\"");
  expect_refused(R"("hidden_size": "64")", "hidden_size: expected an integer");
  expect_refused(R"("hidden_size": true)", "hidden_size: expected an integer");
  expect_refused(R"("num_hidden_layers": 5000)", "of 1 to 4096, got \"5000\"");
  expect_refused(R"("vocab_size": 18446744073709551615)", "vocab_size: expected an integer");
  expect_refused(R"("vocab_size": 4294967297)", "vocab_size: expected an integer");
  expect_refused(R"("rms_norm_eps": 0)", "rms_norm_eps: expected a number");
  expect_refused(R"("rms_norm_eps": "x")", "rms_norm_eps: expected a number");
  expect_refused(R"("rope_theta": -1)", "rope_theta: expected a number");
  expect_refused(R"("head_dim": 0)", "head_dim: expected an integer");
  expect_refused(R"("tie_word_embeddings": 1)", "tie_word_embeddings: expected true or false");
  expect_refused(R"("hidden_act": 1)", "hidden_act: expected text");
  expect_refused(R"("layer_types": [1])", "layer_types: expected a list of texts");
  expect_refused(R"("layer_types": "full_attention")", "layer_types: expected a list of texts");
  expect_refused(R"("eos_token_id": -1)", "eos_token_id: expected a token id");
  expect_refused(R"("eos_token_id": [1, "2"])", "eos_token_id: expected a token id");
  expect_refused(R"("eos_token_id": 2147483648)", "eos_token_id: expected a token id");
  expect_refused(R"("rope_scaling": [])", "rope_scaling: expected an object");
  expect_error(ErrorCode::InvalidFile, "config.json: expected a JSON object",
               [] { parse_model_config(JsonValue(1), "config.json"); });
  expect_error(ErrorCode::InvalidFile, "config.json: model_type is missing",
               [] { parse_model_config(parse_json("{}", "test"), "config.json"); });
}

TEST(ModelConfig, RopeSettingsMayLieInRopeParameters) {
  const ModelConfig both = parse(R"("rope_theta": 5, "rope_parameters": {"rope_theta": 7,
      "rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4.5,
      "original_max_position_embeddings": 512, "partial_rotary_factor": 0.5})");
  EXPECT_EQ(both.rope_theta, 5);
  EXPECT_EQ(both.rope_scaling.type, "llama3");
  EXPECT_EQ(both.rope_scaling.factor, 8);
  EXPECT_EQ(both.rope_scaling.low_freq_factor, 1);
  EXPECT_EQ(both.rope_scaling.high_freq_factor, 4.5);
  EXPECT_EQ(both.rope_scaling.original_max_position_embeddings, 512);
  EXPECT_EQ(both.partial_rotary_factor, 0.5);
  const ModelConfig alone = parse(R"("rope_parameters": {"rope_theta": 7})");
  EXPECT_EQ(alone.rope_theta, 7);
  EXPECT_EQ(alone.rope_scaling.type, "default");
  const ModelConfig older = parse(R"("rope_scaling": {"type": "linear", "rope_type": "x",
      "factor": 2}, "rope_parameters": {"rope_type": "yarn"})");
  EXPECT_EQ(older.rope_scaling.type, "linear");
  EXPECT_EQ(older.rope_theta, std::nullopt);
  expect_refused(R"("rope_scaling": {"type": "linear", "factor": 0})", "factor: expected a number");
}

TEST(ModelConfig, ReadsQuantizationWithItsModules) {
  const ModelConfig config = parse(R"("quantization": {"group_size": 64, "bits": 8,
      "mode": "affine", "model.a": false, "model.b": true, "model.c": {"group_size": 32, "bits": 4},
      "model.d": {"bits": 6}, "quant_method": "ignored"})");
  ASSERT_TRUE(config.quantization);
  EXPECT_EQ(config.quantization->defaults.bits, 8);
  EXPECT_EQ(config.quantization->defaults.group_size, 64);
  const auto& modules = config.quantization->modules;
  ASSERT_EQ(modules.size(), 4U);
  EXPECT_FALSE(modules.at("model.a"));
  EXPECT_EQ(modules.at("model.b")->bits, 8);
  EXPECT_EQ(modules.at("model.c")->bits, 4);
  EXPECT_EQ(modules.at("model.c")->group_size, 32);
  EXPECT_EQ(modules.at("model.d")->bits, 6);
  EXPECT_EQ(modules.at("model.d")->group_size, 64);
}

TEST(ModelConfig, QuantizationConfigCountsOnlyInTheSameForm) {
  EXPECT_EQ(parse(R"("quantization_config": {"group_size": 32, "bits": 4})")
                .quantization->defaults.group_size,
            32);
  EXPECT_EQ(parse(R"("quantization": {"bits": 8},
                     "quantization_config": {"quant_method": "awq"})")
                .quantization->defaults.bits,
            8);
  expect_refused(R"("quantization_config": {"quant_method": "gptq", "bits": 4})",
                 R"(quantization method "gptq" is not supported)", ErrorCode::Unsupported);
}

TEST(ModelConfig, NamesQuantizationsItDoesNotKnow) {
  expect_refused(R"("quantization": {"group_size": 32, "bits": 4, "mode": "mxfp4"})",
                 R"(mode "mxfp4" is not supported)", ErrorCode::Unsupported);
  expect_refused(R"("quantization": {"group_size": 16, "bits": 4})",
                 "4-bit quantization with group size 16 is not supported", ErrorCode::Unsupported);
  expect_refused(R"("quantization": {"bits": 4, "model.a": {"bits": 7}})",
                 "7-bit quantization with group size 64 is not supported", ErrorCode::Unsupported);
  expect_refused(R"("quantization": {"bits": "4"})", "bits: expected an integer");
  expect_refused(R"("quantization": 4)", "quantization: expected an object");
}

TEST(GenerationConfig, GivesItsEndTokens) {
  const auto eos = [](std::string_view text) {
    return parse_generation_eos(parse_json(text, "test"), "generation_config.json");
  };
  EXPECT_EQ(eos(R"({"eos_token_id": 5})"), std::vector<TokenId>{5});
  EXPECT_EQ(eos(R"({"eos_token_id": [5, 6]})"), (std::vector<TokenId>{5, 6}));
  EXPECT_TRUE(eos("{}").empty());
  expect_error(ErrorCode::InvalidFile, "generation_config.json: eos_token_id",
               [&] { eos(R"({"eos_token_id": {}})"); });
  expect_error(ErrorCode::InvalidFile, "expected a JSON object", [&] { eos("[]"); });
}

}  // namespace
}  // namespace emlx
