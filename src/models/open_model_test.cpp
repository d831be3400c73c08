#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "formats/test_support.h"
#include "models/model.h"
#include "models/test_support.h"

namespace emlx {
namespace {

void expect_refused(const TestFolder& folder, std::string_view part,
                    ErrorCode code = ErrorCode::InvalidFile) {
  expect_error(code, part, [&] { open_model(folder.path()); });
}

TEST(OpenModel, ReadsAnMlxFolder) {
  const TestFolder folder;
  TinyMlxModel tiny("qwen3");
  for (const char* module : {"q_proj", "k_proj", "v_proj", "o_proj"})
    for (int i = 0; i < kTinyLayers; ++i)
      tiny.quantize(fmt::format("model.layers.{}.self_attn.{}", i, module), 4, 32);
  tiny.config["quantization"] = {{"bits", 4}, {"group_size", 32}};
  tiny.write(folder);
  folder.write("tokenizer_config.json", R"({"chat_template": "x"})");
  folder.write("chat_template.jinja", "{{ a }}");
  const Model model = open_model(folder.path() / "");
  EXPECT_EQ(model.name, folder.path().filename().string());
  EXPECT_EQ(model.spec.family, "qwen3");
  EXPECT_EQ(model.spec.vocab, kTinyVocabulary);
  EXPECT_EQ(model.weights.layers.size(), 2U);
  EXPECT_EQ(model.quantization, "4-bit affine, group 32 + float32");
  EXPECT_EQ(model.tokenizer_json, "{\"text\": true}");
  EXPECT_FALSE(model.vocab);
  EXPECT_EQ(model.tokenizer_config.at("chat_template").as_string(), "x");
  EXPECT_EQ(model.chat_template, "{{ a }}");
  EXPECT_EQ(model.eos, std::vector<TokenId>{1});
}

TEST(OpenModel, GenerationConfigReplacesTheEndTokens) {
  const TestFolder folder;
  TinyMlxModel("llama").write(folder);
  folder.write("generation_config.json", R"({"temperature": 0.6})");
  EXPECT_EQ(open_model(folder.path()).eos, std::vector<TokenId>{1});
  folder.write("generation_config.json", R"({"eos_token_id": [5, 6]})");
  EXPECT_EQ(open_model(folder.path()).eos, (std::vector<TokenId>{5, 6}));
  folder.write("generation_config.json", "{");
  expect_refused(folder, "generation_config.json: expected JSON");
}

TEST(OpenModel, ReadsAGgufFile) {
  const TestFolder folder;
  folder.write("tiny.Q4_1.gguf", tiny_gguf("llama").u32("tokenizer.ggml.eot_token_id", 9).file());
  const Model model = open_model(folder / "tiny.Q4_1.gguf");
  EXPECT_EQ(model.name, "tiny.Q4_1");
  EXPECT_EQ(model.spec.family, "llama");
  EXPECT_EQ(model.quantization, "Q4_1 + Q8_0");
  EXPECT_EQ(model.vocab->tokens.size(), 96U);
  EXPECT_EQ(model.tokenizer_json, "");
  EXPECT_EQ(model.chat_template, "{{ messages }}");
  EXPECT_EQ(model.eos, (std::vector<TokenId>{2, 9}));
}

TEST(OpenModel, SaysInOneLineWhyAPathIsNoModel) {
  const TestFolder folder;
  expect_error(ErrorCode::InvalidFile, "does not exist", [&] { open_model(folder / "none"); });
  expect_error(ErrorCode::InvalidFile, "does not exist", [] { open_model(""); });
  expect_refused(folder, "config.json is missing");
  folder.write("empty.gguf", "");
  expect_error(ErrorCode::InvalidFile, "the file is empty",
               [&] { open_model(folder / "empty.gguf"); });
  folder.write("photo.jpg", "\xff\xd8\xff\xe0 not a model");
  expect_error(ErrorCode::InvalidFile, "expected a GGUF file",
               [&] { open_model(folder / "photo.jpg"); });
  folder.write("model.safetensors", "x");
  expect_error(ErrorCode::InvalidFile, "expected a model folder",
               [&] { open_model(folder / "model.safetensors"); });
  expect_error(ErrorCode::InvalidFile, "expected a regular file", [] { open_model("/dev/null"); });
}

TEST(OpenModel, NamesTheFileThatIsMissingOrBad) {
  const TestFolder folder;
  const TinyMlxModel tiny("llama");
  tiny.write(folder);
  std::filesystem::remove(folder / "tokenizer.json");
  expect_refused(folder, "tokenizer.json");
  tiny.write(folder);
  folder.write("tokenizer_config.json", "[]");
  expect_refused(folder, "tokenizer_config.json: expected a JSON object");
  folder.write("config.json", "{\"a\": ");
  expect_refused(folder, "config.json: expected JSON");
  folder.write("config.json", "{}");
  expect_refused(folder, "config.json: model_type is missing");
  std::filesystem::remove(folder / "model.safetensors");
  tiny.write(folder);
  std::filesystem::remove(folder / "model.safetensors");
  expect_refused(folder, "model*.safetensors");
}

TEST(OpenModel, NamesTheArchitectureAndThoseSupported) {
  const TestFolder folder;
  folder.write("config.json", R"({"model_type": "mamba"})");
  expect_refused(folder, R"(architecture "mamba" is not supported (supported: llama, qwen3))",
                 ErrorCode::Unsupported);
  folder.write("gemma.gguf", GgufTestWriter().text("general.architecture", "gemma").file());
  expect_error(ErrorCode::Unsupported, R"(architecture "gemma" is not supported)",
               [&] { open_model(folder / "gemma.gguf"); });
  folder.write("none.gguf", GgufTestWriter().u32("a", 1).file());
  expect_error(ErrorCode::InvalidFile, "general.architecture is missing",
               [&] { open_model(folder / "none.gguf"); });
}

TEST(OpenModel, RefusesAGgufVocabularyLargerThanTheEmbedding) {
  const TestFolder folder;
  std::string file = tiny_gguf("llama").file();
  // One token less in the embedding's shape: 95 rows of the 96 it has data for.
  const std::string name = GgufTestWriter::text_bytes("token_embd.weight");
  const std::size_t rows = file.find(name) + name.size() + 4 + 8;
  ASSERT_EQ(file[rows], 96);
  file[rows] = 95;
  folder.write("model.gguf", file);
  expect_error(ErrorCode::InvalidFile, "expected at most 95 tokens (the embedding's rows), got 96",
               [&] { open_model(folder / "model.gguf"); });
}

// Every truncation of a model file is refused; none is read past its end.
TEST(OpenModel, RefusesATruncatedGgufFile) {
  const TestFolder folder;
  const std::string file = tiny_gguf("llama").file();
  for (std::size_t length = 0; length < file.size(); length += 997) {
    folder.write("model.gguf", std::string_view(file).substr(0, length));
    EXPECT_THROW(open_model(folder / "model.gguf"), Error) << length;
  }
}

}  // namespace
}  // namespace emlx
