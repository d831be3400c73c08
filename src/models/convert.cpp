#include "models/convert.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/float16.h"
#include "base/json.h"
#include "formats/atomic_file.h"
#include "formats/safetensors_writer.h"
#include "models/affine.h"
#include "models/families/family.h"
#include "models/tensor_names.h"

namespace emlx {
namespace {

namespace fs = std::filesystem;

// A folder that is removed again, with all that was written and made on the way to it, unless kept.
class OutputFolder {
 public:
  explicit OutputFolder(const fs::path& path) : path_(path) {
    std::error_code error;
    if (fs::exists(path, error) && !(fs::is_directory(path, error) && fs::is_empty(path, error)))
      fail(ErrorCode::InvalidArgument, "{}: expected a new or an empty folder", path.string());
    for (fs::path level = path; !level.empty() && !fs::exists(level, error);
         level = level.parent_path())
      made_.push_back(level);
    fs::create_directories(path, error);
    if (!error) return;
    remove(made_);
    fail(ErrorCode::InvalidFile, "cannot make {}: {}", path.string(), error.message());
  }
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  ~OutputFolder() {
    if (kept_) return;
    remove(files_);
    remove(made_);
  }

  fs::path file(const char* name) { return files_.emplace_back(path_ / name); }
  void keep() { kept_ = true; }

 private:
  // A folder that others have put something into stays.
  static void remove(const std::vector<fs::path>& paths) {
    std::error_code error;
    for (const fs::path& path : paths) fs::remove(path, error);
  }

  fs::path path_;
  std::vector<fs::path> files_;
  std::vector<fs::path> made_;  // the innermost folder first
  bool kept_ = false;
};

template <typename T>
struct Named {
  std::string name;
  const T* weight;
};

// All weights under the names an MLX folder gives them.
struct NamedWeights {
  std::vector<Named<Matrix>> matrices;
  std::vector<Named<Vector>> vectors;
};

NamedWeights name_weights(const DecoderWeights& weights) {
  const TensorNames& names = kHuggingFaceNames;
  NamedWeights named;
  named.matrices.push_back({names.embedding, &weights.embedding});
  if (weights.head) named.matrices.push_back({names.head, &*weights.head});
  named.vectors.push_back({std::string(names.final_norm) + ".weight", &weights.final_norm});
  for (int i = 0; i < static_cast<int>(weights.layers.size()); ++i) {
    const LayerWeights& layer = weights.layers[static_cast<std::size_t>(i)];
    const auto vector = [&](const char* module, const char* suffix, const Vector& weight) {
      named.vectors.push_back({names.in_layer(i, module) + suffix, &weight});
    };
    const auto linear = [&](const char* module, const Linear& weight) {
      named.matrices.push_back({names.in_layer(i, module), &weight.weight});
      if (weight.bias) vector(module, ".bias", *weight.bias);
    };
    vector(names.attention_norm, ".weight", layer.attention_norm);
    linear(names.q, layer.q);
    linear(names.k, layer.k);
    linear(names.v, layer.v);
    if (layer.q_norm) vector(names.q_norm, ".weight", *layer.q_norm);
    if (layer.k_norm) vector(names.k_norm, ".weight", *layer.k_norm);
    linear(names.o, layer.o);
    vector(names.mlp_norm, ".weight", layer.mlp_norm);
    linear(names.gate, layer.gate);
    linear(names.up, layer.up);
    linear(names.down, layer.down);
  }
  return named;
}

// `data`'s elements as `to` (F16 or F32), all of them finite.
std::vector<std::byte> convert_floats(std::span<const std::byte> data, DType from, DType to,
                                      const std::string& name) {
  const auto from_bytes = static_cast<std::size_t>(block_layout(from).bytes);
  const auto to_bytes = static_cast<std::size_t>(block_layout(to).bytes);
  const std::size_t count = data.size() / from_bytes;
  std::vector<std::byte> out(count * to_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const float value = read_float(data.data() + i * from_bytes, from);
    const std::uint16_t half = float_to_float16(value);
    if (!std::isfinite(to == DType::F16 ? float16_to_float(half) : value))
      fail(ErrorCode::InvalidFile, "tensor {}: expected numbers that fit {}, got {}", name,
           to_string(to), value);
    std::memcpy(out.data() + i * to_bytes,
                to == DType::F16 ? static_cast<const void*>(&half) : &value, to_bytes);
  }
  return out;
}

int affine_bits(DType block) {
  return block == DType::Q8_0 ? 8 : 4;
}

class WeightsFile {
 public:
  WeightsFile(const fs::path& path, const NamedWeights& weights, DType dtype)
      : dtype_(dtype), writer_(path, announce(weights, dtype)) {}

  void write(const std::string& name, const Matrix& matrix) {
    if (matrix.encoding == MatrixEncoding::Dense) {
      const auto rows = ordered_rows(matrix.data, matrix.rows, matrix.interleaved_heads);
      writer_.write(name + ".weight", convert_floats(rows, matrix.dtype, dtype_, matrix.name));
      return;
    }
    const AffineMatrix affine = to_affine(matrix);
    const auto floats = [&](const std::vector<float>& values) {
      return convert_floats(std::as_bytes(std::span(values)), DType::F32, dtype_, matrix.name);
    };
    writer_.write(name + ".weight", std::as_bytes(std::span(affine.packed)));
    writer_.write(name + ".scales", floats(affine.scales));
    writer_.write(name + ".biases", floats(affine.biases));
  }
  void write(const std::string& name, const Vector& vector) {
    writer_.write(name, convert_floats(vector.data, vector.dtype, dtype_, vector.name));
  }
  void finish() { writer_.finish(); }

 private:
  static std::vector<TensorInfo> announce(const NamedWeights& weights, DType dtype) {
    std::vector<TensorInfo> infos;
    for (const auto& [name, matrix] : weights.matrices) {
      const std::int64_t rows = matrix->rows;
      const std::int64_t cols = matrix->cols;
      if (matrix->encoding == MatrixEncoding::Dense) {
        infos.push_back({name + ".weight", dtype, {rows, cols}});
        continue;
      }
      infos.push_back(
          {name + ".weight", DType::U32, {rows, cols * affine_bits(matrix->dtype) / 32}});
      for (const char* suffix : {".scales", ".biases"})
        infos.push_back({name + suffix, dtype, {rows, cols / 32}});
    }
    for (const auto& [name, vector] : weights.vectors)
      infos.push_back({name, dtype, {vector->size}});
    return infos;
  }

  DType dtype_;
  SafetensorsWriter writer_;
};

// The double whose shortest text is the float's: 1e-05 rather than 9.999999747378752e-06.
double shortest(float value) {
  return std::strtod(fmt::format("{}", value).c_str(), nullptr);
}

JsonValue rope_scaling(const RopeSpec& rope) {
  switch (rope.kind) {
    case RopeSpec::Kind::Default:
      break;
    case RopeSpec::Kind::Linear:
      return {{"rope_type", "linear"}, {"factor", rope.factor}};
    case RopeSpec::Kind::Llama3:
      return {{"rope_type", "llama3"},
              {"factor", rope.factor},
              {"low_freq_factor", rope.low_freq_factor},
              {"high_freq_factor", rope.high_freq_factor},
              {"original_max_position_embeddings", rope.original_max_positions}};
  }
  return nullptr;
}

// MLX's quantization block: the most frequent width, and the modules of another one by name. Null
// if nothing is quantized.
JsonValue quantization(const NamedWeights& weights) {
  const auto is_quantized = [](const Named<Matrix>& named) {
    return named.weight->encoding == MatrixEncoding::GgufBlock;
  };
  const auto params = [](int bits) {
    return JsonObject{{"group_size", 32}, {"bits", bits}, {"mode", "affine"}};
  };
  const auto total = std::count_if(weights.matrices.begin(), weights.matrices.end(), is_quantized);
  const auto wide = std::count_if(
      weights.matrices.begin(), weights.matrices.end(), [&](const Named<Matrix>& named) {
        return is_quantized(named) && affine_bits(named.weight->dtype) == 8;
      });
  if (total == 0) return nullptr;
  const int usual = 2 * wide > total ? 8 : 4;
  JsonObject block = params(usual);
  for (const Named<Matrix>& named : weights.matrices)
    if (is_quantized(named) && affine_bits(named.weight->dtype) != usual)
      block[named.name] = params(affine_bits(named.weight->dtype));
  return block;
}

JsonValue eos_ids(const Model& model) {
  if (model.eos.empty()) return nullptr;
  if (model.eos.size() == 1) return model.eos.front();
  return JsonArray(model.eos.begin(), model.eos.end());
}

JsonValue id_or_null(const std::optional<TokenId>& id) {
  return id ? JsonValue(*id) : JsonValue(nullptr);
}

JsonObject config_json(const Model& model, const NamedWeights& weights, DType dtype) {
  const DecoderSpec& spec = model.spec;
  JsonObject config = {
      {"architectures", {find_family(spec.family, model.name).hf_class}},
      {"model_type", spec.family},
      {"hidden_size", spec.hidden},
      {"num_hidden_layers", spec.layers},
      {"intermediate_size", spec.intermediate},
      {"num_attention_heads", spec.heads},
      {"num_key_value_heads", spec.kv_heads},
      {"head_dim", spec.head_dim},
      {"vocab_size", spec.vocab},
      {"max_position_embeddings", spec.max_positions},
      {"rms_norm_eps", shortest(spec.rms_eps)},
      {"rope_theta", shortest(spec.rope.theta)},
      {"rope_scaling", rope_scaling(spec.rope)},
      {"attention_bias", spec.attention_bias},
      {"mlp_bias", spec.mlp_bias},
      {"hidden_act", "silu"},
      {"tie_word_embeddings", spec.tied_head},
      {"bos_token_id", id_or_null(model.vocab->bos)},
      {"eos_token_id", eos_ids(model)},
      {"torch_dtype", dtype == DType::F16 ? "float16" : "float32"},
  };
  if (const JsonValue block = quantization(weights); !block.is_null())
    config["quantization"] = block;
  return config;
}

JsonObject generation_config_json(const Model& model) {
  return {{"bos_token_id", id_or_null(model.vocab->bos)},
          {"eos_token_id", eos_ids(model)},
          {"pad_token_id", id_or_null(model.vocab->padding)}};
}

JsonObject tokenizer_config_json(const Model& model) {
  const VocabData& vocab = *model.vocab;
  JsonObject config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                       {"clean_up_tokenization_spaces", false},
                       {"model_max_length", model.spec.max_positions}};
  const std::pair<const char*, std::optional<TokenId>> specials[] = {{"bos_token", vocab.bos},
                                                                     {"eos_token", vocab.eos},
                                                                     {"unk_token", vocab.unknown},
                                                                     {"pad_token", vocab.padding}};
  for (const auto& [name, id] : specials)
    if (id) config[name] = vocab.tokens.at(static_cast<std::size_t>(*id));
  if (model.chat_template) config["chat_template"] = *model.chat_template;
  return config;
}

void write_weights(const fs::path& path, const NamedWeights& weights,
                   const ConvertOptions& options) {
  WeightsFile file(path, weights, options.dtype);
  const auto total = static_cast<int>(weights.matrices.size() + weights.vectors.size());
  int done = 0;
  const auto write = [&](const auto& all) {
    for (const auto& [name, weight] : all) {
      file.write(name, *weight);
      ++done;
      if (options.progress) options.progress(done, total);
    }
  };
  write(weights.matrices);
  write(weights.vectors);
  file.finish();
}

}  // namespace

void convert_gguf(const Model& model, const std::string& tokenizer_json, const fs::path& folder,
                  const ConvertOptions& options) {
  if (!model.vocab)
    fail(ErrorCode::InvalidArgument, "{}: expected a GGUF model, got an MLX folder", model.name);
  if (options.dtype != DType::F16 && options.dtype != DType::F32)
    fail(ErrorCode::InvalidArgument, "expected dtype F16 or F32, got {}", to_string(options.dtype));
  const NamedWeights weights = name_weights(model.weights);
  OutputFolder output(folder);
  const auto write_json = [&output](const char* name, const JsonValue& value) {
    write_text_file(output.file(name), to_json(value, JsonStyle::Python, 2) + '\n');
  };
  write_weights(output.file("model.safetensors"), weights, options);
  write_text_file(output.file("tokenizer.json"), tokenizer_json);
  write_json("tokenizer_config.json", tokenizer_config_json(model));
  write_json("generation_config.json", generation_config_json(model));
  write_json("config.json", config_json(model, weights, options.dtype));
  output.keep();
}

}  // namespace emlx
