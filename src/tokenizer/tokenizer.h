// Text to token ids and back, with the results of HF tokenizers.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "base/vocab_data.h"

namespace emlx {

// Immutable after loading: all members may be called from any thread at once. Move-only.
class Tokenizer {
 public:
  // From the text of a tokenizer.json. Its truncation and padding are not applied.
  // Throws Error(InvalidFile) if it is damaged, Error(Unsupported) if it names a part that is not
  // implemented.
  static Tokenizer from_json(std::string_view tokenizer_json);

  // From the vocabulary of a GGUF file; the same as from_json(tokenizer_json_from_vocab(vocab)).
  static Tokenizer from_vocab(const VocabData& vocab);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // The ids of `text`; ill-formed UTF-8 counts as U+FFFD. Added tokens in the text are recognised,
  // special ones too. `add_special_tokens` puts what the file's template wants around it, such as
  // BOS. Throws Error(InvalidArgument) for texts of 2 GiB or more.
  std::vector<TokenId> encode(std::string_view text, bool add_special_tokens) const;

  // The text of `ids`, always valid UTF-8: what is ill-formed in the joined bytes becomes U+FFFD.
  // Ids without a text add nothing; special tokens add nothing if they are to be skipped.
  std::string decode(std::span<const TokenId> ids, bool skip_special_tokens) const;

  // The token as the file writes it, "" if there is none.
  std::string token_text(TokenId id) const;

  // One step of decode(), before ill-formed bytes are replaced: appends what `id` adds to `bytes`.
  // `first` is true before the first token that counts, and false after it.
  void append_bytes(TokenId id, bool skip_special_tokens, bool& first, std::string& bytes) const;

  // The id of an added token, or of a vocabulary entry, with exactly this text.
  std::optional<TokenId> token_id(std::string_view content) const;

  // Whether decode() can skip `id` as a special token.
  bool is_special(TokenId id) const;

  // Highest id + 1. Models often have a few rows more.
  int vocab_size() const;

 private:
  struct State;
  explicit Tokenizer(std::unique_ptr<const State> state);

  std::unique_ptr<const State> state_;
};

// The tokenizer.json equivalent to a GGUF vocabulary, for HF tokenizers and what builds on it.
// Throws Error(InvalidFile) or Error(Unsupported), e.g. for an unknown pre-tokenizer name.
std::string tokenizer_json_from_vocab(const VocabData& vocab);

}  // namespace emlx
