#include "engine/text_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_support.h"

namespace emlx {
namespace {

using testing::ElementsAre;

// Prints what it is given, so that tests see what a template sees.
constexpr const char* kTemplate =
    "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    "{% if enable_thinking %}T{% else %}F{% endif %}{% if add_generation_prompt %}>{% endif %}";

Model tiny_files(JsonObject tokenizer_config) {
  Model model;
  model.tokenizer_json = tiny_tokenizer_json();
  model.tokenizer_config = std::move(tokenizer_config);
  model.eos = {kEndOfText};
  return model;
}

TextModel make(Model model) {
  return make_text_model(std::make_shared<const Model>(std::move(model)));
}

JsonArray user(const char* content) {
  return {JsonObject{{"role", "user"}, {"content", content}}};
}

// What `text` renders, as text (all tokens of the tiny tokenizer decode to themselves).
std::string rendered(const TextModel& text, const ChatOptions& options = {}) {
  return text.tokenizer->decode(encode_chat(text, user("hi"), options), false);
}

TEST(TextModel, RendersMessagesWithTheModelsTemplateAndTokens) {
  const TextModel text = make(tiny_files({{"chat_template", kTemplate}, {"bos_token", "<|end|>"}}));
  EXPECT_EQ(rendered(text), "<|end|>[user]hiT>");
  EXPECT_EQ(encode_chat(text, user("hi"), {}).front(), kEndOfText);
}

TEST(TextModel, ThinkingIsOnWhereTheVocabularyHasItUnlessARequestSaysNo) {
  const TextModel text = make(tiny_files({{"chat_template", kTemplate}}));
  ChatOptions off;
  off.template_kwargs["enable_thinking"] = false;
  EXPECT_EQ(rendered(text, off), "[user]hiF>");
  EXPECT_EQ(rendered(text), "[user]hiT>");  // nothing sticks

  Model plain = tiny_files({{"chat_template", kTemplate}});
  plain.tokenizer_json = TokenizerFile().text();
  EXPECT_EQ(rendered(make(plain)), "[user]hiF>");
}

TEST(TextModel, ATemplateOfItsOwnIsForRequestsWithTools) {
  const JsonArray templates{JsonObject{{"name", "default"}, {"template", "plain"}},
                            JsonObject{{"name", "tool_use"}, {"template", "tools"}}};
  const TextModel text = make(tiny_files({{"chat_template", templates}}));
  ChatOptions with_tools;
  with_tools.tools.push_back(JsonObject{{"type", "function"}});
  EXPECT_EQ(rendered(text), "plain");
  EXPECT_EQ(rendered(text, with_tools), "tools");
  const TextModel one = make(tiny_files({{"chat_template", "plain"}}));
  EXPECT_EQ(rendered(one, with_tools), "plain");
}

TEST(TextModel, ATemplateFileWins) {
  Model model = tiny_files({{"chat_template", "config"}});
  model.chat_template = "file";
  EXPECT_EQ(rendered(make(model)), "file");
}

TEST(TextModel, WithoutATemplateChatIsUnsupportedAndRawTextIsNot) {
  Model model = tiny_files({});
  model.tokenizer_config = nullptr;
  const TextModel text = make(model);
  EXPECT_EQ(error_of([&] { encode_chat(text, user("hi"), {}); }),
            "unsupported: the model has no chat template");
  EXPECT_EQ(encode_raw(text, "hi"), bytes_of("hi"));
}

TEST(TextModel, ATextThatDoesNotParseIsAnErrorThatNamesItsFile) {
  const auto expect_named = [](const char* file, const Model& model) {
    EXPECT_THAT(error_of([&] { make(model); }), testing::HasSubstr(file));
  };
  Model model = tiny_files({{"chat_template", "{% for %}"}});
  expect_named(": tokenizer_config.json: chat template line 1", model);
  model.chat_template = "{% for %}";
  expect_named(": chat_template.jinja: chat template line 1", model);
  model.tokenizer_json = "{";
  expect_named(": tokenizer.json: ", model);
  model.vocab = VocabData();
  expect_named(": tokenizer.ggml: ", model);
}

TEST(TextModel, ATokenThatTheEmbeddingLacksIsTheModelsFault) {
  Model model = tiny_files({{"chat_template", "{{ messages[0].content }}"}});
  model.weights.embedding.rows = kEndOfText;
  const TextModel text = make(model);
  EXPECT_EQ(encode_raw(text, "hi"), bytes_of("hi"));
  const std::string message = fmt::format(
      "invalid_file: the tokenizer's token {0} has no row in the embedding (of {0})", kEndOfText);
  EXPECT_EQ(error_of([&] { encode_raw(text, "<|end|>"); }), message);
  EXPECT_EQ(error_of([&] { encode_chat(text, user("<|end|>"), {}); }), message);
}

TEST(TextModel, EndsOfTextAreTheModelsAndTheTokenizers) {
  EXPECT_THAT(make(tiny_files({})).eos, ElementsAre(kEndOfText));
  EXPECT_THAT(make(tiny_files({{"eos_token", "<|end|>"}})).eos, ElementsAre(kEndOfText));
  EXPECT_THAT(make(tiny_files({{"eos_token", {{"content", "<think>"}}}})).eos,
              ElementsAre(kEndOfText, kThink));
  EXPECT_THAT(make(tiny_files({{"eos_token", "no such token"}})).eos, ElementsAre(kEndOfText));
}

TEST(TextModel, RawTextGetsOneBeginOfTextToken) {
  Model model = tiny_files({{"bos_token", "<|end|>"}});
  TokenizerFile file = tiny_tokenizer_file();
  file.post_processor =
      R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<|end|>","type_id":0}},)"
      R"({"Sequence":{"id":"A","type_id":0}}],"pair":[],)"
      R"("special_tokens":{"<|end|>":{"id":"<|end|>","ids":[257],"tokens":["<|end|>"]}}})";
  model.tokenizer_json = file.text();
  const TextModel text = make(model);
  EXPECT_THAT(encode_raw(text, "a"), ElementsAre(kEndOfText, 'a'));
  EXPECT_THAT(encode_raw(text, "<|end|>a"), ElementsAre(kEndOfText, 'a'));
}

TEST(TextModel, AGgufVocabularyNamesItsTokens) {
  Model model;
  VocabData vocab;
  vocab.model = "gpt2";
  vocab.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte)
    vocab.tokens.push_back(bytes_to_chars(std::string(1, static_cast<char>(byte))));
  vocab.tokens.emplace_back("<s>");
  vocab.tokens.emplace_back("</s>");
  vocab.types.assign(256, VocabTokenType::Normal);
  vocab.types.insert(vocab.types.end(), 2, VocabTokenType::Control);
  vocab.bos = 256;
  vocab.eos = 257;
  vocab.unknown = 256;
  vocab.padding = 257;
  model.vocab = std::move(vocab);
  model.chat_template =
      "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}{{ unk_token }}{{ pad_token }}{{ "
      "sep_token }}";
  const TextModel text = make(std::move(model));
  EXPECT_EQ(rendered(text), "<s>hi</s><s></s>");
  EXPECT_THAT(text.eos, ElementsAre(257));
}

}  // namespace
}  // namespace emlx
