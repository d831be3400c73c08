#include "models/convert.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/float16.h"
#include "formats/json_file.h"
#include "formats/test_support.h"
#include "models/affine.h"
#include "models/model.h"
#include "models/test_support.h"

namespace emlx {
namespace {

class Convert : public testing::Test {
 protected:
  Model source(const GgufTestWriter& writer) const {
    folder_.write("model.gguf", writer.file());
    return open_model(folder_ / "model.gguf");
  }
  JsonValue json(const char* name) const { return read_json_object(out() / name, 1 << 20); }
  std::filesystem::path out() const { return folder_ / "new" / "out"; }
  TestFolder folder_;
};

std::vector<float> floats(std::span<const std::byte> bytes, DType dtype) {
  std::vector<float> values;
  for (std::size_t i = 0; i < bytes.size();) {
    if (dtype == DType::F32) {
      std::memcpy(&values.emplace_back(), bytes.data() + i, 4);
      i += 4;
    } else {
      std::uint16_t half = 0;
      std::memcpy(&half, bytes.data() + i, 2);
      values.push_back(float16_to_float(half));
      i += 2;
    }
  }
  return values;
}

void expect_same(const Matrix& converted, const Matrix& original) {
  const AffineMatrix expected = to_affine(original);
  EXPECT_EQ(converted.bits, expected.bits);
  EXPECT_EQ(converted.group_size, expected.group_size);
  ASSERT_EQ(converted.data.size(), expected.packed.size() * 4);
  EXPECT_EQ(std::memcmp(converted.data.data(), expected.packed.data(), converted.data.size()), 0);
  EXPECT_EQ(floats(converted.scales, converted.dtype), expected.scales);
  EXPECT_EQ(floats(converted.biases, converted.dtype), expected.biases);
}

TEST_F(Convert, WritesAFolderWithTheSameModel) {
  for (const DType dtype : {DType::F16, DType::F32}) {
    for (const char* family : {"llama", "qwen3"}) {
      const Model from = source(tiny_gguf(family));
      std::filesystem::remove_all(out());
      int last = 0;
      int total = 0;
      convert_gguf(from, "{}", out(), {.dtype = dtype, .progress = [&](int done, int all) {
                                         EXPECT_EQ(done, ++last);
                                         total = all;
                                       }});
      EXPECT_EQ(last, total);
      const Model to = open_model(out());
      EXPECT_EQ(to.spec.family, from.spec.family);
      EXPECT_EQ(to.spec.layers, from.spec.layers);
      EXPECT_EQ(to.spec.hidden, from.spec.hidden);
      EXPECT_EQ(to.spec.heads, from.spec.heads);
      EXPECT_EQ(to.spec.kv_heads, from.spec.kv_heads);
      EXPECT_EQ(to.spec.head_dim, from.spec.head_dim);
      EXPECT_EQ(to.spec.intermediate, from.spec.intermediate);
      EXPECT_EQ(to.spec.vocab, from.spec.vocab);
      EXPECT_EQ(to.spec.max_positions, from.spec.max_positions);
      EXPECT_EQ(to.spec.rms_eps, from.spec.rms_eps);
      EXPECT_EQ(to.spec.rope.theta, from.spec.rope.theta);
      EXPECT_EQ(to.spec.tied_head, from.spec.tied_head);
      EXPECT_EQ(to.eos, from.eos);
      EXPECT_EQ(to.quantization, "4-bit affine, group 32 + 8-bit affine, group 32");
      EXPECT_EQ(to.weights.embedding.dtype, dtype);
      expect_same(to.weights.embedding, from.weights.embedding);
      for (std::size_t i = 0; i < to.weights.layers.size(); ++i) {
        const LayerWeights& a = to.weights.layers[i];
        const LayerWeights& b = from.weights.layers[i];
        EXPECT_EQ(a.q.weight.interleaved_heads, 0);
        expect_same(a.q.weight, b.q.weight);
        expect_same(a.k.weight, b.k.weight);
        expect_same(a.v.weight, b.v.weight);
        expect_same(a.o.weight, b.o.weight);
        expect_same(a.gate.weight, b.gate.weight);
        expect_same(a.up.weight, b.up.weight);
        expect_same(a.down.weight, b.down.weight);
        EXPECT_EQ(floats(a.mlp_norm.data, dtype), floats(b.mlp_norm.data, DType::F32));
        EXPECT_EQ(a.q_norm.has_value(), b.q_norm.has_value());
      }
    }
  }
}

TEST_F(Convert, SaysInConfigWhatMlxLmNeeds) {
  convert_gguf(source(tiny_gguf("llama").f32("llama.rope.scaling.factor", 4)), "{}", out());
  const JsonValue config = json("config.json");
  EXPECT_EQ(config.at("model_type"), "llama");
  EXPECT_EQ(config.at("architectures").at(0), "LlamaForCausalLM");
  EXPECT_EQ(to_json(config.at("rms_norm_eps")), "1e-05");
  EXPECT_EQ(to_json(config.at("rope_theta")), "100000.0");
  EXPECT_EQ(to_json(config.at("rope_scaling")), R"({"rope_type":"linear","factor":4.0})");
  EXPECT_EQ(config.at("eos_token_id"), 2);
  EXPECT_EQ(config.at("bos_token_id"), 1);
  EXPECT_EQ(config.at("torch_dtype"), "float16");
  EXPECT_EQ(to_json(config.at("quantization")),
            R"({"group_size":32,"bits":4,"mode":"affine","model.embed_tokens":)"
            R"({"group_size":32,"bits":8,"mode":"affine"}})");
  const JsonValue tokenizer = json("tokenizer_config.json");
  EXPECT_EQ(tokenizer.at("tokenizer_class"), "PreTrainedTokenizerFast");
  EXPECT_EQ(tokenizer.at("bos_token"), "t1");
  EXPECT_EQ(tokenizer.at("eos_token"), "t2");
  EXPECT_FALSE(tokenizer.as_object().contains("unk_token"));
  EXPECT_EQ(tokenizer.at("chat_template"), "{{ messages }}");
  EXPECT_EQ(json("generation_config.json").at("eos_token_id"), 2);
}

TEST_F(Convert, KeepsTheFactorOfLinearRopeScaling) {
  for (const float factor : {95.0F, 6.7F}) {
    const Model from = source(tiny_gguf("llama").f32("llama.rope.scaling.factor", factor));
    std::filesystem::remove_all(out());
    convert_gguf(from, "{}", out());
    EXPECT_EQ(json("config.json").at("rope_scaling").at("factor").as_double(), double{factor});
    EXPECT_EQ(open_model(out()).spec.rope.scale, from.spec.rope.scale);
  }
}

TEST_F(Convert, KeepsSeveralEndTokensAndAHeadOfItsOwn) {
  convert_gguf(source(tiny_gguf("qwen3", {.matrices = kGgmlQ8_0, .tied = false})
                          .u32("tokenizer.ggml.eot_token_id", 9)),
               "{}", out(), {.dtype = DType::F32});
  const Model model = open_model(out());
  EXPECT_EQ(model.eos, (std::vector<TokenId>{2, 9}));
  EXPECT_FALSE(model.spec.tied_head);
  EXPECT_EQ(model.weights.head->encoding, MatrixEncoding::Dense);
  EXPECT_EQ(model.weights.head->dtype, DType::F32);
  EXPECT_EQ(json("config.json").at("quantization").at("bits"), 8);
}

TEST_F(Convert, PutsTheRowsOfDenseMatricesInOrder) {
  convert_gguf(source(tiny_gguf(
                   "llama", {.embedding = kGgmlF16, .matrices = kGgmlF16, .number_rows = true})),
               "{}", out(), {.dtype = DType::F32});
  const Model to = open_model(out());
  EXPECT_EQ(to.quantization, "float32");
  EXPECT_FALSE(json("config.json").as_object().contains("quantization"));
  const auto rows = floats(to.weights.layers[0].q.weight.data, DType::F32);
  // Head 0 of 16 rows: 0, 2, ..., 14, 1, 3, ..., 15.
  EXPECT_EQ(rows[0], 0);
  EXPECT_EQ(rows[1 * kTinyHidden], 2);
  EXPECT_EQ(rows[7 * kTinyHidden], 14);
  EXPECT_EQ(rows[8 * kTinyHidden], 1);
  EXPECT_EQ(rows[16 * kTinyHidden], 16);
}

TEST_F(Convert, NamesTheTensorThatDoesNotFitFloat16AndLeavesNothingBehind) {
  const Model model = source(tiny_gguf("llama", {.embedding = kGgmlQ8_0, .scale = 1024}));
  expect_error(ErrorCode::InvalidFile,
               "tensor token_embd: expected numbers that fit F16, got -131072",
               [&] { convert_gguf(model, "{}", out()); });
  EXPECT_FALSE(std::filesystem::exists(out().parent_path()));
  EXPECT_NO_THROW(convert_gguf(model, "{}", out(), {.dtype = DType::F32}));
}

TEST_F(Convert, AFolderThatIsNotEmptyStaysAsItIs) {
  const Model model = source(tiny_gguf("llama"));
  std::filesystem::create_directories(out());
  folder_.write("new/out/note.txt", "mine");
  expect_error(ErrorCode::InvalidArgument, "expected a new or an empty folder",
               [&] { convert_gguf(model, "{}", out()); });
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(out()), {}), 1);
  expect_error(ErrorCode::InvalidArgument, "expected a new or an empty folder",
               [&] { convert_gguf(model, "{}", folder_ / "model.gguf"); });
  std::filesystem::remove(out() / "note.txt");
  EXPECT_NO_THROW(convert_gguf(model, "{}", out()));
}

TEST_F(Convert, TakesOnlyGgufModelsAndTwoDTypes) {
  TinyMlxModel("llama").write(folder_);
  const Model mlx = open_model(folder_.path());
  expect_error(ErrorCode::InvalidArgument, "expected a GGUF model",
               [&] { convert_gguf(mlx, "{}", out()); });
  const Model model = source(tiny_gguf("llama"));
  expect_error(ErrorCode::InvalidArgument, "F16 or F32, got BF16",
               [&] { convert_gguf(model, "{}", out(), {.dtype = DType::BF16}); });
  EXPECT_FALSE(std::filesystem::exists(out()));
}

}  // namespace
}  // namespace emlx
