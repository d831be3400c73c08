// The pre_tokenizer of tokenizer.json: cuts text into the words the model sees.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tokenizer/split_patterns.h"

namespace emlx {

// Immutable, thread-safe.
class PreTokenizer {
 public:
  // Views into the text that was split, or into `owned` where a prefix space was added.
  struct Pieces {
    std::vector<std::string_view> views;
    std::deque<std::string> owned;
  };

  // null, Sequence, Split with a known regular expression, Digits, ByteLevel (last).
  // Throws Error(InvalidFile) or Error(Unsupported).
  explicit PreTokenizer(const JsonValue& value);

  // Replaces `pieces` with the words of `text` (valid UTF-8).
  void split(std::string_view text, Pieces& pieces) const;

  // Whether words go to the model byte by byte, in the byte-level alphabet.
  bool byte_level() const noexcept { return byte_level_; }

 private:
  struct Step {
    Splitter splitter;      // null: words stay as they are
    bool add_prefix_space;  // to words without one, before splitting
  };

  void add_steps(const JsonValue& value);

  std::vector<Step> steps_;
  bool byte_level_ = false;
};

}  // namespace emlx
