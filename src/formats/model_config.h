// config.json and generation_config.json as plain structs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/token_id.h"

namespace emlx {

// Parameters of MLX's affine quantization. The pair is one MLX has: bits 2, 3, 4, 5, 6 or 8, group
// size 32, 64 or 128.
struct AffineParams {
  int bits = 4;
  int group_size = 64;
};
bool is_affine_params(const AffineParams& params) noexcept;

struct QuantizationConfig {
  AffineParams defaults;
  // By module path ("model.layers.0.mlp.up_proj"): parameters other than inferred from the weights'
  // shapes, or none where the module is not quantized.
  std::map<std::string, std::optional<AffineParams>, std::less<>> modules;
};

struct RopeScalingConfig {
  std::string type = "default";
  std::optional<double> factor, low_freq_factor, high_freq_factor;
  std::optional<int> original_max_position_embeddings;
};

// What the families read of config.json; names as there. Every number lies in a range that lets
// products of two of them be computed in 64 bits.
struct ModelConfig {
  std::string model_type;
  int hidden_size = 0;
  int num_hidden_layers = 0;
  int intermediate_size = 0;
  int num_attention_heads = 0;
  int vocab_size = 0;
  double rms_norm_eps = 0;
  std::optional<int> num_key_value_heads, head_dim, max_position_embeddings;
  std::optional<double> rope_theta;  // or rope_parameters'
  bool rope_traditional = false;
  RopeScalingConfig rope_scaling;  // or rope_parameters
  double partial_rotary_factor = 1;
  std::optional<bool> tie_word_embeddings;
  bool attention_bias = false, mlp_bias = false;
  bool use_sliding_window = false;
  std::string hidden_act = "silu";
  std::vector<std::string> layer_types;  // one a layer, or empty
  std::vector<TokenId> eos;
  std::optional<QuantizationConfig> quantization;
};

// The file's model_type alone, so that an unknown kind is named before its fields are judged.
std::string read_model_type(const JsonValue& config, const std::string& what);

// `what` names the file. Throws Error(InvalidFile) for a missing or impossible field and
// Error(Unsupported) for a quantization other than MLX's affine, naming it.
ModelConfig parse_model_config(const JsonValue& config, const std::string& what);

// generation_config.json: its end-of-text tokens, empty if it has none.
std::vector<TokenId> parse_generation_eos(const JsonValue& config, const std::string& what);

}  // namespace emlx
