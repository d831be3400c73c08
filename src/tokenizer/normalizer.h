// The normalizer of tokenizer.json.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace emlx {

// Immutable, thread-safe.
class Normalizer {
 public:
  // null, NFC, or a Sequence of these. Throws Error(InvalidFile) or Error(Unsupported).
  explicit Normalizer(const JsonValue& value);

  // `text` (valid UTF-8) normalized: `text` itself where nothing changes, else a view of `storage`,
  // which may be overwritten.
  std::string_view apply(std::string_view text, std::string& storage) const;

 private:
  void add_steps(const JsonValue& value);

  bool nfc_ = false;
};

}  // namespace emlx
