#include "base/error.h"
#include "models/families/family.h"

namespace emlx {
namespace {

DecoderSpec from_config(const ModelConfig& config, const std::string& what) {
  // Fields without a default that would be right for this family.
  const auto require = [&what](bool there, const char* name) {
    if (!there) fail(ErrorCode::InvalidFile, "{}: {} is missing", what, name);
  };
  require(config.num_key_value_heads.has_value(), "num_key_value_heads");
  require(config.head_dim.has_value(), "head_dim");
  require(config.max_position_embeddings.has_value(), "max_position_embeddings");
  require(config.tie_word_embeddings.has_value(), "tie_word_embeddings");
  require(config.rope_theta.has_value(), "rope_theta");
  DecoderSpec spec = common_spec(config, what);
  spec.qk_norm = true;
  return spec;
}

DecoderSpec from_gguf(const GgufMetadata& metadata, const TensorSet& tensors) {
  DecoderSpec spec = common_spec(metadata, tensors);
  spec.qk_norm = true;
  return spec;
}

}  // namespace

const Family kQwen3 = {
    .name = "qwen3",
    .hf_class = "Qwen3ForCausalLM",
    .from_config = from_config,
    .from_gguf = from_gguf,
    .gguf_interleaved_qk = false,
    .ignored_tensors = "",
};

}  // namespace emlx
