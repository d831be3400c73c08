#include "tokenizer/decoder.h"

#include "base/error.h"
#include "base/quote.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/json_members.h"

namespace emlx {

Decoder::Decoder(const JsonValue& value) {
  if (value.is_null()) return;
  const std::string_view type = type_of(as_object(value, "decoder"), "decoder");
  if (type != "ByteLevel")
    fail(ErrorCode::Unsupported, "tokenizer: expected a ByteLevel decoder, got {}", quote(type));
  byte_level_ = true;
}

void Decoder::append_token(std::string& bytes, std::string_view token) const {
  if (byte_level_) {
    append_bytes_of_chars(bytes, token);
  } else {
    bytes += token;
  }
}

}  // namespace emlx
