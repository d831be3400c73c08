// What a decoder-only transformer is, as data: families fill it in, executors read it.
#pragma once

#include <string>

namespace emlx {

// Rotary position embedding. Angles: position * scale / frequency(i), i in [0, dims/2).
struct RopeSpec {
  enum class Kind { Default, Linear, Llama3 };
  Kind kind = Kind::Default;
  int dims = 0;              // leading elements of a head that rotate
  float theta = 10000.0F;    // frequency(i) = theta^(2i/dims)
  bool traditional = false;  // false: element i pairs with i + dims/2; true: with its neighbour
  float scale = 1.0F;        // Linear: 1/factor; else 1
  // As in config.json's rope_scaling; double, since mlx_lm rounds only their quotients.
  double factor = 1;                                 // Linear and Llama3
  double low_freq_factor = 1, high_freq_factor = 4;  // these and what follows: Llama3 only
  int original_max_positions = 8192;
};

// Pre-norm decoder: h += o(attention(q, k, v)); h += down(silu(gate) * up); RMSNorm before each and
// at the end.
struct DecoderSpec {
  std::string family;  // "qwen3", "llama": config.json's model_type or GGUF's general.architecture
  int layers = 0;
  int hidden = 0;
  int heads = 0;  // query heads; a multiple of kv_heads (GQA)
  int kv_heads = 0;
  int head_dim = 0;  // attention scale is head_dim^-0.5
  int intermediate = 0;
  int vocab = 0;  // rows of the embedding and of the head
  int max_positions = 0;
  float rms_eps = 1e-6F;
  bool qk_norm = false;         // RMSNorm over head_dim on q and k before RoPE
  bool attention_bias = false;  // biases on q, k, v, o
  bool mlp_bias = false;        // biases on gate, up, down
  bool tied_head = false;       // the head is the embedding
  RopeSpec rope;
};

}  // namespace emlx
