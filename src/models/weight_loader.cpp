#include "models/weight_loader.h"

#include <array>
#include <cstdint>
#include <string>
#include <unordered_set>

#include "base/error.h"
#include "base/quote.h"

namespace emlx {
namespace {

using Shape = std::array<std::int64_t, 2>;

bool is_float(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
}

bool is_block(DType dtype) {
  return dtype == DType::Q4_0 || dtype == DType::Q4_1 || dtype == DType::Q8_0;
}

class WeightLoader {
 public:
  WeightLoader(const TensorSet& tensors, const WeightLayout& layout)
      : tensors_(tensors), layout_(layout) {}

  Matrix matrix(const std::string& path, int rows, int cols) {
    const TensorView& weight = take(path + ".weight");
    Matrix matrix{.name = path, .rows = rows, .cols = cols, .data = weight.data};
    if (const auto params = affine_params(path, weight, cols)) {
      load_affine(matrix, weight, *params);
      return matrix;
    }
    if (!is_float(weight.dtype) && !is_block(weight.dtype))
      fail_mismatch(weight, "F32, F16, BF16 or GGUF blocks", Shape{rows, cols});
    check_shape(weight, Shape{rows, cols});
    matrix.encoding = is_block(weight.dtype) ? MatrixEncoding::GgufBlock : MatrixEncoding::Dense;
    matrix.dtype = weight.dtype;
    return matrix;
  }

  Vector vector(const std::string& name, int size) {
    const TensorView& tensor = take(name);
    const std::array<std::int64_t, 1> shape = {size};
    if (!is_float(tensor.dtype)) fail_mismatch(tensor, "F32, F16 or BF16", shape);
    check_shape(tensor, shape);
    return {.name = name, .size = size, .dtype = tensor.dtype, .data = tensor.data};
  }

  Linear linear(const std::string& path, int rows, int cols, bool bias) {
    Linear linear{.weight = matrix(path, rows, cols), .bias = std::nullopt};
    if (bias) linear.bias = vector(path + ".bias", rows);
    return linear;
  }

  void ignore(const std::string& name) { taken_.insert(name); }

  void check_all_taken() const {
    for (const TensorView& tensor : tensors_.tensors()) {
      if (taken_.contains(tensor.name)) continue;
      if (!layout_.ignored.empty() && tensor.name.find(layout_.ignored) != std::string::npos)
        continue;
      fail(ErrorCode::InvalidFile, "{}: tensor {} does not belong to this kind of model",
           tensors_.origin(), quote(tensor.name));
    }
  }

 private:
  const TensorView& take(const std::string& name) {
    taken_.insert(name);
    return tensors_.require(name);
  }

  // Parameters of a quantized module; nullopt: it is dense.
  std::optional<AffineParams> affine_params(const std::string& path, const TensorView& weight,
                                            int cols) const {
    if (!layout_.quantization) return std::nullopt;
    const auto module = layout_.quantization->modules.find(path);
    if (module != layout_.quantization->modules.end()) return module->second;
    const TensorView* scales = tensors_.find(path + ".scales");
    if (scales == nullptr) return std::nullopt;
    if (scales->dtype == DType::U8)
      fail(ErrorCode::Unsupported,
           "{}: {} has 8-bit scales (mxfp4, nvfp4 or mxfp8): only affine "
           "quantization is supported",
           tensors_.origin(), quote(path));
    AffineParams params{.bits = 0, .group_size = 0};
    if (weight.shape.size() == 2 && scales->shape.size() == 2 && scales->shape[1] > 0 &&
        weight.shape[1] <= cols) {
      params.bits = static_cast<int>(weight.shape[1] * 32 / cols);
      params.group_size = static_cast<int>(cols / scales->shape[1]);
    }
    if (!is_affine_params(params))
      fail(ErrorCode::InvalidFile,
           "{}: {}: weight {} and scales {} fit no quantization of {} columns", tensors_.origin(),
           quote(path), to_string(weight.shape), to_string(scales->shape), cols);
    return params;
  }

  void load_affine(Matrix& matrix, const TensorView& weight, const AffineParams& params) {
    if (matrix.cols % params.group_size != 0)
      fail(ErrorCode::InvalidFile, "{}: {}: expected groups of {} to divide {} columns",
           tensors_.origin(), quote(matrix.name), params.group_size, matrix.cols);
    const Shape packed = {matrix.rows, std::int64_t{matrix.cols} * params.bits / 32};
    const Shape groups = {matrix.rows, matrix.cols / params.group_size};
    if (weight.dtype != DType::U32) fail_mismatch(weight, "U32", packed);
    check_shape(weight, packed);
    const TensorView& scales = take(matrix.name + ".scales");
    const TensorView& biases = take(matrix.name + ".biases");
    if (!is_float(scales.dtype)) fail_mismatch(scales, "F32, F16 or BF16", groups);
    if (biases.dtype != scales.dtype) fail_mismatch(biases, to_string(scales.dtype), groups);
    check_shape(scales, groups);
    check_shape(biases, groups);
    matrix.encoding = MatrixEncoding::MlxAffine;
    matrix.dtype = scales.dtype;
    matrix.scales = scales.data;
    matrix.biases = biases.data;
    matrix.bits = params.bits;
    matrix.group_size = params.group_size;
  }

  void check_shape(const TensorView& tensor, std::span<const std::int64_t> expected) const {
    if (std::equal(tensor.shape.begin(), tensor.shape.end(), expected.begin(), expected.end()))
      return;
    fail_mismatch(tensor, to_string(tensor.dtype), expected);
  }

  [[noreturn]] void fail_mismatch(const TensorView& tensor, const char* dtypes,
                                  std::span<const std::int64_t> shape) const {
    fail(ErrorCode::InvalidFile, "{}: tensor {}: expected {} {}, got {} {}", tensors_.origin(),
         quote(tensor.name), dtypes, to_string(shape), to_string(tensor.dtype),
         to_string(tensor.shape));
  }

  const TensorSet& tensors_;
  const WeightLayout& layout_;
  std::unordered_set<std::string> taken_;
};

LayerWeights load_layer(WeightLoader& loader, const DecoderSpec& spec, const WeightLayout& layout,
                        int index) {
  const TensorNames& names = layout.names;
  const auto path = [&](const char* module) { return names.in_layer(index, module); };
  const auto norm = [&](const char* module, int size) {
    return loader.vector(path(module) + ".weight", size);
  };
  const auto linear = [&](const char* module, int rows, int cols, bool bias) {
    return loader.linear(path(module), rows, cols, bias);
  };
  const int q_rows = spec.heads * spec.head_dim;
  const int kv_rows = spec.kv_heads * spec.head_dim;
  LayerWeights layer;
  layer.attention_norm = norm(names.attention_norm, spec.hidden);
  layer.q = linear(names.q, q_rows, spec.hidden, spec.attention_bias);
  layer.k = linear(names.k, kv_rows, spec.hidden, spec.attention_bias);
  layer.v = linear(names.v, kv_rows, spec.hidden, spec.attention_bias);
  if (layout.interleaved_qk) {
    layer.q.weight.interleaved_heads = spec.heads;
    layer.k.weight.interleaved_heads = spec.kv_heads;
  }
  if (spec.qk_norm) {
    layer.q_norm = norm(names.q_norm, spec.head_dim);
    layer.k_norm = norm(names.k_norm, spec.head_dim);
  }
  layer.o = linear(names.o, spec.hidden, q_rows, spec.attention_bias);
  layer.mlp_norm = norm(names.mlp_norm, spec.hidden);
  layer.gate = linear(names.gate, spec.intermediate, spec.hidden, spec.mlp_bias);
  layer.up = linear(names.up, spec.intermediate, spec.hidden, spec.mlp_bias);
  layer.down = linear(names.down, spec.hidden, spec.intermediate, spec.mlp_bias);
  return layer;
}

}  // namespace

DecoderWeights load_weights(const TensorSet& tensors, const DecoderSpec& spec,
                            const WeightLayout& layout) {
  WeightLoader loader(tensors, layout);
  DecoderWeights weights;
  weights.embedding = loader.matrix(layout.names.embedding, spec.vocab, spec.hidden);
  for (int i = 0; i < spec.layers; ++i)
    weights.layers.push_back(load_layer(loader, spec, layout, i));
  weights.final_norm = loader.vector(std::string(layout.names.final_norm) + ".weight", spec.hidden);
  if (spec.tied_head) {
    loader.ignore(std::string(layout.names.head) + ".weight");
  } else {
    weights.head = loader.matrix(layout.names.head, spec.vocab, spec.hidden);
  }
  loader.check_all_taken();
  return weights;
}

}  // namespace emlx
