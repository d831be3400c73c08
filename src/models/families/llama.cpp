#include "models/families/family.h"

namespace emlx {

const Family kLlama = {
    .name = "llama",
    .hf_class = "LlamaForCausalLM",
    .from_config = [](const ModelConfig& config,
                      const std::string& what) { return common_spec(config, what); },
    .from_gguf = [](const GgufMetadata& metadata,
                    const TensorSet& tensors) { return common_spec(metadata, tensors); },
    .gguf_interleaved_qk = true,
    .ignored_tensors = "self_attn.rotary_emb.inv_freq",
};

}  // namespace emlx
