#include "tokenizer/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/json_members.h"

namespace emlx {
namespace {

constexpr std::uint32_t kEnd = std::numeric_limits<std::uint32_t>::max();

// Options that change the result and that no supported family uses.
void refuse_unsupported(const JsonObject& model) {
  const JsonValue& dropout = optional_member(model, "dropout");
  if (!dropout.is_null() && dropout != 0.0 && dropout != 0)
    fail(ErrorCode::Unsupported, "tokenizer: expected a BPE without dropout, got {}",
         quote(to_json(dropout)));
  if (bool_member(model, "byte_fallback", false, "the model"))
    fail(ErrorCode::Unsupported, "tokenizer: expected a BPE without byte_fallback, got one with");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const JsonValue& value = optional_member(model, affix);
    if (!value.is_null() && !as_string(value, affix).empty())
      fail(ErrorCode::Unsupported, "tokenizer: expected a BPE without {}, got {}", affix,
           quote(as_string(value, affix)));
  }
}

TokenTable read_vocab(const JsonObject& model) {
  const JsonObject& entries =
      as_object(required_member(model, "vocab", "the model"), "model.vocab");
  TokenTable vocab(entries.size());
  for (const auto& entry : entries) {
    const std::string_view text = entry.key();
    vocab.add(text, as_token_id(entry.value(), "an id in model.vocab"));
  }
  return vocab;
}

// A merge is "left right" or ["left", "right"].
std::pair<std::string_view, std::string_view> sides_of(const JsonValue& merge) {
  if (merge.is_array()) {
    const JsonArray& sides = merge.get_array();
    if (sides.size() == 2)
      return {as_string(sides[0], "the left of a merge"),
              as_string(sides[1], "the right of a merge")};
  } else {
    const std::string_view text = as_string(merge, "a merge");
    const std::size_t space = text.find(' ');
    if (space != std::string_view::npos) return {text.substr(0, space), text.substr(space + 1)};
  }
  fail(ErrorCode::InvalidFile, "tokenizer: expected a merge of two tokens, got {}",
       quote(to_json(merge)));
}

}  // namespace

MergeTable::MergeTable(std::size_t count) : slots_(std::bit_ceil(2 * count + 2), Slot{0, kNone}) {}

void MergeTable::add(TokenId left, TokenId right, std::uint32_t rank) noexcept {
  const std::uint64_t pair = std::uint64_t(left) << 32 | std::uint32_t(right);
  slots_[slot_of(pair)] = {pair, rank};
}

std::uint32_t MergeTable::rank(TokenId left, TokenId right) const noexcept {
  return slots_[slot_of(std::uint64_t(left) << 32 | std::uint32_t(right))].rank;
}

std::size_t MergeTable::slot_of(std::uint64_t pair) const noexcept {
  // Fibonacci hashing: the high bits of the product depend on all bits of the pair.
  const int bits = std::countr_zero(slots_.size());
  std::size_t slot = (pair * 0x9E3779B97F4A7C15u) >> (64 - bits);
  while (slots_[slot].rank != kNone && slots_[slot].pair != pair)
    slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

Bpe::Bpe(const JsonObject& model, bool byte_level)
    : vocab_(read_vocab(model)),
      merges_(as_array(required_member(model, "merges", "the model"), "model.merges").size()),
      byte_level_(byte_level),
      ignore_merges_(bool_member(model, "ignore_merges", false, "the model")),
      fuse_unknown_(bool_member(model, "fuse_unk", false, "the model")) {
  refuse_unsupported(model);
  add_merges(model.at("merges").get_array());
  if (const JsonValue& unknown = optional_member(model, "unk_token"); !unknown.is_null()) {
    const std::string_view text = as_string(unknown, "model.unk_token");
    unknown_ = vocab_.find(text);
    if (!unknown_)
      fail(ErrorCode::InvalidFile, "tokenizer: expected unk_token {} in model.vocab, got none",
           quote(text));
  }
  if (!byte_level) return;
  for (int byte = 0; byte < 256; ++byte)
    byte_ids_[byte] = vocab_.find(bytes_to_chars(std::string(1, static_cast<char>(byte))));
}

void Bpe::add_merges(const JsonArray& merges) {
  std::string text;
  auto id_of = [&](std::string_view token) {
    const auto id = vocab_.find(token);
    if (!id)
      fail(ErrorCode::InvalidFile, "tokenizer: expected merges of tokens in model.vocab, got {}",
           quote(token));
    return *id;
  };
  merged_.reserve(merges.size());
  for (const JsonValue& merge : merges) {
    // The first line of a merges.txt, kept by some converters.
    if (merge.is_string() && std::string_view(merge.get_string()).starts_with("#version")) continue;
    const auto [left, right] = sides_of(merge);
    text.assign(left).append(right);
    merges_.add(id_of(left), id_of(right), static_cast<std::uint32_t>(merged_.size()));
    merged_.push_back(id_of(text));
  }
}

void Bpe::encode(std::string_view word, std::vector<TokenId>& ids, Workspace& workspace) const {
  if (ignore_merges_) {
    if (const auto id = byte_level_ ? vocab_.find(bytes_to_chars(word)) : vocab_.find(word)) {
      ids.push_back(*id);
      return;
    }
  }
  split_symbols(word, workspace.symbols);
  if (workspace.symbols.empty()) return;
  merge_symbols(workspace);
  for (std::uint32_t i = 0; i != kEnd; i = workspace.symbols[i].next)
    ids.push_back(workspace.symbols[i].id);
}

// One symbol for each byte or character; what the vocabulary lacks becomes the unknown token, or
// vanishes if there is none.
void Bpe::split_symbols(std::string_view word, std::vector<Workspace::Symbol>& symbols) const {
  symbols.clear();
  bool after_unknown = false;
  while (!word.empty()) {
    const int length = byte_level_ ? 1 : decode_utf8(word).length;
    const auto id = byte_level_ ? byte_ids_[static_cast<unsigned char>(word[0])]
                                : vocab_.find(word.substr(0, length));
    if (id) {
      symbols.push_back({*id, 0, 0, 0});
    } else if (unknown_ && !(after_unknown && fuse_unknown_)) {
      symbols.push_back({*unknown_, 0, 0, 0});
    }
    after_unknown = !id;
    word.remove_prefix(length);
  }
}

// Repeats the best merge, the leftmost of equals. The queue may hold outdated entries: those whose
// rank is no longer that of their symbol.
void Bpe::merge_symbols(Workspace& workspace) const {
  std::vector<Workspace::Symbol>& symbols = workspace.symbols;
  std::vector<std::uint64_t>& queue = workspace.queue;
  const auto count = static_cast<std::uint32_t>(symbols.size());
  constexpr auto kBestFirst = std::greater<>();
  queue.clear();
  auto update_rank = [&](std::uint32_t index) {
    Workspace::Symbol& symbol = symbols[index];
    symbol.rank =
        symbol.next == kEnd ? MergeTable::kNone : merges_.rank(symbol.id, symbols[symbol.next].id);
    if (symbol.rank == MergeTable::kNone) return false;
    queue.push_back(std::uint64_t{symbol.rank} << 32 | index);
    return true;
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    symbols[i].previous = i == 0 ? kEnd : i - 1;
    symbols[i].next = i + 1 == count ? kEnd : i + 1;
  }
  for (std::uint32_t i = 0; i < count; ++i) update_rank(i);
  std::make_heap(queue.begin(), queue.end(), kBestFirst);
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), kBestFirst);
    const auto index = static_cast<std::uint32_t>(queue.back());
    const auto rank = static_cast<std::uint32_t>(queue.back() >> 32);
    queue.pop_back();
    Workspace::Symbol& left = symbols[index];
    if (left.rank != rank) continue;
    Workspace::Symbol& right = symbols[left.next];
    left.id = merged_[rank];
    left.next = right.next;
    right.rank = MergeTable::kNone;  // gone: its entries in the queue are void
    if (left.next != kEnd) symbols[left.next].previous = index;
    if (update_rank(index)) std::push_heap(queue.begin(), queue.end(), kBestFirst);
    if (left.previous != kEnd && update_rank(left.previous))
      std::push_heap(queue.begin(), queue.end(), kBestFirst);
  }
}

}  // namespace emlx
