// The kinds of model the project knows, and what the kinds have in common.
#pragma once

#include <string>
#include <string_view>

#include "formats/gguf_metadata.h"
#include "formats/model_config.h"
#include "formats/tensor_set.h"
#include "models/decoder_spec.h"

namespace emlx {

// Maps what a file says to a DecoderSpec. Errors are Error(InvalidFile / Unsupported), naming
// file (`what` for config.json) and field.
struct Family {
  std::string_view name;  // config.json's model_type and GGUF's general.architecture
  const char* hf_class;   // config.json's architectures
  DecoderSpec (*from_config)(const ModelConfig& config, const std::string& what);
  DecoderSpec (*from_gguf)(const GgufMetadata& metadata, const TensorSet& tensors);
  bool gguf_interleaved_qk;          // see Matrix::interleaved_heads
  std::string_view ignored_tensors;  // of an MLX directory; see WeightLayout::ignored
};

extern const Family kLlama;
extern const Family kQwen3;

// Throws Error(Unsupported) naming the architecture and those supported; `what` names the file.
const Family& find_family(std::string_view name, const std::string& what);

// The fields that mean the same in every dense decoder; families add what is theirs.
DecoderSpec common_spec(const ModelConfig& config, const std::string& what);
DecoderSpec common_spec(const GgufMetadata& metadata, const TensorSet& tensors);

}  // namespace emlx
