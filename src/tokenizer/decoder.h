// The decoder of tokenizer.json: texts of tokens back to bytes.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace emlx {

// Immutable, thread-safe.
class Decoder {
 public:
  // ByteLevel, or null: tokens joined with spaces. Throws Error(InvalidFile) or Error(Unsupported).
  explicit Decoder(const JsonValue& value);

  // Appends the bytes that a token with the vocabulary text `token` stands for.
  void append_token(std::string& bytes, std::string_view token) const;

  // What goes between two tokens.
  std::string_view separator() const noexcept { return byte_level_ ? "" : " "; }

 private:
  bool byte_level_ = false;
};

}  // namespace emlx
