#include "models/mlx/mlx_weights.h"

#include <mlx/ops.h>

#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "models/affine.h"

namespace emlx {
namespace {

mx::Dtype mlx_dtype(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return mx::float32;
    case DType::F16:
      return mx::float16;
    case DType::BF16:
      return mx::bfloat16;
    case DType::U32:
      return mx::uint32;
    default:
      fail(ErrorCode::Unsupported, "no MLX type for {}", to_string(dtype));
  }
}

// Copies `data`, which may be unaligned, into an MLX buffer. shape: [rows, cols], or [cols].
mx::array copied(std::span<const std::byte> data, mx::Shape shape, DType dtype) {
  const mx::Dtype type = mlx_dtype(dtype);
  std::size_t bytes = mx::size_of(type);
  for (const int size : shape) bytes *= static_cast<std::size_t>(size);
  if (data.size() != bytes) {
    fail(ErrorCode::InvalidFile, "expected {} bytes, got {}", bytes, data.size());
  }
  shape.back() *= static_cast<int>(mx::size_of(type));
  const auto* source = reinterpret_cast<const std::uint8_t*>(data.data());
  return mx::view(mx::array(source, std::move(shape), mx::uint8), type);
}

// Calls `load`; what it throws comes out as Error with the weight's name.
template <typename Load>
auto named(const std::string& name, Load load) {
  try {
    return load();
  } catch (const Error& error) {
    fail(error.code(), "weight {}: {}", name, error.what());
  } catch (const std::exception& error) {
    fail(ErrorCode::Internal, "weight {}: {}", name, error.what());
  }
}

class Loader {
 public:
  explicit Loader(mx::Dtype dtype) : dtype_(dtype) {}

  std::size_t bytes() const { return bytes_; }
  bool has_cast() const { return has_cast_; }

  mx::array vector(const Vector& vector) {
    return named(vector.name,
                 [&] { return ready(cast(copied(vector.data, {vector.size}, vector.dtype))); });
  }

  std::optional<mx::array> vector(const std::optional<Vector>& optional) {
    if (!optional) return std::nullopt;
    return vector(*optional);
  }

  MlxMatrix matrix(const Matrix& matrix) {
    return named(matrix.name, [&] {
      switch (matrix.encoding) {
        case MatrixEncoding::MlxAffine:
          return affine(matrix);
        case MatrixEncoding::GgufBlock:
          return gguf(matrix);
        case MatrixEncoding::Dense:
          break;
      }
      return dense(matrix);
    });
  }

  MlxMatrix linear(const Linear& linear) {
    MlxMatrix result = matrix(linear.weight);
    result.bias = vector(linear.bias);
    return result;
  }

 private:
  mx::array cast(const mx::array& array) {
    has_cast_ = has_cast_ || array.dtype() != dtype_;
    return mx::astype(array, dtype_);
  }

  // Evaluated one by one, so that the uncast copy of only one weight is ever held.
  mx::array ready(mx::array array) {
    array.eval();
    bytes_ += array.nbytes();
    return array;
  }

  MlxMatrix dense(const Matrix& m) {
    const mx::Shape shape = {m.rows, m.cols};
    if (m.interleaved_heads == 0) return {.weight = ready(cast(copied(m.data, shape, m.dtype)))};
    const std::vector<std::byte> ordered = ordered_rows(m.data, m.rows, m.interleaved_heads);
    return {.weight = ready(cast(copied(ordered, shape, m.dtype)))};
  }

  MlxMatrix affine(const Matrix& m) {
    const mx::Shape groups = {m.rows, m.cols / m.group_size};
    return {.weight = ready(copied(m.data, {m.rows, m.cols / 32 * m.bits}, DType::U32)),
            .scales = ready(cast(copied(m.scales, groups, m.dtype))),
            .biases = ready(cast(copied(m.biases, groups, m.dtype))),
            .group_size = m.group_size,
            .bits = m.bits};
  }

  MlxMatrix gguf(const Matrix& m) {
    const AffineMatrix repacked = to_affine(m);
    return affine({.rows = m.rows,
                   .cols = m.cols,
                   .dtype = DType::F32,
                   .data = std::as_bytes(std::span(repacked.packed)),
                   .scales = std::as_bytes(std::span(repacked.scales)),
                   .biases = std::as_bytes(std::span(repacked.biases)),
                   .bits = repacked.bits,
                   .group_size = repacked.group_size});
  }

  mx::Dtype dtype_;
  std::size_t bytes_ = 0;
  bool has_cast_ = false;
};

}  // namespace

mx::array MlxMatrix::project(const mx::array& x) const {
  if (scales) {
    const mx::array y =
        mx::quantized_matmul(x, weight, *scales, biases, /*transpose=*/true, group_size, bits);
    return bias ? mx::add(y, *bias) : y;
  }
  const mx::array transposed = mx::transpose(weight);
  return bias ? mx::addmm(*bias, x, transposed) : mx::matmul(x, transposed);
}

mx::array MlxMatrix::lookup(const mx::array& rows) const {
  if (!scales) return mx::take(weight, rows, 0);
  return mx::dequantize(mx::take(weight, rows, 0), mx::take(*scales, rows, 0),
                        mx::take(*biases, rows, 0), group_size, bits);
}

MlxWeights load_mlx_weights(const DecoderWeights& weights, mx::Dtype dtype) {
  Loader load(dtype);
  std::vector<MlxLayerWeights> layers;
  layers.reserve(weights.layers.size());
  for (const LayerWeights& layer : weights.layers) {
    layers.push_back({.attention_norm = load.vector(layer.attention_norm),
                      .q = load.linear(layer.q),
                      .k = load.linear(layer.k),
                      .v = load.linear(layer.v),
                      .o = load.linear(layer.o),
                      .q_norm = load.vector(layer.q_norm),
                      .k_norm = load.vector(layer.k_norm),
                      .mlp_norm = load.vector(layer.mlp_norm),
                      .gate = load.linear(layer.gate),
                      .up = load.linear(layer.up),
                      .down = load.linear(layer.down)});
  }
  MlxWeights result = {.embedding = load.matrix(weights.embedding),
                       .layers = std::move(layers),
                       .final_norm = load.vector(weights.final_norm)};
  if (weights.head) result.head = load.matrix(*weights.head);
  result.bytes = load.bytes();
  result.cast = load.has_cast();
  return result;
}

}  // namespace emlx
