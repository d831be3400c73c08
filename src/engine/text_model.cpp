#include "engine/text_model.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "chat/template_source.h"

namespace emlx {
namespace {

// What `read` throws comes out with the name of the file (or its part) at fault in front.
template <typename Read>
auto from_file(std::string_view name, Read read) {
  try {
    return read();
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", name, error.what());
  }
}

// A tokenizer may hold more tokens than the embedding has rows (padding added later, say). A text
// that needs one of them cannot be answered, and that is the model's fault, not the text's.
std::vector<TokenId> checked(const TextModel& text, std::vector<TokenId> ids) {
  const int rows = text.model->weights.embedding.rows;  // 0: a model without weights
  for (const TokenId id : ids)
    if (rows != 0 && id >= rows)
      fail(ErrorCode::InvalidFile, "the tokenizer's token {} has no row in the embedding (of {})",
           id, rows);
  return ids;
}

std::optional<ChatTemplate> parse_template(const std::optional<std::string>& source) {
  if (!source) return std::nullopt;
  return ChatTemplate::parse(*source);
}

// Those of the GGUF vocabulary, or of tokenizer_config.json.
TemplateTokens template_tokens(const Model& model, const JsonValue& config,
                               const Tokenizer& tokenizer) {
  if (!model.vocab) return template_tokens_from_config(config);
  TemplateTokens tokens;
  const auto add = [&](const char* name, std::optional<TokenId> id) {
    if (id) tokens.emplace(name, tokenizer.token_text(*id));
  };
  add("bos_token", model.vocab->bos);
  add("eos_token", model.vocab->eos);
  add("unk_token", model.vocab->unknown);
  add("pad_token", model.vocab->padding);
  return tokens;
}

bool has_thinking(const Tokenizer& tokenizer) {
  return tokenizer.token_id("<think>") && tokenizer.token_id("</think>");
}

}  // namespace

TextModel make_text_model(std::shared_ptr<const Model> model) {
  TextModel text;
  text.tokenizer = from_file(model->vocab ? "tokenizer.ggml" : "tokenizer.json", [&] {
    return std::make_shared<const Tokenizer>(model->vocab
                                                 ? Tokenizer::from_vocab(*model->vocab)
                                                 : Tokenizer::from_json(model->tokenizer_json));
  });
  const JsonValue no_config = JsonObject();
  const JsonValue& config = model->tokenizer_config.is_null() ? no_config : model->tokenizer_config;
  const char* source = model->vocab           ? "tokenizer.chat_template"
                       : model->chat_template ? "chat_template.jinja"
                                              : "tokenizer_config.json";
  from_file(source, [&] {
    const auto plain = chat_template_from_config(config, false, model->chat_template);
    const auto with_tools = chat_template_from_config(config, true, model->chat_template);
    text.chat_template = parse_template(plain);
    if (with_tools != plain) text.tool_template = parse_template(with_tools);
  });
  text.template_tokens = template_tokens(*model, config, *text.tokenizer);
  text.eos = model->eos;
  const auto named = text.template_tokens.find("eos_token");
  const auto eos =
      named == text.template_tokens.end() ? std::nullopt : text.tokenizer->token_id(named->second);
  if (eos && std::find(text.eos.begin(), text.eos.end(), *eos) == text.eos.end())
    text.eos.push_back(*eos);
  text.model = std::move(model);
  return text;
}

TextModel open_text_model(const std::filesystem::path& path) {
  auto model = std::make_shared<const Model>(open_model(path));
  return from_file(path.string(), [&] { return make_text_model(std::move(model)); });
}

std::vector<TokenId> encode_chat(const TextModel& text, const JsonArray& messages,
                                 const ChatOptions& options) {
  const std::optional<ChatTemplate>& chosen =
      options.tools.empty() || !text.tool_template ? text.chat_template : text.tool_template;
  if (!chosen) fail(ErrorCode::Unsupported, "the model has no chat template");
  ChatOptions complete = options;
  complete.template_kwargs.emplace("enable_thinking", has_thinking(*text.tokenizer));
  return checked(text, text.tokenizer->encode(
                           render_chat(*chosen, messages, complete, text.template_tokens), false));
}

std::vector<TokenId> encode_raw(const TextModel& text, const std::string& prompt) {
  const auto bos = text.template_tokens.find("bos_token");
  const bool has_bos =
      bos != text.template_tokens.end() && !bos->second.empty() && prompt.starts_with(bos->second);
  return checked(text, text.tokenizer->encode(prompt, !has_bos));
}

}  // namespace emlx
