// Byte-pair encoding: words to ids by ranked merges.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/token_id.h"
#include "tokenizer/token_table.h"

namespace emlx {

// The rank of a merge by the ids of its two sides; lower ranks merge first.
class MergeTable {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  explicit MergeTable(std::size_t count);

  // Of two equal pairs the later rank holds. Throws nothing; at most `count` pairs may be added.
  void add(TokenId left, TokenId right, std::uint32_t rank) noexcept;

  // kNone if the pair does not merge.
  std::uint32_t rank(TokenId left, TokenId right) const noexcept;

 private:
  struct Slot {
    std::uint64_t pair;
    std::uint32_t rank;
  };

  std::size_t slot_of(std::uint64_t pair) const noexcept;

  std::vector<Slot> slots_;  // open addressing; rank kNone: empty
};

// Immutable, thread-safe.
class Bpe {
 public:
  // Memory reused from word to word; one per thread.
  struct Workspace {
    struct Symbol {
      TokenId id;
      std::uint32_t previous, next;  // indices
      std::uint32_t rank;            // of the merge with the next symbol
    };
    std::vector<Symbol> symbols;
    std::vector<std::uint64_t> queue;  // heap of rank << 32 | index of the left symbol
  };

  // `model` is the model of tokenizer.json. With `byte_level` words are bytes whose vocabulary text
  // is in the byte-level alphabet. Throws Error(InvalidFile) or Error(Unsupported).
  Bpe(const JsonObject& model, bool byte_level);

  // Appends the ids of one word (at most 2^31 bytes). Time is n log n in its length.
  void encode(std::string_view word, std::vector<TokenId>& ids, Workspace& workspace) const;

  const TokenTable& vocab() const noexcept { return vocab_; }

 private:
  void add_merges(const JsonArray& merges);
  void split_symbols(std::string_view word, std::vector<Workspace::Symbol>& symbols) const;
  void merge_symbols(Workspace& workspace) const;

  TokenTable vocab_;
  MergeTable merges_;
  std::vector<TokenId> merged_;  // [rank] the id a merge makes
  bool byte_level_, ignore_merges_, fuse_unknown_;
  std::optional<TokenId> unknown_;
  std::array<std::optional<TokenId>, 256> byte_ids_;  // with byte_level
};

}  // namespace emlx
