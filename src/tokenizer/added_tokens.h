// Tokens found in the text before anything else: chat markers and the like.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/token_id.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/token_table.h"

namespace emlx {

struct AddedToken {
  TokenId id;
  std::string content;
  std::string normalized_content;  // what decoding yields; == content unless `normalized`
  bool single_word;                // matches only between non-word characters
  bool lstrip, rstrip;             // takes the white space before, after it along
  bool normalized;                 // is looked for in normalized text
  bool special;                    // left out by decoding on demand
};

// Finds the leftmost, then longest, of a set of patterns. Time is linear in the text and in the
// longest pattern.
class PatternMatcher {
 public:
  struct Match {
    std::size_t begin, end;
    std::size_t value;
  };

  // Throws Error(InvalidFile) if two patterns are equal. Patterns are not empty.
  explicit PatternMatcher(std::vector<std::pair<std::string, std::size_t>> patterns);

  std::optional<Match> find(std::string_view text, std::size_t from) const;

 private:
  std::vector<std::pair<std::string, std::size_t>> patterns_;  // sorted
  std::array<bool, 256> starts_{};                             // bytes some pattern starts with
};

// Immutable, thread-safe.
class AddedTokens {
 public:
  // A piece of text: an added token, with the white space it took along, or the text between.
  struct Segment {
    std::string_view text;
    std::optional<TokenId> token;
  };

  // `list` is added_tokens of tokenizer.json. Ids must be what HF tokenizers gives, which
  // ignores those in the file: the id in `vocab`, else the next one from the vocabulary's size on.
  // Throws Error(InvalidFile).
  AddedTokens(const JsonValue& list, const TokenTable& vocab, const Normalizer& normalizer);

  // Cuts text at tokens that are looked for in raw, or in normalized text. No segment is empty.
  std::vector<Segment> split_raw(std::string_view text) const { return split(text, *raw_); }
  std::vector<Segment> split_normalized(std::string_view text) const {
    return split(text, *normalized_);
  }

  // nullptr, nullopt if there is none.
  const AddedToken* find(TokenId id) const;
  std::optional<TokenId> find(std::string_view content) const;

  // Whether decoding skips tokens with this text.
  bool is_special(std::string_view text) const;

  TokenId id_end() const noexcept { return id_end_; }  // highest id + 1

 private:
  std::vector<Segment> split(std::string_view text, const PatternMatcher& matcher) const;

  std::vector<AddedToken> tokens_;
  std::unordered_map<TokenId, std::size_t> by_id_;
  std::map<std::string, std::size_t, std::less<>> by_content_;
  std::optional<PatternMatcher> raw_, normalized_;
  TokenId id_end_ = 0;
};

}  // namespace emlx
