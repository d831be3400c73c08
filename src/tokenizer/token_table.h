// The texts of a vocabulary, found by text or by id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_id.h"

namespace emlx {

// Filled once, then read-only and thread-safe. Texts live in one block, ids may have gaps.
class TokenTable {
 public:
  // `count` bounds the number of tokens that will be added.
  explicit TokenTable(std::size_t count);

  // Throws Error(InvalidFile) if the id or the text is taken, or the id is negative or far above
  // the number of tokens (memory must not follow a number in a file).
  void add(std::string_view text, TokenId id);

  std::optional<TokenId> find(std::string_view text) const noexcept;

  // The text of `id`; nullopt if there is none. Lives as long as the table.
  std::optional<std::string_view> text(TokenId id) const noexcept;

  std::size_t count() const noexcept { return count_; }
  TokenId id_end() const noexcept { return static_cast<TokenId>(texts_.size()); }  // highest id + 1

 private:
  struct Span {
    std::uint32_t offset, length;
  };

  // Where `text` is in slots_, or the empty slot where it belongs.
  std::size_t slot_of(std::string_view text) const noexcept;

  std::size_t id_limit_, count_ = 0;
  std::string bytes_;
  std::vector<Span> texts_;           // [id]
  std::vector<std::uint32_t> slots_;  // open addressing over texts: id + 1, 0 empty
};

}  // namespace emlx
