#include "models/tensor_names.h"

#include <fmt/format.h>

namespace emlx {

const TensorNames kHuggingFaceNames = {
    .embedding = "model.embed_tokens",
    .layers = "model.layers.",
    .attention_norm = "input_layernorm",
    .q = "self_attn.q_proj",
    .k = "self_attn.k_proj",
    .v = "self_attn.v_proj",
    .q_norm = "self_attn.q_norm",
    .k_norm = "self_attn.k_norm",
    .o = "self_attn.o_proj",
    .mlp_norm = "post_attention_layernorm",
    .gate = "mlp.gate_proj",
    .up = "mlp.up_proj",
    .down = "mlp.down_proj",
    .final_norm = "model.norm",
    .head = "lm_head",
};

const TensorNames kGgufNames = {
    .embedding = "token_embd",
    .layers = "blk.",
    .attention_norm = "attn_norm",
    .q = "attn_q",
    .k = "attn_k",
    .v = "attn_v",
    .q_norm = "attn_q_norm",
    .k_norm = "attn_k_norm",
    .o = "attn_output",
    .mlp_norm = "ffn_norm",
    .gate = "ffn_gate",
    .up = "ffn_up",
    .down = "ffn_down",
    .final_norm = "output_norm",
    .head = "output",
};

std::string TensorNames::in_layer(int layer, const char* module) const {
  return fmt::format("{}{}.{}", layers, layer, module);
}

}  // namespace emlx
