#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "tokenizer/json_members.h"
#include "tokenizer/unicode.h"

namespace emlx {
namespace {

bool starts_with(std::string_view text, CharProperty property) {
  return !text.empty() && (char_properties()[decode_utf8(text).code_point] & property) != 0;
}

bool ends_with(std::string_view text, CharProperty property) {
  return !text.empty() && starts_with(last_char(text), property);
}

// Where the white space at the end of `text` begins.
std::size_t trailing_space(std::string_view text) {
  while (ends_with(text, kSpace)) text.remove_suffix(last_char(text).size());
  return text.size();
}

std::size_t leading_space(std::string_view text) {
  std::size_t pos = 0;
  while (starts_with(text.substr(pos), kSpace)) pos += first_char(text.substr(pos)).size();
  return pos;
}

AddedToken read_token(const JsonValue& value, const Normalizer& normalizer) {
  constexpr std::string_view kWhat = "an added token";
  const JsonObject& object = as_object(value, kWhat);
  AddedToken token;
  token.id = as_token_id(required_member(object, "id", kWhat), "the id of an added token");
  token.content =
      as_string(required_member(object, "content", kWhat), "the content of an added token");
  token.single_word = bool_member(object, "single_word", false, kWhat);
  token.lstrip = bool_member(object, "lstrip", false, kWhat);
  token.rstrip = bool_member(object, "rstrip", false, kWhat);
  token.special = bool_member(object, "special", false, kWhat);
  token.normalized = bool_member(object, "normalized", !token.special, kWhat);
  std::string storage;
  token.normalized_content =
      token.normalized ? normalizer.apply(token.content, storage) : token.content;
  return token;
}

}  // namespace

PatternMatcher::PatternMatcher(std::vector<std::pair<std::string, std::size_t>> patterns)
    : patterns_(std::move(patterns)) {
  std::sort(patterns_.begin(), patterns_.end());
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    const std::string& pattern = patterns_[i].first;
    if (i > 0 && pattern == patterns_[i - 1].first)
      fail(ErrorCode::InvalidFile, "tokenizer: expected different added tokens, got {} twice",
           quote(pattern));
    starts_[static_cast<unsigned char>(pattern[0])] = true;
  }
}

std::optional<PatternMatcher::Match> PatternMatcher::find(std::string_view text,
                                                          std::size_t from) const {
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    if (!starts_[static_cast<unsigned char>(text[begin])]) continue;
    // The patterns that agree with the text so far are neighbours; narrow them byte by byte.
    auto low = patterns_.begin(), high = patterns_.end();
    std::optional<Match> longest;
    for (std::size_t depth = 0; low != high && begin + depth < text.size(); ++depth) {
      auto byte_at = [depth](const auto& pattern) {  // -1 where the pattern has ended
        return depth < pattern.first.size() ? static_cast<unsigned char>(pattern.first[depth]) : -1;
      };
      const int byte = static_cast<unsigned char>(text[begin + depth]);
      low = std::partition_point(low, high, [&](const auto& p) { return byte_at(p) < byte; });
      high = std::partition_point(low, high, [&](const auto& p) { return byte_at(p) == byte; });
      if (low != high && low->first.size() == depth + 1)
        longest = Match{begin, begin + depth + 1, low->second};
    }
    if (longest) return longest;
  }
  return std::nullopt;
}

AddedTokens::AddedTokens(const JsonValue& list, const TokenTable& vocab,
                         const Normalizer& normalizer) {
  std::vector<std::pair<std::string, std::size_t>> raw, normalized;
  auto next_id = static_cast<TokenId>(vocab.count());
  if (!list.is_null()) {
    for (const JsonValue& value : as_array(list, "added_tokens")) {
      AddedToken token = read_token(value, normalizer);
      const auto known = vocab.find(token.content);
      const TokenId expected = known ? *known : next_id++;
      if (token.id != expected)
        fail(ErrorCode::InvalidFile, "tokenizer: expected added token {} to have id {}, got {}",
             quote(token.content), expected, token.id);
      if (token.content.empty())
        fail(ErrorCode::InvalidFile, "tokenizer: expected added token {} to have content, got none",
             token.id);
      const std::size_t index = tokens_.size();
      if (!by_content_.emplace(token.content, index).second ||
          !by_id_.emplace(token.id, index).second)
        fail(ErrorCode::InvalidFile, "tokenizer: expected added token {} once, got it twice",
             quote(token.content));
      (token.normalized ? normalized : raw).emplace_back(token.normalized_content, index);
      id_end_ = std::max(id_end_, token.id + 1);
      tokens_.push_back(std::move(token));
    }
  }
  raw_.emplace(std::move(raw));
  normalized_.emplace(std::move(normalized));
}

std::vector<AddedTokens::Segment> AddedTokens::split(std::string_view text,
                                                     const PatternMatcher& matcher) const {
  std::vector<Segment> segments;
  std::size_t done = 0;
  for (std::size_t from = 0; const auto match = matcher.find(text, from);) {
    from = match->end;
    const AddedToken& token = tokens_[match->value];
    std::size_t begin = match->begin, end = match->end;
    if (token.single_word &&
        (ends_with(text.substr(0, begin), kWord) || starts_with(text.substr(end), kWord)))
      continue;
    if (token.lstrip) begin = std::max(trailing_space(text.substr(0, begin)), done);
    if (token.rstrip) end += leading_space(text.substr(end));
    if (done < begin) segments.push_back({text.substr(done, begin - done), std::nullopt});
    if (begin < end) segments.push_back({text.substr(begin, end - begin), token.id});
    done = end;
  }
  if (done < text.size()) segments.push_back({text.substr(done), std::nullopt});
  return segments;
}

const AddedToken* AddedTokens::find(TokenId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

std::optional<TokenId> AddedTokens::find(std::string_view content) const {
  const auto found = by_content_.find(content);
  if (found == by_content_.end()) return std::nullopt;
  return tokens_[found->second].id;
}

bool AddedTokens::is_special(std::string_view text) const {
  const auto found = by_content_.find(text);
  return found != by_content_.end() && tokens_[found->second].special;
}

}  // namespace emlx
