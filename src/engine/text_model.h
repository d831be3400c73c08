// A model's text side: its tokenizer and chat template, ready to use.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "chat/chat_template.h"
#include "chat/prompt.h"
#include "models/model.h"
#include "tokenizer/tokenizer.h"

namespace emlx {

// Immutable, shared by all threads.
struct TextModel {
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::optional<ChatTemplate> chat_template;  // none: the model has no template
  std::optional<ChatTemplate>
      tool_template;  // used instead when a request brings tools, if the model has one
  TemplateTokens template_tokens;
  std::vector<TokenId> eos;  // the model's, and the tokenizer's eos token
};

// Builds tokenizer and templates from what `model` carries. A template that does not parse is an
// error. Throws what the parts throw, naming the one of the model's files that is at fault.
TextModel make_text_model(std::shared_ptr<const Model> model);

// The same for the files at `path`, which errors name; see open_model.
TextModel open_text_model(const std::filesystem::path& path);

// Renders OpenAI messages and encodes them (without added special tokens: templates write their
// own). enable_thinking tells by default whether the vocabulary has <think>, as in mlx_lm. Throws
// Error(InvalidArgument) for bad messages, Error(Unsupported) if the model has no chat template,
// Error(InvalidFile) if the text needs a token that the embedding lacks.
std::vector<TokenId> encode_chat(const TextModel& text, const JsonArray& messages,
                                 const ChatOptions& options);

// Encodes plain text as mlx_lm does a raw prompt: special tokens are added unless the text starts
// with BOS already. Throws Error(InvalidFile) as above.
std::vector<TokenId> encode_raw(const TextModel& text, const std::string& prompt);

}  // namespace emlx
