#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe.h"
#include "tokenizer/decoder.h"
#include "tokenizer/json_members.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/post_processor.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/vocab_json.h"

namespace emlx {
namespace {

const JsonObject& bpe_model(const JsonObject& file) {
  const JsonObject& model = as_object(required_member(file, "model", "tokenizer.json"), "model");
  const std::string_view type = type_of(model, "model");
  if (type != "BPE")
    fail(ErrorCode::Unsupported, "tokenizer: expected a BPE model, got {}", quote(type));
  return model;
}

}  // namespace

struct Tokenizer::State {
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  Bpe model;
  AddedTokens added;
  PostProcessor post_processor;
  Decoder decoder;
  TokenId id_end;

  explicit State(const JsonObject& file)
      : normalizer(optional_member(file, "normalizer")),
        pre_tokenizer(optional_member(file, "pre_tokenizer")),
        model(bpe_model(file), pre_tokenizer.byte_level()),
        added(optional_member(file, "added_tokens"), model.vocab(), normalizer),
        post_processor(optional_member(file, "post_processor")),
        decoder(optional_member(file, "decoder")),
        id_end(std::max(model.vocab().id_end(), added.id_end())) {
    for (const auto* ids : {&post_processor.prefix(), &post_processor.suffix()})
      for (const TokenId id : *ids)
        if (id >= id_end)
          fail(ErrorCode::InvalidFile,
               "tokenizer: expected the post_processor to use ids below {}, got {}", id_end, id);
  }

  // The text that decoding sees; nullopt if `id` has none.
  std::optional<std::string_view> decoded_text(TokenId id) const {
    if (const AddedToken* token = added.find(id)) return token->normalized_content;
    return model.vocab().text(id);
  }

  // Memory reused over the words of one encode().
  struct Workspace {
    std::string normalized;
    PreTokenizer::Pieces words;
    Bpe::Workspace bpe;
  };

  void encode_plain(std::string_view text, std::vector<TokenId>& ids, Workspace& workspace) const {
    const std::string_view normalized = normalizer.apply(text, workspace.normalized);
    for (const auto& segment : added.split_normalized(normalized)) {
      if (segment.token) {
        ids.push_back(*segment.token);
        continue;
      }
      pre_tokenizer.split(segment.text, workspace.words);
      for (const std::string_view word : workspace.words.views)
        model.encode(word, ids, workspace.bpe);
    }
  }
};

Tokenizer::Tokenizer(std::unique_ptr<const State> state) : state_(std::move(state)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::from_json(std::string_view tokenizer_json) {
  const JsonValue file =
      parse_file_json(tokenizer_json, "tokenizer", {.max_bytes = kMaxTokenizerBytes});
  return Tokenizer(std::make_unique<const State>(as_object(file, "tokenizer.json")));
}

Tokenizer Tokenizer::from_vocab(const VocabData& vocab) {
  return Tokenizer(std::make_unique<const State>(tokenizer_file_from_vocab(vocab)));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool add_special_tokens) const {
  if (text.size() > std::numeric_limits<std::int32_t>::max())
    fail(ErrorCode::InvalidArgument, "tokenizer: expected a text below 2 GiB, got {} bytes",
         text.size());
  std::string repaired;
  if (!is_valid_utf8(text)) {
    repaired = replace_invalid_utf8(text);
    text = repaired;
  }
  std::vector<TokenId> ids;
  if (add_special_tokens) ids = state_->post_processor.prefix();
  State::Workspace workspace;
  for (const auto& segment : state_->added.split_raw(text)) {
    if (segment.token) {
      ids.push_back(*segment.token);
    } else {
      state_->encode_plain(segment.text, ids, workspace);
    }
  }
  if (add_special_tokens) {
    const std::vector<TokenId>& suffix = state_->post_processor.suffix();
    ids.insert(ids.end(), suffix.begin(), suffix.end());
  }
  return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special_tokens) const {
  std::string bytes;
  bool first = true;
  for (const TokenId id : ids) append_bytes(id, skip_special_tokens, first, bytes);
  return replace_invalid_utf8(bytes);
}

void Tokenizer::append_bytes(TokenId id, bool skip_special_tokens, bool& first,
                             std::string& bytes) const {
  const auto text = state_->decoded_text(id);
  if (!text || (skip_special_tokens && state_->added.is_special(*text))) return;
  if (!first) bytes += state_->decoder.separator();
  first = false;
  state_->decoder.append_token(bytes, *text);
}

std::string Tokenizer::token_text(TokenId id) const {
  if (const AddedToken* token = state_->added.find(id)) return token->content;
  return std::string(state_->model.vocab().text(id).value_or(""));
}

std::optional<TokenId> Tokenizer::token_id(std::string_view content) const {
  if (const auto id = state_->added.find(content)) return id;
  return state_->model.vocab().find(content);
}

bool Tokenizer::is_special(TokenId id) const {
  const auto text = state_->decoded_text(id);
  return text && state_->added.is_special(*text);
}

int Tokenizer::vocab_size() const {
  return state_->id_end;
}

std::string tokenizer_json_from_vocab(const VocabData& vocab) {
  return to_json(tokenizer_file_from_vocab(vocab));
}

}  // namespace emlx
