#include "tokenizer/normalizer.h"

#include "base/error.h"
#include "base/quote.h"
#include "tokenizer/json_members.h"
#include "tokenizer/nfc.h"

namespace emlx {

Normalizer::Normalizer(const JsonValue& value) {
  add_steps(value);
}

// Recurses as deep as the JSON parser lets a file nest.
void Normalizer::add_steps(const JsonValue& value) {
  if (value.is_null()) return;
  const JsonObject& object = as_object(value, "normalizer");
  const std::string_view type = type_of(object, "normalizer");
  if (type == "Sequence") {
    const JsonValue& list = required_member(object, "normalizers", "a normalizer Sequence");
    for (const JsonValue& step : as_array(list, "normalizers")) add_steps(step);
  } else if (type == "NFC") {
    nfc_ = true;
  } else {
    fail(ErrorCode::Unsupported, "tokenizer: expected a normalizer out of Sequence, NFC, got {}",
         quote(type));
  }
}

std::string_view Normalizer::apply(std::string_view text, std::string& storage) const {
  return nfc_ ? to_nfc(text, storage) : text;
}

}  // namespace emlx
