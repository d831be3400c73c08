#include "tokenizer/vocab_json.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "tokenizer/split_patterns.h"

namespace emlx {
namespace {

// What tokenizer.ggml.pre stands for. A missing one, or "default", says nothing: to guess would
// give wrong ids without a word.
struct Recipe {
  std::string_view name;
  bool nfc;
  std::string_view split;  // a Split pattern; "" means ByteLevel's own
  bool single_digits;
  bool ignore_merges, add_bos;  // `add_bos` unless the file says otherwise
};
constexpr std::array kRecipes = {
    Recipe{"gpt-2", false, "", false, false, false},
    Recipe{"smollm", false, "", true, false, false},
    Recipe{"qwen2", true, kQwen2Pattern, false, false, false},
    Recipe{"deepseek-r1-qwen", true, kQwen2Pattern, false, false, false},
    Recipe{"llama-bpe", false, kLlama3Pattern, false, true, true},
    Recipe{"llama-v3", false, kLlama3Pattern, false, true, true},
    Recipe{"llama3", false, kLlama3Pattern, false, true, true},
};

const Recipe& recipe_for(const VocabData& vocab) {
  if (vocab.model != "gpt2")
    fail(ErrorCode::Unsupported, "tokenizer: expected a vocabulary of model gpt2, got {}",
         quote(vocab.model));
  const auto recipe = std::find_if(kRecipes.begin(), kRecipes.end(),
                                   [&](const Recipe& known) { return known.name == vocab.pre; });
  if (recipe == kRecipes.end())
    fail(ErrorCode::Unsupported,
         "tokenizer: expected tokenizer.ggml.pre to be gpt-2, smollm, qwen2 or llama-bpe, got {}",
         quote(vocab.pre));
  return *recipe;
}

JsonObject byte_level(bool add_prefix_space, bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

JsonObject pre_tokenizer(const Recipe& recipe, bool add_prefix_space) {
  JsonArray steps;
  if (recipe.single_digits)
    steps.push_back(JsonObject{{"type", "Digits"}, {"individual_digits", true}});
  if (!recipe.split.empty())
    steps.push_back(JsonObject{{"type", "Split"},
                               {"pattern", JsonObject{{"Regex", recipe.split}}},
                               {"behavior", "Isolated"},
                               {"invert", false}});
  steps.push_back(byte_level(add_prefix_space, recipe.split.empty()));
  return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
}

const std::string& text_of(const VocabData& vocab, TokenId id, std::string_view what) {
  if (static_cast<std::size_t>(id) >= vocab.tokens.size())  // or negative
    fail(ErrorCode::InvalidFile, "tokenizer: expected a {} id below {}, got {}", what,
         vocab.tokens.size(), id);
  return vocab.tokens[id];
}

// A TemplateProcessing that puts BOS before and EOS after the text, as asked; null for neither.
JsonValue post_processor(const VocabData& vocab, const Recipe& recipe) {
  const bool bos = vocab.add_bos.value_or(recipe.add_bos) && vocab.bos;
  const bool eos = vocab.add_eos.value_or(false) && vocab.eos;
  if (!bos && !eos) return nullptr;
  JsonObject specials;
  auto special = [&](TokenId id, std::string_view what) -> JsonValue {
    const std::string& text = text_of(vocab, id, what);
    specials[text] = {{"id", text}, {"ids", JsonArray{id}}, {"tokens", JsonArray{JsonValue(text)}}};
    return {{"SpecialToken", JsonObject{{"id", text}, {"type_id", 0}}}};
  };
  auto sequence = [](const char* id) -> JsonValue {
    return {{"Sequence", JsonObject{{"id", id}, {"type_id", 0}}}};
  };
  JsonArray single, pair;
  for (const char* id : {"A", "B"}) {
    JsonArray around;
    if (bos) around.push_back(special(*vocab.bos, "BOS"));
    around.push_back(sequence(id));
    if (eos) around.push_back(special(*vocab.eos, "EOS"));
    if (single.empty()) single = around;
    pair.insert(pair.end(), around.begin(), around.end());
  }
  return {{"type", "TemplateProcessing"},
          {"single", std::move(single)},
          {"pair", std::move(pair)},
          {"special_tokens", std::move(specials)}};
}

VocabTokenType type_at(const VocabData& vocab, std::size_t id) {
  return vocab.types.empty() ? VocabTokenType::Normal : vocab.types[id];
}

// Control tokens are special; user-defined ones are only found before anything else.
JsonArray added_tokens(const VocabData& vocab) {
  std::vector<bool> special(vocab.tokens.size());
  for (std::size_t id = 0; id < special.size(); ++id)
    special[id] = type_at(vocab, id) == VocabTokenType::Control ||
                  type_at(vocab, id) == VocabTokenType::Unknown;
  for (const auto& id : {vocab.bos, vocab.eos, vocab.unknown, vocab.padding}) {
    if (!id) continue;
    text_of(vocab, *id, "special token");
    special[*id] = true;
  }
  JsonArray added;
  for (std::size_t id = 0; id < special.size(); ++id) {
    if (!special[id] && type_at(vocab, id) != VocabTokenType::UserDefined) continue;
    added.push_back(JsonObject{{"id", static_cast<TokenId>(id)},
                               {"content", vocab.tokens[id]},
                               {"single_word", false},
                               {"lstrip", false},
                               {"rstrip", false},
                               {"normalized", false},
                               {"special", bool{special[id]}}});
  }
  return added;
}

JsonObject bpe_model(const VocabData& vocab, const Recipe& recipe) {
  JsonObject entries;
  entries.reserve(vocab.tokens.size());
  for (std::size_t id = 0; id < vocab.tokens.size(); ++id) {
    if (type_at(vocab, id) == VocabTokenType::Unused) continue;  // padding of the embedding
    const std::string& text = vocab.tokens[id];
    if (!is_valid_utf8(text))
      fail(ErrorCode::InvalidFile, "tokenizer: expected token {} in UTF-8, got {}", id,
           quote(text));
    if (!entries.emplace(text, static_cast<TokenId>(id)).second)
      fail(ErrorCode::InvalidFile, "tokenizer: expected one token {}, got ids {} and {}",
           quote(text), to_json(entries.at(text)), id);
  }
  JsonArray merges;
  merges.reserve(vocab.merges.size());
  for (const std::string& merge : vocab.merges) {
    const std::size_t space = merge.find(' ');
    if (space == std::string::npos)
      fail(ErrorCode::InvalidFile, "tokenizer: expected a merge of two tokens, got {}",
           quote(merge));
    merges.push_back(
        JsonArray{JsonValue(merge.substr(0, space)), JsonValue(merge.substr(space + 1))});
  }
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", recipe.ignore_merges},
          {"vocab", std::move(entries)},
          {"merges", std::move(merges)}};
}

}  // namespace

JsonObject tokenizer_file_from_vocab(const VocabData& vocab) {
  const Recipe& recipe = recipe_for(vocab);
  if (!vocab.types.empty() && vocab.types.size() != vocab.tokens.size())
    fail(ErrorCode::InvalidFile, "tokenizer: expected {} token types, got {}", vocab.tokens.size(),
         vocab.types.size());
  JsonValue normalizer;
  if (recipe.nfc) normalizer = {{"type", "NFC"}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added_tokens(vocab)},
          {"normalizer", std::move(normalizer)},
          {"pre_tokenizer", pre_tokenizer(recipe, vocab.add_space_prefix.value_or(false))},
          {"post_processor", post_processor(vocab, recipe)},
          {"decoder", byte_level(false, true)},
          {"model", bpe_model(vocab, recipe)}};
}

}  // namespace emlx
