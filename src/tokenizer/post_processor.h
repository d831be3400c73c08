// The post_processor of tokenizer.json: special tokens around a text.
#pragma once

#include <vector>

#include "base/json.h"
#include "base/token_id.h"

namespace emlx {

// Immutable, thread-safe.
class PostProcessor {
 public:
  // null, ByteLevel (which moves offsets only), TemplateProcessing with the text once in `single`,
  // or a Sequence with at most one template. Throws Error(InvalidFile) or Error(Unsupported).
  explicit PostProcessor(const JsonValue& value);

  const std::vector<TokenId>& prefix() const noexcept { return prefix_; }
  const std::vector<TokenId>& suffix() const noexcept { return suffix_; }

 private:
  void add_steps(const JsonValue& value);
  void read_template(const JsonObject& object);

  bool has_template_ = false;
  std::vector<TokenId> prefix_, suffix_;
};

}  // namespace emlx
