// A decoder as simple as can be, in doubles over dequantized weights: what the executor is measured
// against.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "models/model.h"

namespace emlx {

using Doubles = std::vector<double>;

// One sequence. Feeds one token at a time and keeps all keys and values.
class ReferenceDecoder {
 public:
  explicit ReferenceDecoder(const Model& model) : spec_(model.spec) {
    const DecoderWeights& w = model.weights;
    embedding_ = dequantized(w.embedding);
    head_ = w.head ? dequantized(*w.head) : embedding_;
    final_norm_ = dequantized(w.final_norm);
    for (const LayerWeights& from : w.layers)
      layers_.push_back({dequantized(from.attention_norm), dequantized(from.mlp_norm),
                         from.q_norm ? dequantized(*from.q_norm) : Doubles(),
                         from.k_norm ? dequantized(*from.k_norm) : Doubles(), dequantized(from.q),
                         dequantized(from.k), dequantized(from.v), dequantized(from.o),
                         dequantized(from.gate), dequantized(from.up), dequantized(from.down),
                         Doubles(), Doubles()});
  }

  // The logits behind `token`.
  Doubles next(TokenId token) {
    const auto start = embedding_.begin() + static_cast<std::ptrdiff_t>(token) * spec_.hidden;
    Doubles h(start, start + spec_.hidden);
    for (Layer& layer : layers_) {
      add(h, attention(layer, rms_norm(h, layer.attention_norm)));
      const Doubles x = rms_norm(h, layer.mlp_norm);
      Doubles gate = apply(layer.gate, x);
      const Doubles up = apply(layer.up, x);
      for (std::size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1 + std::exp(-gate[i]));
      add(h, apply(layer.down, gate));
    }
    ++position_;
    return product(head_, rms_norm(h, final_norm_));
  }

 private:
  struct DenseLinear {
    Doubles weight, bias;
  };
  struct Layer {
    Doubles attention_norm, mlp_norm, q_norm, k_norm;
    DenseLinear q, k, v, o, gate, up, down;
    Doubles keys, values;  // [positions, kv_heads * head_dim]
  };

  static Doubles dequantized(const Vector& vector) {
    Doubles out;
    const auto size = static_cast<std::size_t>(block_layout(vector.dtype).bytes);
    for (int i = 0; i < vector.size; ++i)
      out.push_back(
          read_float(vector.data.data() + static_cast<std::size_t>(i) * size, vector.dtype));
    return out;
  }

  static DenseLinear dequantized(const Linear& linear) {
    return {dequantized(linear.weight), linear.bias ? dequantized(*linear.bias) : Doubles()};
  }

  static Doubles dequantized(const Matrix& m) {
    Doubles out;
    for (int row = 0; row < m.rows; ++row) {
      int file_row = row;
      if (m.interleaved_heads != 0) {
        const int size = m.rows / m.interleaved_heads, i = row % size;
        file_row = row - i + (i < size / 2 ? 2 * i : 2 * (i - size / 2) + 1);
      }
      for (int col = 0; col < m.cols; ++col)
        out.push_back(
            element(m, static_cast<std::size_t>(file_row) * static_cast<std::size_t>(m.cols) +
                           static_cast<std::size_t>(col)));
    }
    return out;
  }

  // Element `at` of the file's rows.
  static double element(const Matrix& m, std::size_t at) {
    const auto size = static_cast<std::size_t>(block_layout(m.dtype).bytes);
    if (m.encoding == MatrixEncoding::Dense) return read_float(m.data.data() + at * size, m.dtype);
    if (m.encoding == MatrixEncoding::MlxAffine) {
      const auto bits = static_cast<std::size_t>(m.bits);
      unsigned q = 0;
      for (std::size_t bit = 0; bit < bits; ++bit) {
        const std::size_t place = at * bits + bit;
        q |= (std::to_integer<unsigned>(m.data[place / 8]) >> place % 8 & 1U) << bit;
      }
      const std::size_t group = at / static_cast<std::size_t>(m.group_size) * size;
      return static_cast<double>(read_float(&m.scales[group], m.dtype)) * q +
             static_cast<double>(read_float(&m.biases[group], m.dtype));
    }
    const std::byte* const block = &m.data[at / 32 * size];
    const double scale = read_float(block, DType::F16);
    const std::size_t i = at % 32;
    if (m.dtype == DType::Q8_0)
      return scale * static_cast<std::int8_t>(std::to_integer<int>(block[2 + i]));
    const bool q41 = m.dtype == DType::Q4_1;
    const auto pair = std::to_integer<unsigned>(block[(q41 ? 4 : 2) + i % 16]);
    const unsigned q = i < 16 ? pair & 15U : pair >> 4;
    return q41 ? scale * q + static_cast<double>(read_float(block + 2, DType::F16))
               : scale * (static_cast<double>(q) - 8);
  }

  static Doubles product(const Doubles& weight, const Doubles& x) {
    Doubles y(weight.size() / x.size());
    for (std::size_t row = 0; row < y.size(); ++row)
      for (std::size_t i = 0; i < x.size(); ++i) y[row] += weight[row * x.size() + i] * x[i];
    return y;
  }

  static Doubles apply(const DenseLinear& linear, const Doubles& x) {
    Doubles y = product(linear.weight, x);
    if (!linear.bias.empty()) add(y, linear.bias);
    return y;
  }

  static void add(Doubles& y, const Doubles& x) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += x[i];
  }

  Doubles rms_norm(const Doubles& x, const Doubles& weight) const {
    double sum = 0;
    for (const double value : x) sum += value * value;
    const double factor =
        1 / std::sqrt(sum / static_cast<double>(x.size()) + static_cast<double>(spec_.rms_eps));
    Doubles y(x);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= factor * weight[i];
    return y;
  }

  // Radians a position, of pair i.
  double frequency(int i) const {
    const RopeSpec& rope = spec_.rope;
    const double plain = std::pow(static_cast<double>(rope.theta), -2.0 * i / rope.dims);
    if (rope.kind == RopeSpec::Kind::Linear) return plain * static_cast<double>(rope.scale);
    if (rope.kind == RopeSpec::Kind::Default) return plain;
    // turns: of the pair over the original context.
    const double turns = rope.original_max_positions * plain / (2 * std::numbers::pi);
    if (turns < rope.low_freq_factor) return plain / rope.factor;
    if (turns > rope.high_freq_factor) return plain;
    const double kept =
        (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
    return kept * plain + (1 - kept) * plain / rope.factor;
  }

  // Norm, if there is one, and RoPE of each head.
  void turn(Doubles& heads, const Doubles& norm) const {
    const int size = spec_.head_dim, pairs = spec_.rope.dims / 2;
    for (auto head = heads.begin(); head != heads.end(); head += size) {
      if (!norm.empty()) {
        const Doubles normed = rms_norm(Doubles(head, head + size), norm);
        std::copy(normed.begin(), normed.end(), head);
      }
      for (int i = 0; i < pairs; ++i) {
        const double angle = position_ * frequency(i);
        double& a = head[spec_.rope.traditional ? 2 * i : i];
        double& b = head[spec_.rope.traditional ? 2 * i + 1 : i + pairs];
        const double before = a;
        a = before * std::cos(angle) - b * std::sin(angle);
        b = before * std::sin(angle) + b * std::cos(angle);
      }
    }
  }

  Doubles attention(Layer& layer, const Doubles& x) const {
    Doubles q = apply(layer.q, x), k = apply(layer.k, x);
    const Doubles v = apply(layer.v, x);
    turn(q, layer.q_norm);
    turn(k, layer.k_norm);
    layer.keys.insert(layer.keys.end(), k.begin(), k.end());
    layer.values.insert(layer.values.end(), v.begin(), v.end());
    const auto size = static_cast<std::size_t>(spec_.head_dim);
    const auto group = static_cast<std::size_t>(spec_.heads / spec_.kv_heads);
    Doubles out(q.size());
    for (std::size_t head = 0; head < static_cast<std::size_t>(spec_.heads); ++head) {
      double total = 0;
      const double* const query = &q[head * size];
      double* const to = &out[head * size];
      for (std::size_t at = head / group * size; at < layer.keys.size(); at += k.size()) {
        double score = 0;
        for (std::size_t i = 0; i < size; ++i) score += query[i] * layer.keys[at + i];
        const double weight = std::exp(score / std::sqrt(static_cast<double>(size)));
        total += weight;
        for (std::size_t i = 0; i < size; ++i) to[i] += weight * layer.values[at + i];
      }
      for (std::size_t i = 0; i < size; ++i) to[i] /= total;
    }
    return apply(layer.o, out);
  }

  DecoderSpec spec_;
  Doubles embedding_, head_, final_norm_;
  std::vector<Layer> layers_;
  int position_ = 0;
};

}  // namespace emlx
