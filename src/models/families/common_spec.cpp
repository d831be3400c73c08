#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/quote.h"
#include "formats/model_limits.h"
#include "models/families/family.h"
#include "models/tensor_names.h"

namespace emlx {
namespace {

void check_heads(const DecoderSpec& spec, const std::string& what) {
  if (spec.heads % spec.kv_heads != 0)
    fail(ErrorCode::InvalidFile,
         "{}: expected query heads to be a multiple of key heads, got {} and {}", what, spec.heads,
         spec.kv_heads);
  if (spec.head_dim % 2 != 0 || spec.head_dim < 2)
    fail(ErrorCode::InvalidFile, "{}: expected an even head size, got {}", what, spec.head_dim);
}

void scale_linearly(RopeSpec& rope, double factor) {
  rope.kind = RopeSpec::Kind::Linear;
  rope.factor = factor;
  rope.scale = static_cast<float>(1.0 / factor);
}

RopeSpec rope_spec(const ModelConfig& config, int dims, const std::string& what) {
  const RopeScalingConfig& scaling = config.rope_scaling;
  RopeSpec rope;
  rope.dims = dims;
  rope.theta = static_cast<float>(config.rope_theta.value_or(double{rope.theta}));
  rope.traditional = config.rope_traditional;
  if (scaling.type == "default") return rope;
  if (scaling.type != "linear" && scaling.type != "llama3")
    fail(ErrorCode::Unsupported,
         "{}: RoPE type {} is not supported (default, linear and llama3 are)", what,
         quote(scaling.type));
  if (!scaling.factor)
    fail(ErrorCode::InvalidFile, "{}: RoPE type {}: factor is missing", what, scaling.type);
  if (scaling.type == "linear") {
    scale_linearly(rope, *scaling.factor);
    return rope;
  }
  rope.kind = RopeSpec::Kind::Llama3;
  rope.factor = *scaling.factor;
  rope.low_freq_factor = scaling.low_freq_factor.value_or(rope.low_freq_factor);
  rope.high_freq_factor = scaling.high_freq_factor.value_or(rope.high_freq_factor);
  rope.original_max_positions =
      scaling.original_max_position_embeddings.value_or(rope.original_max_positions);
  if (rope.high_freq_factor <= rope.low_freq_factor)
    fail(ErrorCode::InvalidFile,
         "{}: RoPE type llama3: expected high_freq_factor above low_freq_factor, got {} and {}",
         what, rope.high_freq_factor, rope.low_freq_factor);
  return rope;
}

// Refuses what would change the model's results if it were passed over.
void refuse_unknown_parts(const ModelConfig& config, const std::string& what) {
  const auto refuse = [&what](const std::string& part) {
    fail(ErrorCode::Unsupported, "{}: {} is not supported", what, part);
  };
  if (config.hidden_act != "silu") refuse("hidden_act " + quote(config.hidden_act));
  if (config.use_sliding_window) refuse("use_sliding_window");
  if (config.partial_rotary_factor != 1)
    refuse(fmt::format("partial_rotary_factor {}", config.partial_rotary_factor));
  if (config.layer_types.empty()) return;
  if (config.layer_types.size() != static_cast<std::size_t>(config.num_hidden_layers))
    fail(ErrorCode::InvalidFile, "{}: layer_types: expected {} layers, got {}", what,
         config.num_hidden_layers, config.layer_types.size());
  for (const std::string& type : config.layer_types)
    if (type != "full_attention") refuse("layer type " + quote(type));
}

// Reads `<architecture>.<name>` keys.
class GgufFields {
 public:
  explicit GgufFields(const GgufMetadata& metadata)
      : metadata_(metadata), prefix_(*metadata.text("general.architecture") + '.') {}

  std::optional<int> count(const char* name, int max) const {
    const auto value = metadata_.integer(prefix_ + name);
    if (!value) return std::nullopt;
    if (*value < 1 || *value > max)
      fail(ErrorCode::InvalidFile, "{}: {}{}: expected 1 to {}, got {}", metadata_.origin(),
           prefix_, name, max, *value);
    return static_cast<int>(*value);
  }
  std::optional<double> number(const char* name, double min, double max) const {
    const auto value = metadata_.number(prefix_ + name);
    if (!value) return std::nullopt;
    if (!(*value >= min && *value <= max))
      fail(ErrorCode::InvalidFile, "{}: {}{}: expected {} to {}, got {}", metadata_.origin(),
           prefix_, name, min, max, *value);
    return value;
  }
  std::optional<std::string> text(const char* name) const { return metadata_.text(prefix_ + name); }

  template <typename T>
  T require(const char* name, std::optional<T> value) const {
    if (!value)
      fail(ErrorCode::InvalidFile, "{}: {}{} is missing", metadata_.origin(), prefix_, name);
    return *value;
  }
  [[noreturn]] void refuse(const std::string& part) const {
    fail(ErrorCode::Unsupported, "{}: {}{} is not supported", metadata_.origin(), prefix_, part);
  }

 private:
  const GgufMetadata& metadata_;
  std::string prefix_;
};

RopeSpec rope_spec(const GgufFields& fields, int dims) {
  RopeSpec rope;
  rope.dims = dims;
  rope.theta = static_cast<float>(fields.number("rope.freq_base", 1, 1e18).value_or(rope.theta));
  // A factor without a type means linear scaling, and 0 means none.
  const std::string type = fields.text("rope.scaling.type").value_or("linear");
  const char* name = "rope.scaling.factor";
  auto factor = fields.number(name, 0, 1e6);
  if (!factor) factor = fields.number(name = "rope.scale_linear", 0, 1e6);
  if (type != "none" && type != "linear") fields.refuse("rope.scaling.type " + quote(type));
  if (type == "linear" && factor && *factor != 0 && *factor != 1)
    scale_linearly(rope, fields.require(name, fields.number(name, 1e-3, 1e6)));
  return rope;
}

}  // namespace

DecoderSpec common_spec(const ModelConfig& config, const std::string& what) {
  refuse_unknown_parts(config, what);
  DecoderSpec spec;
  spec.family = config.model_type;
  spec.layers = config.num_hidden_layers;
  spec.hidden = config.hidden_size;
  spec.heads = config.num_attention_heads;
  spec.kv_heads = config.num_key_value_heads.value_or(spec.heads);
  spec.head_dim = config.head_dim.value_or(spec.hidden / spec.heads);
  spec.intermediate = config.intermediate_size;
  spec.vocab = config.vocab_size;
  spec.max_positions = config.max_position_embeddings.value_or(2048);
  spec.rms_eps = static_cast<float>(config.rms_norm_eps);
  spec.attention_bias = config.attention_bias;
  spec.mlp_bias = config.mlp_bias;
  spec.tied_head = config.tie_word_embeddings.value_or(true);
  check_heads(spec, what);
  spec.rope = rope_spec(config, spec.head_dim, what);
  return spec;
}

DecoderSpec common_spec(const GgufMetadata& metadata, const TensorSet& tensors) {
  const GgufFields fields(metadata);
  const auto count = [&fields](const char* name, int max) {
    return fields.require(name, fields.count(name, max));
  };
  if (metadata.integer(*metadata.text("general.architecture") + ".expert_count").value_or(0) != 0)
    fields.refuse("expert_count (a mixture of experts)");
  DecoderSpec spec;
  spec.family = *metadata.text("general.architecture");
  spec.layers = count("block_count", kMaxLayers);
  spec.hidden = count("embedding_length", kMaxWidth);
  spec.heads = count("attention.head_count", kMaxHeads);
  spec.kv_heads = fields.count("attention.head_count_kv", kMaxHeads).value_or(spec.heads);
  spec.head_dim =
      fields.count("attention.key_length", kMaxHeadDim).value_or(spec.hidden / spec.heads);
  for (const char* name : {"attention.value_length", "rope.dimension_count"}) {
    const int size = fields.count(name, kMaxHeadDim).value_or(spec.head_dim);
    if (size != spec.head_dim)
      fields.refuse(fmt::format("{} {} (other than the head size {})", name, size, spec.head_dim));
  }
  spec.intermediate = count("feed_forward_length", kMaxWidth);
  spec.max_positions = count("context_length", kMaxPositions);
  constexpr const char* kEps = "attention.layer_norm_rms_epsilon";
  spec.rms_eps = static_cast<float>(fields.require(kEps, fields.number(kEps, 1e-12, 1)));
  const std::int64_t vocab =
      tensors.require(std::string(kGgufNames.embedding) + ".weight").shape.front();
  if (vocab > kMaxWidth)
    fail(ErrorCode::InvalidFile, "{}: expected at most {} tokens, got {}", metadata.origin(),
         kMaxWidth, vocab);
  spec.vocab = static_cast<int>(vocab);
  spec.tied_head = tensors.find(std::string(kGgufNames.head) + ".weight") == nullptr;
  check_heads(spec, metadata.origin());
  spec.rope = rope_spec(fields, spec.head_dim);
  // Llama 3's frequencies, as a table.
  if (tensors.find("rope_freqs.weight") != nullptr)
    fail(ErrorCode::Unsupported, "{}: tensor rope_freqs.weight (RoPE type llama3) is not supported",
         metadata.origin());
  return spec;
}

}  // namespace emlx
