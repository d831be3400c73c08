#include "models/random_model.h"

#include <cmath>
#include <cstring>
#include <deque>
#include <utility>

#include "base/error.h"
#include "base/float16.h"
#include "base/quote.h"

namespace emlx {
namespace {

// A small generator (xorshift64*) whose numbers do not depend on the standard library.
class Random {
 public:
  explicit Random(std::uint32_t seed) : state_(0x9e3779b97f4a7c15U ^ seed) {}
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dU;
  }
  float between(float low, float high) {
    return low + (high - low) * static_cast<float>(next() >> 40) * 0x1p-24F;
  }

 private:
  std::uint64_t state_;
};

// A model and the bytes its weights point into.
class Builder {
 public:
  Builder(const DecoderSpec& spec, const RandomWeights& weights)
      : spec_(spec), weights_(weights), random_(weights.seed) {
    model_.name = spec.family + "-random";
    model_.spec = spec;
    model_.quantization = weights.bits == 0 ? to_string(weights.dtype)
                                            : fmt::format("{}-bit affine, group {}", weights.bits,
                                                          weights.group_size);
    DecoderWeights& w = model_.weights;
    w.embedding = matrix(spec.vocab, spec.hidden, weights.head_bits);
    if (!spec.tied_head) w.head = matrix(spec.vocab, spec.hidden, weights.head_bits);
    for (int i = 0; i < spec.layers; ++i) w.layers.push_back(layer());
    w.final_norm = vector(spec.hidden, 1.0F);
  }

  const Model& model() const { return model_; }

 private:
  LayerWeights layer() {
    const int q = spec_.heads * spec_.head_dim, kv = spec_.kv_heads * spec_.head_dim;
    LayerWeights out;
    out.attention_norm = vector(spec_.hidden, 1.0F);
    out.q = linear(q, spec_.hidden, spec_.attention_bias);
    out.k = linear(kv, spec_.hidden, spec_.attention_bias);
    out.v = linear(kv, spec_.hidden, spec_.attention_bias);
    if (spec_.qk_norm) {
      out.q_norm = vector(spec_.head_dim, 1.0F);
      out.k_norm = vector(spec_.head_dim, 1.0F);
    }
    out.o = linear(spec_.hidden, q, spec_.attention_bias);
    out.mlp_norm = vector(spec_.hidden, 1.0F);
    out.gate = linear(spec_.intermediate, spec_.hidden, spec_.mlp_bias);
    out.up = linear(spec_.intermediate, spec_.hidden, spec_.mlp_bias);
    out.down = linear(spec_.hidden, spec_.intermediate, spec_.mlp_bias);
    return out;
  }

  Linear linear(int rows, int cols, bool bias) {
    Linear out{matrix(rows, cols, weights_.bits), {}};
    if (bias) out.bias = vector(rows, 0.0F);
    return out;
  }

  Matrix matrix(int rows, int cols, int bits) {
    Matrix out;
    out.name = "random";
    out.rows = rows;
    out.cols = cols;
    out.dtype = weights_.dtype;
    const auto count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
    const float spread = std::sqrt(3.0F / static_cast<float>(cols));  // variance 1 / cols
    if (bits == 0) {
      out.data = floats(count, -spread, spread);
      return out;
    }
    out.encoding = MatrixEncoding::MlxAffine;
    out.bits = bits;
    out.group_size = weights_.group_size;
    out.data = bytes(count * static_cast<std::size_t>(bits) / 8);
    // w = scale (q - half the range), the scale varying by a third.
    const float middle = spread * 2 / static_cast<float>((1 << bits) - 1);
    const std::size_t groups = count / static_cast<std::size_t>(weights_.group_size);
    std::vector<float> scales(groups), biases(groups);
    for (std::size_t i = 0; i < groups; ++i) {
      scales[i] = random_.between(0.67F, 1.33F) * middle;
      biases[i] =
          -scales[i] * static_cast<float>((1 << bits) - 1) / 2 * random_.between(0.9F, 1.1F);
    }
    out.scales = narrow(scales);
    out.biases = narrow(biases);
    return out;
  }

  Vector vector(int size, float around) {
    return {"random", size, weights_.dtype,
            floats(static_cast<std::size_t>(size), around - 0.1F, around + 0.1F)};
  }

  std::span<const std::byte> floats(std::size_t count, float low, float high) {
    std::vector<float> values(count);
    for (float& value : values) value = random_.between(low, high);
    return narrow(values);
  }

  std::span<const std::byte> narrow(const std::vector<float>& values) {
    std::vector<std::byte>& out = storage_.emplace_back();
    if (weights_.dtype == DType::F32) {
      out.resize(values.size() * 4);
      std::memcpy(out.data(), values.data(), out.size());
      return out;
    }
    out.resize(values.size() * 2);
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint16_t half = float_to_float16(values[i]);
      if (weights_.dtype == DType::BF16) {
        std::uint32_t whole = 0;
        std::memcpy(&whole, &values[i], sizeof whole);
        half = static_cast<std::uint16_t>(whole >> 16);
      }
      std::memcpy(out.data() + 2 * i, &half, sizeof half);
    }
    return out;
  }

  std::span<const std::byte> bytes(std::size_t count) {
    std::vector<std::byte>& out = storage_.emplace_back((count + 7) / 8 * 8);
    for (std::size_t i = 0; i < out.size(); i += 8) {
      const std::uint64_t word = random_.next();
      std::memcpy(out.data() + i, &word, sizeof word);
    }
    return std::span<const std::byte>(out).first(count);
  }

  DecoderSpec spec_;
  RandomWeights weights_;
  Random random_;
  std::deque<std::vector<std::byte>> storage_;
  Model model_;
};

}  // namespace

std::shared_ptr<const Model> random_model(const DecoderSpec& spec, const RandomWeights& weights) {
  const auto built = std::make_shared<Builder>(spec, weights);
  return {built, &built->model()};
}

DecoderSpec named_shape(const std::string& name) {
  const auto qwen3 = [](int layers, int hidden, int heads, int intermediate) {
    return DecoderSpec{.family = "qwen3",
                       .layers = layers,
                       .hidden = hidden,
                       .heads = heads,
                       .kv_heads = 8,
                       .head_dim = 128,
                       .intermediate = intermediate,
                       .vocab = 151936,
                       .max_positions = 40960,
                       .qk_norm = true,
                       .tied_head = true,
                       .rope = {.dims = 128, .theta = 1e6F}};
  };
  if (name == "qwen3-0.6b") return qwen3(28, 1024, 16, 3072);
  if (name == "qwen3-1.7b") return qwen3(28, 2048, 16, 6144);
  if (name == "qwen3-4b") return qwen3(36, 2560, 32, 9728);
  if (name == "smollm2-135m")
    return {.family = "llama",
            .layers = 30,
            .hidden = 576,
            .heads = 9,
            .kv_heads = 3,
            .head_dim = 64,
            .intermediate = 1536,
            .vocab = 49152,
            .max_positions = 8192,
            .rms_eps = 1e-5F,
            .tied_head = true,
            .rope = {.dims = 64, .theta = 1e5F}};
  fail(ErrorCode::InvalidArgument,
       "expected a shape of qwen3-0.6b, qwen3-1.7b, qwen3-4b or smollm2-135m, got {}", quote(name));
}

}  // namespace emlx
