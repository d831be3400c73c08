#include "formats/model_config.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/quote.h"
#include "formats/json_fields.h"
#include "formats/model_limits.h"

namespace emlx {
namespace {

JsonFields fields_of(const JsonValue& config, const std::string& what) {
  if (!config.is_object()) fail(ErrorCode::InvalidFile, "{}: expected a JSON object", what);
  return {config.get_object(), what};
}

AffineParams read_affine(const JsonFields& fields) {
  const std::string mode = fields.text("mode").value_or("affine");
  if (mode != "affine")
    fail(ErrorCode::Unsupported, "{}: quantization mode {} is not supported (affine is)",
         fields.what(), quote(mode));
  AffineParams params;
  params.bits = fields.integer("bits", 1, 32).value_or(params.bits);
  params.group_size = fields.integer("group_size", 1, 1 << 16).value_or(params.group_size);
  if (!is_affine_params(params))
    fail(ErrorCode::Unsupported, "{}: {}-bit quantization with group size {} is not supported",
         fields.what(), params.bits, params.group_size);
  return params;
}

// Members other than the parameters are module paths with their own parameters, true or false.
QuantizationConfig read_quantization(const JsonFields& fields) {
  QuantizationConfig quantization;
  quantization.defaults = read_affine(fields);
  for (const auto& member : fields.members()) {
    const std::string path(member.key());
    if (member.value().is_object()) {
      quantization.modules[path] = read_affine(*fields.object(path));
    } else if (const bool* quantized = member.value().if_bool()) {
      quantization.modules[path] = *quantized ? std::optional(quantization.defaults) : std::nullopt;
    }
  }
  return quantization;
}

std::optional<QuantizationConfig> find_quantization(const JsonFields& fields) {
  if (const auto own = fields.object("quantization")) return read_quantization(*own);
  const auto other = fields.object("quantization_config");
  if (!other) return std::nullopt;
  if (const auto method = other->text("quant_method"))
    fail(ErrorCode::Unsupported, "{}: quantization method {} is not supported", fields.what(),
         quote(*method));
  return read_quantization(*other);
}

RopeScalingConfig read_rope_scaling(const JsonFields& fields) {
  RopeScalingConfig scaling;
  const auto type = fields.text("type");
  scaling.type = type && !type->empty() ? *type : fields.text("rope_type").value_or("default");
  scaling.factor = fields.number("factor", 1e-3, 1e6);
  scaling.low_freq_factor = fields.number("low_freq_factor", 1e-3, 1e6);
  scaling.high_freq_factor = fields.number("high_freq_factor", 1e-3, 1e6);
  scaling.original_max_position_embeddings =
      fields.integer("original_max_position_embeddings", 1, kMaxPositions);
  return scaling;
}

// transformers 5 puts all of RoPE's settings into rope_parameters; the older fields win.
void read_rope(const JsonFields& fields, ModelConfig& config) {
  const auto theta = [](const JsonFields& from) { return from.number("rope_theta", 1, 1e18); };
  const auto partial = [](const JsonFields& from) {
    return from.number("partial_rotary_factor", 0, 1);
  };
  config.rope_theta = theta(fields);
  config.rope_traditional = fields.boolean("rope_traditional").value_or(false);
  config.partial_rotary_factor = partial(fields).value_or(1);
  const auto scaling = fields.object("rope_scaling");
  const auto parameters = fields.object("rope_parameters");
  if (scaling) config.rope_scaling = read_rope_scaling(*scaling);
  if (!parameters) return;
  if (!scaling) config.rope_scaling = read_rope_scaling(*parameters);
  if (!config.rope_theta) config.rope_theta = theta(*parameters);
  config.partial_rotary_factor = partial(*parameters).value_or(config.partial_rotary_factor);
}

}  // namespace

bool is_affine_params(const AffineParams& params) noexcept {
  constexpr std::array kBits = {2, 3, 4, 5, 6, 8};
  constexpr std::array kGroups = {32, 64, 128};
  return std::find(kBits.begin(), kBits.end(), params.bits) != kBits.end() &&
         std::find(kGroups.begin(), kGroups.end(), params.group_size) != kGroups.end();
}

std::string read_model_type(const JsonValue& config, const std::string& what) {
  const JsonFields fields = fields_of(config, what);
  return fields.require("model_type", fields.text("model_type"));
}

ModelConfig parse_model_config(const JsonValue& value, const std::string& what) {
  const JsonFields fields = fields_of(value, what);
  const auto count = [&fields](const char* name, int max) {
    return fields.require(name, fields.integer(name, 1, max));
  };
  ModelConfig config;
  config.model_type = read_model_type(value, what);
  config.hidden_size = count("hidden_size", kMaxWidth);
  config.num_hidden_layers = count("num_hidden_layers", kMaxLayers);
  config.intermediate_size = count("intermediate_size", kMaxWidth);
  config.num_attention_heads = count("num_attention_heads", kMaxHeads);
  config.vocab_size = count("vocab_size", kMaxWidth);
  config.rms_norm_eps = fields.require("rms_norm_eps", fields.number("rms_norm_eps", 1e-12, 1));
  config.num_key_value_heads = fields.integer("num_key_value_heads", 1, kMaxHeads);
  config.head_dim = fields.integer("head_dim", 1, kMaxHeadDim);
  config.max_position_embeddings = fields.integer("max_position_embeddings", 1, kMaxPositions);
  read_rope(fields, config);
  config.tie_word_embeddings = fields.boolean("tie_word_embeddings");
  config.attention_bias = fields.boolean("attention_bias").value_or(false);
  config.mlp_bias = fields.boolean("mlp_bias").value_or(false);
  config.use_sliding_window = fields.boolean("use_sliding_window").value_or(false);
  config.hidden_act = fields.text("hidden_act").value_or(config.hidden_act);
  config.layer_types = fields.texts("layer_types").value_or(std::vector<std::string>());
  config.eos = fields.token_ids("eos_token_id");
  config.quantization = find_quantization(fields);
  return config;
}

std::vector<TokenId> parse_generation_eos(const JsonValue& config, const std::string& what) {
  return fields_of(config, what).token_ids("eos_token_id");
}

}  // namespace emlx
