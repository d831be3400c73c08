// Bytes as a whole model: a GGUF file, or config.json, a zero byte and a safetensors file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "formats/gguf.h"
#include "formats/gguf_vocab.h"
#include "formats/model_config.h"
#include "formats/safetensors.h"
#include "models/affine.h"
#include "models/families/family.h"
#include "models/tensor_names.h"
#include "models/weight_loader.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace emlx;

// Reads every byte that an executor would.
void use(const Matrix& matrix) {
  if (matrix.encoding == MatrixEncoding::GgufBlock) to_affine(matrix);
  unsigned sum = 0;
  for (const auto& bytes : {matrix.data, matrix.scales, matrix.biases})
    for (const std::byte byte : bytes) sum += std::to_integer<unsigned>(byte);
  if (ordered_rows(matrix.data, matrix.rows, matrix.interleaved_heads).size() !=
          matrix.data.size() ||
      sum > 255 * (matrix.data.size() + 2 * matrix.scales.size()))
    std::abort();
}

void use(const DecoderWeights& weights) {
  use(weights.embedding);
  for (const LayerWeights& layer : weights.layers)
    for (const Linear* linear :
         {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down})
      use(linear->weight);
  if (weights.head) use(*weights.head);
}

void read_gguf(std::span<const std::byte> file) {
  GgufContents contents = parse_gguf(file, "input");
  const Family& family =
      find_family(contents.metadata.text("general.architecture").value_or(""), "input");
  const TensorSet tensors("input", {}, std::move(contents.tensors));
  const DecoderSpec spec = family.from_gguf(contents.metadata, tensors);
  use(load_weights(tensors, spec,
                   {.names = kGgufNames,
                    .quantization = {},
                    .interleaved_qk = family.gguf_interleaved_qk,
                    .ignored = {}}));
  Tokenizer::from_vocab(read_gguf_vocab(contents.metadata)).encode("a b\n1 \xC3\xA9", true);
}

void read_folder(std::string_view config_json, std::span<const std::byte> file) {
  const ModelConfig config = parse_model_config(parse_file_json(config_json, "input"), "input");
  const Family& family = find_family(config.model_type, "input");
  const DecoderSpec spec = family.from_config(config, "input");
  const TensorSet tensors("input", {}, parse_safetensors(file, "input"));
  use(load_weights(tensors, spec,
                   {.names = kHuggingFaceNames,
                    .quantization = config.quantization,
                    .interleaved_qk = false,
                    .ignored = family.ignored_tensors}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const std::size_t end = text.find('\0');
    if (text.starts_with("GGUF")) {
      read_gguf(bytes);
    } else if (end != std::string_view::npos) {
      read_folder(text.substr(0, end), bytes.subspan(end + 1));
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Internal) std::abort();
  }
  return 0;
}
