// A model on disk, opened and checked.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/token_id.h"
#include "base/vocab_data.h"
#include "models/decoder_spec.h"
#include "models/weights.h"

namespace emlx {

class TensorSet;

// Everything the files say. Immutable once opened; `weights` points into the mapped files that
// `tensors` keeps alive.
struct Model {
  std::string name;  // folder name, or file name without .gguf; shown to clients, never a path
  DecoderSpec spec;
  DecoderWeights weights;
  std::shared_ptr<const TensorSet> tensors;
  std::string quantization;  // for people: "4-bit affine, group 64", "Q4_1", "bfloat16", ...

  // The text side, for the tokenizer and chat layers: tokenizer.json's text or a GGUF vocabulary
  // (exactly one is there).
  std::string tokenizer_json;
  std::optional<VocabData> vocab;
  JsonValue tokenizer_config;  // tokenizer_config.json, or null
  std::optional<std::string>
      chat_template;         // chat_template.jinja or GGUF's; tokenizer_config may hold one too
  std::vector<TokenId> eos;  // config.json's, replaced by generation_config.json's if that has any;
                             // GGUF's eos (and eot)
};

// Opens an MLX directory (config.json, model*.safetensors, tokenizer.json, ...) or a .gguf file.
// Every file is checked; weights are mapped, not read. Throws Error(InvalidFile / Unsupported) with
// one line that names the file.
Model open_model(const std::filesystem::path& path);

}  // namespace emlx
