#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/utf8.h"
#include "formats/gguf.h"
#include "formats/gguf_vocab.h"
#include "formats/json_file.h"
#include "formats/model_config.h"
#include "formats/safetensors.h"
#include "models/families/family.h"
#include "models/model.h"
#include "models/tensor_names.h"
#include "models/weight_loader.h"

namespace emlx {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxConfigBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxTemplateBytes = std::size_t{4} << 20;

std::string describe(const Matrix& matrix) {
  if (matrix.encoding == MatrixEncoding::MlxAffine)
    return fmt::format("{}-bit affine, group {}", matrix.bits, matrix.group_size);
  if (matrix.encoding == MatrixEncoding::GgufBlock) return to_string(matrix.dtype);
  return matrix.dtype == DType::F32   ? "float32"
         : matrix.dtype == DType::F16 ? "float16"
                                      : "bfloat16";
}

// Every encoding among the matrices, the most frequent first: "Q4_1 + Q8_0".
std::string describe(const DecoderWeights& weights) {
  std::map<std::string, int> counts;
  ++counts[describe(weights.embedding)];
  if (weights.head) ++counts[describe(*weights.head)];
  for (const LayerWeights& layer : weights.layers)
    for (const Linear* linear :
         {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down})
      ++counts[describe(linear->weight)];
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, count] : sorted) text += (text.empty() ? "" : " + ") + name;
  return text;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

Model open_folder(const fs::path& folder) {
  const auto path_of = [&folder](const char* name) { return folder / name; };
  if (!is_there(path_of("config.json")))
    fail(ErrorCode::InvalidFile, "{}: expected a model folder, but config.json is missing",
         folder.string());
  const std::string what = path_of("config.json").string();
  const JsonValue json = read_json_object(path_of("config.json"), kMaxConfigBytes);
  const Family& family = find_family(read_model_type(json, what), what);
  const ModelConfig config = parse_model_config(json, what);

  Model model;
  model.spec = family.from_config(config, what);
  model.tensors = std::make_shared<const TensorSet>(open_safetensors(folder));
  model.weights = load_weights(*model.tensors, model.spec,
                               {.names = kHuggingFaceNames,
                                .quantization = config.quantization,
                                .interleaved_qk = false,
                                .ignored = family.ignored_tensors});
  model.eos = config.eos;
  if (const auto path = path_of("generation_config.json"); is_there(path)) {
    auto eos = parse_generation_eos(read_json_object(path, kMaxConfigBytes), path.string());
    if (!eos.empty()) model.eos = std::move(eos);
  }
  model.tokenizer_json = read_text_file(path_of("tokenizer.json"), kMaxTokenizerBytes);
  if (const auto path = path_of("tokenizer_config.json"); is_there(path))
    model.tokenizer_config = read_json_object(path, kMaxConfigBytes);
  if (const auto path = path_of("chat_template.jinja"); is_there(path))
    model.chat_template = read_text_file(path, kMaxTemplateBytes);
  return model;
}

Model open_gguf_model(const fs::path& path) {
  const GgufFile file = open_gguf(path);
  const GgufMetadata& metadata = file.metadata;
  const auto architecture = metadata.text("general.architecture");
  if (!architecture)
    fail(ErrorCode::InvalidFile, "{}: general.architecture is missing", metadata.origin());
  const Family& family = find_family(*architecture, metadata.origin());

  Model model;
  model.spec = family.from_gguf(metadata, *file.tensors);
  model.tensors = file.tensors;
  model.weights = load_weights(*model.tensors, model.spec,
                               {.names = kGgufNames,
                                .quantization = std::nullopt,
                                .interleaved_qk = family.gguf_interleaved_qk,
                                .ignored = {}});
  model.vocab = read_gguf_vocab(metadata);
  if (model.vocab->tokens.size() > static_cast<std::size_t>(model.spec.vocab))
    fail(ErrorCode::InvalidFile, "{}: expected at most {} tokens (the embedding's rows), got {}",
         metadata.origin(), model.spec.vocab, model.vocab->tokens.size());
  model.eos = read_gguf_eos(metadata, *model.vocab);
  model.chat_template = metadata.text("tokenizer.chat_template");
  return model;
}

// Ends in the folder's or file's own name, also for "." and "folder/".
fs::path absolute_path(const fs::path& path) {
  std::error_code error;
  fs::path absolute = fs::absolute(path, error).lexically_normal();
  return absolute.has_filename() ? absolute : absolute.parent_path();
}

}  // namespace

Model open_model(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail(ErrorCode::InvalidFile, "model {} does not exist", path.string());
  const bool folder = fs::is_directory(status);
  if (!folder && path.extension() == ".safetensors")
    fail(ErrorCode::InvalidFile,
         "{}: expected a model folder or a .gguf file, got one weights file", path.string());
  Model model = folder ? open_folder(path) : open_gguf_model(path);
  const fs::path name = absolute_path(path);
  const bool bare = !folder && name.extension() == ".gguf";
  model.name = replace_invalid_utf8((bare ? name.stem() : name.filename()).string());
  model.quantization = describe(model.weights);
  return model;
}

}  // namespace emlx
