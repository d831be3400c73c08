#include "models/mlx/mlx_decoder.h"

#include <mlx/compile.h>
#include <mlx/device.h>
#include <mlx/fast.h>
#include <mlx/ops.h>

#include <cmath>
#include <utility>

namespace emlx {
namespace {

// {gate, up} -> {silu(gate) * up}
std::vector<mx::array> swiglu(const std::vector<mx::array>& in) {
  const mx::array& gate = in[0];
  return {mx::multiply(mx::multiply(gate, mx::sigmoid(gate)), in[1])};
}

// mlx_lm compiles this function, so a GPU runs it as one kernel, which may round differently from
// three. On a CPU the three give the same bits, while compiling would need the machine's g++ and
// would load whatever library lies at a known path in the temporary folder that users share.
std::function<std::vector<mx::array>(const std::vector<mx::array>&)> device_swiglu() {
  if (mx::default_device() == mx::Device::cpu) return swiglu;
  return mx::compile(swiglu, /*shapeless=*/true);
}

// [1, n, heads * head_dim] -> [1, n, heads, head_dim]
mx::array split_heads(const mx::array& x, int heads) {
  return mx::reshape(x, {1, x.shape(1), heads, -1});
}

mx::array heads_first(const mx::array& x) {
  return mx::transpose(x, {0, 2, 1, 3});
}

}  // namespace

MlxDecoder::MlxDecoder(const DecoderSpec& spec, MlxWeights weights)
    : spec_(spec),
      weights_(std::move(weights)),
      rope_(spec.rope),
      attention_scale_(static_cast<float>(std::pow(spec.head_dim, -0.5))),
      swiglu_(device_swiglu()) {}

mx::array MlxDecoder::attention(const MlxLayerWeights& layer, const mx::array& x,
                                MlxKvCache& cache) const {
  mx::array queries = split_heads(layer.q.project(x), spec_.heads);
  mx::array keys = split_heads(layer.k.project(x), spec_.kv_heads);
  mx::array values = heads_first(split_heads(layer.v.project(x), spec_.kv_heads));
  if (layer.q_norm) queries = mx::fast::rms_norm(queries, layer.q_norm, spec_.rms_eps);
  if (layer.k_norm) keys = mx::fast::rms_norm(keys, layer.k_norm, spec_.rms_eps);

  const int offset = cache.length();
  queries = rope_(heads_first(queries), offset);
  keys = rope_(heads_first(keys), offset);
  const auto [all_keys, all_values] = cache.append(keys, values);

  const char* mask = x.shape(1) > 1 ? "causal" : "";
  mx::array output =
      mx::fast::scaled_dot_product_attention(queries, all_keys, all_values, attention_scale_, mask);
  return layer.o.project(mx::reshape(heads_first(output), {1, x.shape(1), -1}));
}

mx::array MlxDecoder::mlp(const MlxLayerWeights& layer, const mx::array& x) const {
  return layer.down.project(swiglu_({layer.gate.project(x), layer.up.project(x)})[0]);
}

mx::array MlxDecoder::forward(const mx::array& tokens, MlxSequenceCache& cache) const {
  mx::array h = weights_.embedding.lookup(tokens);
  for (std::size_t i = 0; i < weights_.layers.size(); ++i) {
    const MlxLayerWeights& layer = weights_.layers[i];
    h = mx::add(
        h, attention(layer, mx::fast::rms_norm(h, layer.attention_norm, spec_.rms_eps), cache[i]));
    h = mx::add(h, mlp(layer, mx::fast::rms_norm(h, layer.mlp_norm, spec_.rms_eps)));
  }
  return h;
}

mx::array MlxDecoder::logits(const mx::array& hidden) const {
  const mx::array normed = mx::fast::rms_norm(hidden, weights_.final_norm, spec_.rms_eps);
  return (weights_.head ? *weights_.head : weights_.embedding).project(normed);
}

}  // namespace emlx
