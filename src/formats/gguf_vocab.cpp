#include "formats/gguf_vocab.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "formats/model_limits.h"

namespace emlx {
namespace {

template <typename T>
T require(std::optional<T> value, const GgufMetadata& metadata, const char* key) {
  if (!value) fail(ErrorCode::InvalidFile, "{}: {} is missing", metadata.origin(), key);
  return std::move(*value);
}

std::optional<TokenId> read_id(const GgufMetadata& metadata, const char* key, std::size_t tokens) {
  const auto id = metadata.integer(key);
  if (!id) return std::nullopt;
  if (*id < 0 || static_cast<std::uint64_t>(*id) >= tokens)
    fail(ErrorCode::InvalidFile, "{}: {}: expected a token id below {}, got {}", metadata.origin(),
         key, tokens, *id);
  return static_cast<TokenId>(*id);
}

void check_length(std::size_t length, const VocabData& vocab, const GgufMetadata& metadata,
                  const char* key) {
  if (length != vocab.tokens.size())
    fail(ErrorCode::InvalidFile, "{}: {}: expected {} entries, got {}", metadata.origin(), key,
         vocab.tokens.size(), length);
}

void read_types(const GgufMetadata& metadata, VocabData& vocab) {
  constexpr const char* kKey = "tokenizer.ggml.token_type";
  const auto types = metadata.integers(kKey);
  if (!types) return;
  check_length(types->size(), vocab, metadata, kKey);
  for (const std::int64_t type : *types) {
    if (type < static_cast<int>(VocabTokenType::Normal) ||
        type > static_cast<int>(VocabTokenType::Byte))
      fail(ErrorCode::InvalidFile, "{}: {}: expected types of 1 to 6, got {}", metadata.origin(),
           kKey, type);
    vocab.types.push_back(static_cast<VocabTokenType>(type));
  }
}

void read_scores(const GgufMetadata& metadata, VocabData& vocab) {
  constexpr const char* kKey = "tokenizer.ggml.scores";
  const auto scores = metadata.numbers(kKey);
  if (!scores) return;
  check_length(scores->size(), vocab, metadata, kKey);
  for (const double score : *scores) {
    if (!(std::abs(score) <= static_cast<double>(std::numeric_limits<float>::max())))
      fail(ErrorCode::InvalidFile, "{}: {}: expected finite float scores, got {}",
           metadata.origin(), kKey, score);
    vocab.scores.push_back(static_cast<float>(score));
  }
}

}  // namespace

VocabData read_gguf_vocab(const GgufMetadata& metadata) {
  VocabData vocab;
  vocab.model = require(metadata.text("tokenizer.ggml.model"), metadata, "tokenizer.ggml.model");
  vocab.pre = metadata.text("tokenizer.ggml.pre").value_or("");
  vocab.tokens =
      require(metadata.texts("tokenizer.ggml.tokens"), metadata, "tokenizer.ggml.tokens");
  const std::size_t tokens = vocab.tokens.size();
  if (tokens == 0 || tokens > std::size_t{kMaxWidth})
    fail(ErrorCode::InvalidFile, "{}: tokenizer.ggml.tokens: expected 1 to {} tokens, got {}",
         metadata.origin(), kMaxWidth, tokens);
  read_types(metadata, vocab);
  read_scores(metadata, vocab);
  vocab.merges = metadata.texts("tokenizer.ggml.merges").value_or(std::vector<std::string>());
  vocab.bos = read_id(metadata, "tokenizer.ggml.bos_token_id", tokens);
  vocab.eos = read_id(metadata, "tokenizer.ggml.eos_token_id", tokens);
  vocab.unknown = read_id(metadata, "tokenizer.ggml.unknown_token_id", tokens);
  vocab.padding = read_id(metadata, "tokenizer.ggml.padding_token_id", tokens);
  vocab.add_bos = metadata.boolean("tokenizer.ggml.add_bos_token");
  vocab.add_eos = metadata.boolean("tokenizer.ggml.add_eos_token");
  vocab.add_space_prefix = metadata.boolean("tokenizer.ggml.add_space_prefix");
  return vocab;
}

std::vector<TokenId> read_gguf_eos(const GgufMetadata& metadata, const VocabData& vocab) {
  std::vector<TokenId> ids;
  if (vocab.eos) ids.push_back(*vocab.eos);
  const auto eot = read_id(metadata, "tokenizer.ggml.eot_token_id", vocab.tokens.size());
  if (eot && eot != vocab.eos) ids.push_back(*eot);
  return ids;
}

}  // namespace emlx
