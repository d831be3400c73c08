// The vocabulary a GGUF file carries, as plain data: formats fills it in, tokenizer reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/token_id.h"

namespace emlx {

// tokenizer.ggml.token_type values (GGUF specification, "Tokenizer").
enum class VocabTokenType : std::int32_t {
  Normal = 1,
  Unknown = 2,
  Control = 3,
  UserDefined = 4,
  Unused = 5,
  Byte = 6
};

struct VocabData {
  std::string model;  // tokenizer.ggml.model: "gpt2" (byte-level BPE), "llama", "bert", "t5"
  std::string
      pre;  // tokenizer.ggml.pre: the pre-tokenizer's name ("qwen2", "smollm", ...), may be empty
  std::vector<std::string> tokens;    // [vocab], raw text (byte-level BPE: mapped characters)
  std::vector<VocabTokenType> types;  // [vocab] or empty
  std::vector<float> scores;          // [vocab] or empty
  std::vector<std::string> merges;    // "left right", best first
  std::optional<TokenId> bos, eos, unknown, padding;
  std::optional<bool> add_bos, add_eos, add_space_prefix;
};

}  // namespace emlx
