#include "tokenizer/stream_decoder.h"

#include <utility>

#include "base/utf8.h"

namespace emlx {

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens)
    : tokenizer_(&tokenizer), skip_special_tokens_(skip_special_tokens) {}

std::string StreamDecoder::append(TokenId id) {
  tokenizer_->append_bytes(id, skip_special_tokens_, first_, pending_);
  const std::size_t tail = incomplete_utf8_tail(pending_);
  std::string text =
      replace_invalid_utf8(std::string_view(pending_).substr(0, pending_.size() - tail));
  pending_.erase(0, pending_.size() - tail);
  return text;
}

std::string StreamDecoder::finish() {
  first_ = true;
  return replace_invalid_utf8(std::exchange(pending_, {}));
}

}  // namespace emlx
