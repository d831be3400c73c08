// Decodes token by token without ever splitting a character.
#pragma once

#include <string>

#include "base/token_id.h"
#include "tokenizer/tokenizer.h"

namespace emlx {

// One per sequence, not thread-safe. All pieces joined equal Tokenizer::decode() of all ids.
class StreamDecoder {
 public:
  // `tokenizer` must outlive the decoder.
  StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens);

  // The text that `id` made certain, valid UTF-8, often empty: bytes that later ones may still
  // complete to a character are held back.
  std::string append(TokenId id);

  // What was held back, as U+FFFD. The decoder starts afresh.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_tokens_;
  bool first_ = true;
  std::string pending_;  // an incomplete character
};

}  // namespace emlx
