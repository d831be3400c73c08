// Tiny models for tests.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/float16.h"
#include "base/json.h"
#include "formats/gguf_test_writer.h"
#include "formats/safetensors_writer.h"
#include "formats/test_support.h"

namespace emlx {

inline constexpr int kTinyHidden = 64, kTinyLayers = 2, kTinyHeads = 4, kTinyKvHeads = 2,
                     kTinyHeadDim = 16, kTinyIntermediate = 128, kTinyVocabulary = 96;

// The files of an MLX folder, to be changed before they are written.
class TinyMlxModel {
 public:
  struct Tensor {
    DType dtype;
    std::vector<std::int64_t> shape;
    std::string data;
  };

  JsonObject config;
  std::map<std::string, Tensor> tensors;

  // Float32 weights, a tied head.
  explicit TinyMlxModel(const std::string& family) {
    config = {{"model_type", family},
              {"hidden_size", kTinyHidden},
              {"num_hidden_layers", kTinyLayers},
              {"intermediate_size", kTinyIntermediate},
              {"num_attention_heads", kTinyHeads},
              {"num_key_value_heads", kTinyKvHeads},
              {"head_dim", kTinyHeadDim},
              {"vocab_size", kTinyVocabulary},
              {"max_position_embeddings", 512},
              {"rms_norm_eps", 1e-5},
              {"rope_theta", 10000},
              {"tie_word_embeddings", true},
              {"eos_token_id", 1}};
    add("model.embed_tokens.weight", DType::F32, {kTinyVocabulary, kTinyHidden});
    add("model.norm.weight", DType::F32, {kTinyHidden});
    for (int i = 0; i < kTinyLayers; ++i) {
      const std::string layer = fmt::format("model.layers.{}.", i);
      const int q = kTinyHeads * kTinyHeadDim;
      const int kv = kTinyKvHeads * kTinyHeadDim;
      add(layer + "input_layernorm.weight", DType::F32, {kTinyHidden});
      add(layer + "self_attn.q_proj.weight", DType::F32, {q, kTinyHidden});
      add(layer + "self_attn.k_proj.weight", DType::F32, {kv, kTinyHidden});
      add(layer + "self_attn.v_proj.weight", DType::F32, {kv, kTinyHidden});
      add(layer + "self_attn.o_proj.weight", DType::F32, {kTinyHidden, q});
      add(layer + "post_attention_layernorm.weight", DType::F32, {kTinyHidden});
      add(layer + "mlp.gate_proj.weight", DType::F32, {kTinyIntermediate, kTinyHidden});
      add(layer + "mlp.up_proj.weight", DType::F32, {kTinyIntermediate, kTinyHidden});
      add(layer + "mlp.down_proj.weight", DType::F32, {kTinyHidden, kTinyIntermediate});
      if (family != "qwen3") continue;
      add(layer + "self_attn.q_norm.weight", DType::F32, {kTinyHeadDim});
      add(layer + "self_attn.k_norm.weight", DType::F32, {kTinyHeadDim});
    }
  }

  // A tensor of random bytes (finite numbers if float).
  void add(const std::string& name, DType dtype, const std::vector<std::int64_t>& shape) {
    std::string data(static_cast<std::size_t>(byte_size(dtype, shape).value()), '\0');
    for (char& byte : data) byte = static_cast<char>(random_() & 0x3FU);
    tensors[name] = {dtype, shape, std::move(data)};
  }

  // Makes the module's weight an affine one.
  void quantize(const std::string& path, int bits, int group_size, DType dtype = DType::F16) {
    const std::vector<std::int64_t> shape = tensors.at(path + ".weight").shape;
    add(path + ".weight", DType::U32, {shape[0], shape[1] * bits / 32});
    add(path + ".scales", dtype, {shape[0], shape[1] / group_size});
    add(path + ".biases", dtype, {shape[0], shape[1] / group_size});
  }

  void write(const TestFolder& folder) const {
    folder.write("config.json", to_json(config));
    folder.write("tokenizer.json", "{\"text\": true}");
    std::vector<TensorInfo> infos;
    infos.reserve(tensors.size());
    for (const auto& [name, tensor] : tensors) infos.push_back({name, tensor.dtype, tensor.shape});
    SafetensorsWriter writer(folder / "model.safetensors", infos);
    for (const auto& [name, tensor] : tensors) writer.write(name, raw_bytes(tensor.data));
    writer.finish();
  }

 private:
  std::minstd_rand random_;
};

// ggml's numbers of types.
inline constexpr std::uint32_t kGgmlF32 = 0, kGgmlF16 = 1, kGgmlQ4_0 = 2, kGgmlQ4_1 = 3,
                               kGgmlQ8_0 = 8;

struct TinyGgufOptions {
  std::uint32_t embedding = kGgmlQ8_0, matrices = kGgmlQ4_1, head = kGgmlF16;
  bool tied = true;
  float scale = 0.0078125F;  // of every block, and every value of plain types
  bool number_rows = false;  // values of plain types are their row's number instead
};

// A GGUF file of the same shape, with a vocabulary of 96 tokens "t0", "t1", ...
inline GgufTestWriter tiny_gguf(const std::string& family, const TinyGgufOptions& options = {}) {
  GgufTestWriter writer;
  std::vector<std::string> tokens;
  tokens.reserve(kTinyVocabulary);
  for (int i = 0; i < kTinyVocabulary; ++i) tokens.push_back(fmt::format("t{}", i));
  writer.text("general.architecture", family)
      .u32(family + ".block_count", kTinyLayers)
      .u32(family + ".context_length", 512)
      .u32(family + ".embedding_length", kTinyHidden)
      .u32(family + ".feed_forward_length", kTinyIntermediate)
      .u32(family + ".attention.head_count", kTinyHeads)
      .u32(family + ".attention.head_count_kv", kTinyKvHeads)
      .f32(family + ".attention.layer_norm_rms_epsilon", 1e-5F)
      .f32(family + ".rope.freq_base", 100000.0F)
      .text("tokenizer.ggml.model", "gpt2")
      .texts("tokenizer.ggml.tokens", tokens)
      .u32("tokenizer.ggml.bos_token_id", 1)
      .u32("tokenizer.ggml.eos_token_id", 2)
      .text("tokenizer.chat_template", "{{ messages }}");
  std::minstd_rand random;
  const auto tensor = [&](const std::string& name, int rows, int cols, std::uint32_t type) {
    const auto half = GgufTestWriter::bytes(float_to_float16(options.scale));
    const int block_bytes = type == kGgmlQ4_0 ? 18 : type == kGgmlQ4_1 ? 20 : 34;
    const bool plain = type == kGgmlF32 || type == kGgmlF16;
    std::string data;
    for (int i = 0; plain && i < rows * cols; ++i) {
      const int row = i / cols;
      const float value = options.number_rows ? static_cast<float>(row) : options.scale;
      data += type == kGgmlF32 ? GgufTestWriter::bytes(value)
                               : GgufTestWriter::bytes(float_to_float16(value));
    }
    for (int i = 0; !plain && i < rows * cols / 32; ++i) {
      data += half + (type == kGgmlQ4_1 ? half : "");
      while (data.size() % static_cast<std::size_t>(block_bytes) != 0)
        data += static_cast<char>(random());
    }
    std::vector<std::uint64_t> axes = {static_cast<std::uint64_t>(cols)};
    if (rows > 1) axes.push_back(static_cast<std::uint64_t>(rows));
    writer.tensor(name, axes, type, data);
  };
  const int q = kTinyHeads * kTinyHeadDim;
  const int kv = kTinyKvHeads * kTinyHeadDim;
  tensor("token_embd.weight", kTinyVocabulary, kTinyHidden, options.embedding);
  for (int i = 0; i < kTinyLayers; ++i) {
    const std::string layer = fmt::format("blk.{}.", i);
    tensor(layer + "attn_norm.weight", 1, kTinyHidden, kGgmlF32);
    tensor(layer + "attn_q.weight", q, kTinyHidden, options.matrices);
    tensor(layer + "attn_k.weight", kv, kTinyHidden, options.matrices);
    tensor(layer + "attn_v.weight", kv, kTinyHidden, options.matrices);
    tensor(layer + "attn_output.weight", kTinyHidden, q, options.matrices);
    tensor(layer + "ffn_norm.weight", 1, kTinyHidden, kGgmlF32);
    tensor(layer + "ffn_gate.weight", kTinyIntermediate, kTinyHidden, options.matrices);
    tensor(layer + "ffn_up.weight", kTinyIntermediate, kTinyHidden, options.matrices);
    tensor(layer + "ffn_down.weight", kTinyHidden, kTinyIntermediate, options.matrices);
    if (family != "qwen3") continue;
    tensor(layer + "attn_q_norm.weight", 1, kTinyHeadDim, kGgmlF32);
    tensor(layer + "attn_k_norm.weight", 1, kTinyHeadDim, kGgmlF32);
  }
  tensor("output_norm.weight", 1, kTinyHidden, kGgmlF32);
  if (!options.tied) tensor("output.weight", kTinyVocabulary, kTinyHidden, options.head);
  return writer;
}

}  // namespace emlx
