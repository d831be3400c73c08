#include "chat/template_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chat/test_support.h"

namespace emlx {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(TemplateSource, ReadsOneTemplate) {
  const JsonValue config = object(R"({"chat_template": "x"})");
  EXPECT_EQ(chat_template_from_config(config, false), "x");
  EXPECT_EQ(chat_template_from_config(config, true), "x");
}

TEST(TemplateSource, ChoosesAmongNamedTemplates) {
  const JsonValue both = object(R"({"chat_template": [
    {"name": "rag", "template": "r"}, {"name": "default", "template": "d"},
    {"name": "tool_use", "template": "t"}]})");
  EXPECT_EQ(chat_template_from_config(both, false), "d");
  EXPECT_EQ(chat_template_from_config(both, true), "t");
  const JsonValue one = object(R"({"chat_template": [{"name": "default", "template": "d"}]})");
  EXPECT_EQ(chat_template_from_config(one, true), "d");
}

TEST(TemplateSource, AFileBesideTheConfigWins) {
  EXPECT_EQ(chat_template_from_config(object(R"({"chat_template": "x"})"), false, "file"), "file");
  EXPECT_EQ(chat_template_from_config(object("{}"), false, "file"), "file");
}

TEST(TemplateSource, SaysThatThereIsNone) {
  EXPECT_EQ(chat_template_from_config(object("{}"), false), std::nullopt);
  EXPECT_EQ(chat_template_from_config(object(R"({"chat_template": null})"), false), std::nullopt);
}

TEST(TemplateSource, RefusesDamagedConfigs) {
  const auto error = [](std::string_view config) {
    return error_of([&] { chat_template_from_config(parse_json(config, "test"), false); });
  };
  EXPECT_EQ(error("[]"), "invalid_file: tokenizer_config.json: expected the file to be an object");
  EXPECT_EQ(error(R"({"chat_template": 5})"),
            "invalid_file: tokenizer_config.json: expected chat_template to be a string");
  EXPECT_EQ(error(R"({"chat_template": [5]})"),
            "invalid_file: tokenizer_config.json: expected every chat_template to be an object");
  EXPECT_EQ(error(R"({"chat_template": [{"name": "default"}]})"),
            "invalid_file: tokenizer_config.json: expected the template of a chat_template to be a "
            "string");
  EXPECT_EQ(
      error(R"({"chat_template": [{"name": "tool_use", "template": "t"}]})"),
      "invalid_file: tokenizer_config.json: expected a chat_template named 'default', got none");
}

TEST(TemplateSource, ReadsSpecialTokensInAllTheirForms) {
  const TemplateTokens tokens = template_tokens_from_config(
      object(R"({"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false},
                 "pad_token": "", "unk_token": null, "image_token": "<i>", "add_bos_token": true,
                 "tokenizer_class": "x", "additional_special_tokens": ["<a>"]})"));
  EXPECT_THAT(tokens, ElementsAre(Pair("bos_token", "<s>"), Pair("eos_token", "</s>"),
                                  Pair("image_token", "<i>"), Pair("pad_token", "")));
  EXPECT_EQ(error_of([] { template_tokens_from_config(object(R"({"bos_token": 5})")); }),
            "invalid_file: tokenizer_config.json: expected bos_token to be a string");
  EXPECT_EQ(error_of([] { template_tokens_from_config(object(R"({"eos_token": {}})")); }),
            "invalid_file: tokenizer_config.json: expected eos_token to be a string");
}

}  // namespace
}  // namespace emlx
