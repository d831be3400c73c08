#include "tokenizer/token_table.h"

#include <bit>
#include <functional>
#include <limits>

#include "base/error.h"
#include "base/quote.h"

namespace emlx {
namespace {

constexpr std::size_t kMaxGaps = 65536;  // ids without a text
constexpr std::uint32_t kNoText = std::numeric_limits<std::uint32_t>::max();

}  // namespace

TokenTable::TokenTable(std::size_t count) : id_limit_(count + kMaxGaps) {
  texts_.reserve(count);
  slots_.resize(std::bit_ceil(2 * count + 2));
}

void TokenTable::add(std::string_view text, TokenId id) {
  if (static_cast<std::size_t>(id) >= id_limit_)  // or negative
    fail(ErrorCode::InvalidFile, "tokenizer: expected a token id below {}, got {} for {}",
         id_limit_, id, quote(text));
  if (this->text(id))
    fail(ErrorCode::InvalidFile, "tokenizer: expected one token with id {}, got {} and {}", id,
         quote(*this->text(id)), quote(text));
  std::uint32_t& slot = slots_[slot_of(text)];
  if (slot != 0)
    fail(ErrorCode::InvalidFile, "tokenizer: expected one token {}, got ids {} and {}", quote(text),
         slot - 1, id);
  if (bytes_.size() + text.size() >= kNoText)
    fail(ErrorCode::InvalidFile, "tokenizer: expected less than 4 GiB of token texts, got more");
  slot = static_cast<std::uint32_t>(id) + 1;
  if (static_cast<std::size_t>(id) >= texts_.size())
    texts_.resize(id + std::size_t{1}, {kNoText, 0});
  texts_[id] = {static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(text.size())};
  bytes_ += text;
  ++count_;
}

std::optional<TokenId> TokenTable::find(std::string_view text) const noexcept {
  const std::uint32_t entry = slots_[slot_of(text)];
  if (entry == 0) return std::nullopt;
  return static_cast<TokenId>(entry - 1);
}

std::optional<std::string_view> TokenTable::text(TokenId id) const noexcept {
  if (id < 0 || id >= id_end() || texts_[id].offset == kNoText) return std::nullopt;
  return std::string_view(bytes_).substr(texts_[id].offset, texts_[id].length);
}

std::size_t TokenTable::slot_of(std::string_view text) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = std::hash<std::string_view>{}(text)&mask;
  while (slots_[slot] != 0 && *this->text(static_cast<TokenId>(slots_[slot] - 1)) != text)
    slot = (slot + 1) & mask;
  return slot;
}

}  // namespace emlx
