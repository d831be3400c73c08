#include "models/cpu/cpu_weights.h"

#include <cstring>

#include "models/cpu/weight_packer.h"

namespace emlx {
namespace {

using RowOrder = WeightPacker::RowOrder;

RowOrder first(int n) {
  return [n](int i) { return i < n ? i : -1; };
}

// Element i of a packed head as the file has it: `traditional` RoPE turns neighbours, ours elements
// half a rotated part apart. Scores do not depend on the order, as long as q and k share it.
int head_element(const DecoderSpec& spec, bool rotated, int i) {
  if (i >= spec.head_dim) return -1;
  const int pairs = spec.rope.dims / 2;
  if (!rotated || !spec.rope.traditional || i >= 2 * pairs) return i;
  return i < pairs ? 2 * i : 2 * (i - pairs) + 1;
}

// Packed row r of a projection to heads of `head_size` elements.
RowOrder head_rows(const DecoderSpec& spec, int head_size, bool rotated) {
  return [spec, head_size, rotated](int row) {
    const int element = head_element(spec, rotated, row % head_size);
    return element < 0 ? -1 : row / head_size * spec.head_dim + element;
  };
}

// A linear layer with its bias, if it has one.
void plan_linear(WeightPacker& packer, const Linear& from, int rows, const RowOrder& order,
                 PackedMatrix& to) {
  packer.matrix(from.weight, rows, order, to);
  if (from.bias) {
    const RowOrder bounded = [order, rows](int row) { return row < rows ? order(row) : -1; };
    packer.vector(*from.bias, to.panels * kPanelRows, bounded, to.bias);
  }
}

void plan_mlp(WeightPacker& packer, const LayerWeights& from, CpuLayer& to) {
  const Linear &gate = from.gate, &up = from.up;
  to.fused_mlp = !gate.bias && !up.bias && WeightPacker::same_format(gate.weight, up.weight);
  if (to.fused_mlp) {
    packer.interleaved(gate.weight, up.weight, to.gate_up);
  } else {
    plan_linear(packer, gate, gate.weight.rows, first(gate.weight.rows), to.gate);
    plan_linear(packer, up, up.weight.rows, first(up.weight.rows), to.up);
  }
  plan_linear(packer, from.down, from.down.weight.rows, first(from.down.weight.rows), to.down);
}

void plan_layer(WeightPacker& packer, const DecoderSpec& spec, int head_size,
                const LayerWeights& from, CpuLayer& to) {
  packer.vector(from.attention_norm, padded(spec.hidden), first(spec.hidden), to.attention_norm);
  packer.vector(from.mlp_norm, padded(spec.hidden), first(spec.hidden), to.mlp_norm);
  const RowOrder element = [spec](int i) { return head_element(spec, true, i); };
  to.q_norm = to.k_norm = nullptr;
  if (from.q_norm) packer.vector(*from.q_norm, head_size, element, to.q_norm);
  if (from.k_norm) packer.vector(*from.k_norm, head_size, element, to.k_norm);
  const RowOrder rotated = head_rows(spec, head_size, true);
  plan_linear(packer, from.q, spec.heads * head_size, rotated, to.q);
  plan_linear(packer, from.k, spec.kv_heads * head_size, rotated, to.k);
  plan_linear(packer, from.v, spec.kv_heads * head_size, head_rows(spec, head_size, false), to.v);
  plan_linear(packer, from.o, from.o.weight.rows, first(from.o.weight.rows), to.o);
  plan_mlp(packer, from, to);
}

}  // namespace

void InputFormats::add(const PackedMatrix& matrix) noexcept {
  if (matrix.panels == 0) return;
  const AffinePanels* const affine = matrix.affine();
  if (affine == nullptr) {
    floats = true;
  } else {
    (affine->group == 32 ? group32 : affine->group == 64 ? group64 : group128) = true;
  }
}

CpuWeights::CpuWeights(const Model& model, WorkerPool& pool)
    : head_size_((model.spec.head_dim + 15) / 16 * 16), layers_(model.weights.layers.size()) {
  WeightPacker packer;
  // The largest first: the workers finish together.
  packer.matrix(model.weights.head ? *model.weights.head : model.weights.embedding, head_);
  for (std::size_t i = 0; i < layers_.size(); ++i)
    plan_layer(packer, model.spec, head_size_, model.weights.layers[i], layers_[i]);
  packer.vector(model.weights.final_norm, padded(model.spec.hidden), first(model.spec.hidden),
                final_norm_);
  memory_ = packer.run(pool);
  bytes_ = packer.bytes();
  for (CpuLayer& layer : layers_) {
    for (const PackedMatrix* matrix : {&layer.q, &layer.k, &layer.v})
      layer.attention_in.add(*matrix);
    layer.o_in.add(layer.o);
    for (const PackedMatrix* matrix : {&layer.gate_up, &layer.gate, &layer.up})
      layer.mlp_in.add(*matrix);
    layer.down_in.add(layer.down);
  }
  head_in_.add(head_);
}

void read_embedding(const Matrix& embedding, TokenId token, float* out) noexcept {
  const auto row = static_cast<std::size_t>(token);
  const auto cols = static_cast<std::size_t>(embedding.cols);
  switch (embedding.encoding) {
    case MatrixEncoding::Dense: {
      const auto size = static_cast<std::size_t>(block_layout(embedding.dtype).bytes);
      const std::byte* at = embedding.data.data() + row * cols * size;
      for (std::size_t i = 0; i < cols; ++i) out[i] = read_float(at + i * size, embedding.dtype);
      return;
    }
    case MatrixEncoding::MlxAffine: {
      const auto bits = static_cast<std::size_t>(embedding.bits);
      const auto group = static_cast<std::size_t>(embedding.group_size);
      const auto size = static_cast<std::size_t>(block_layout(embedding.dtype).bytes);
      const std::byte* const values = embedding.data.data() + row * cols * bits / 8;
      const std::byte* const end = embedding.data.data() + embedding.data.size();
      const std::uint32_t mask = (1U << bits) - 1;
      for (std::size_t i = 0; i < cols; ++i) {
        std::uint16_t pair = 0;  // a value spans two bytes at most
        const std::byte* const at = values + i * bits / 8;
        std::memcpy(&pair, at, at + 1 < end ? 2 : 1);
        const std::uint32_t q = pair >> (i * bits % 8) & mask;
        const std::size_t scale = (row * (cols / group) + i / group) * size;
        out[i] =
            read_float(embedding.scales.data() + scale, embedding.dtype) * static_cast<float>(q) +
            read_float(embedding.biases.data() + scale, embedding.dtype);
      }
      return;
    }
    case MatrixEncoding::GgufBlock: {
      const auto bytes = static_cast<std::size_t>(block_layout(embedding.dtype).bytes);
      const std::byte* block = embedding.data.data() + row * (cols / 32) * bytes;
      for (std::size_t i = 0; i < cols; i += 32, block += bytes) {
        const float scale = read_float(block, DType::F16);
        const bool q8 = embedding.dtype == DType::Q8_0, q41 = embedding.dtype == DType::Q4_1;
        const float bias = q41 ? read_float(block + 2, DType::F16) : 0.0F;
        const std::byte* const q = block + (q41 ? 4 : 2);
        for (std::size_t k = 0; k < 32; ++k) {
          const auto byte = std::to_integer<std::uint32_t>(q[q8 ? k : k % 16]);
          const int value = q8 ? static_cast<std::int8_t>(byte)
                               : static_cast<int>(k < 16 ? byte & 15U : byte >> 4) - (q41 ? 0 : 8);
          out[i + k] = scale * static_cast<float>(value) + bias;
        }
      }
      return;
    }
  }
}

}  // namespace emlx
