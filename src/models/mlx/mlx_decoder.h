// The decoder's graph: mlx_lm's model file, operation for operation.
#pragma once

#include <mlx/array.h>

#include <functional>
#include <vector>

#include "models/decoder_spec.h"
#include "models/mlx/mlx_kv_cache.h"
#include "models/mlx/mlx_rope.h"
#include "models/mlx/mlx_weights.h"

namespace emlx {

namespace mx = mlx::core;

class MlxDecoder {
 public:
  MlxDecoder(const DecoderSpec& spec, MlxWeights weights);

  // Feeds tokens [1, n] at the cache's end; the last layer's output [1, n, hidden].
  mx::array forward(const mx::array& tokens, MlxSequenceCache& cache) const;

  // Final norm and head: [1, n, hidden] -> logits [1, n, vocab].
  mx::array logits(const mx::array& hidden) const;

  std::size_t weight_bytes() const { return weights_.bytes; }
  bool weights_were_cast() const { return weights_.cast; }

 private:
  mx::array attention(const MlxLayerWeights& layer, const mx::array& x, MlxKvCache& cache) const;
  mx::array mlp(const MlxLayerWeights& layer, const mx::array& x) const;

  DecoderSpec spec_;
  MlxWeights weights_;
  MlxRope rope_;
  float attention_scale_;
  std::function<std::vector<mx::array>(const std::vector<mx::array>&)> swiglu_;
};

}  // namespace emlx
