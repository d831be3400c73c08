// Rotary position embedding as mlx_lm sets it up.
#pragma once

#include <mlx/array.h>

#include <optional>

#include "models/decoder_spec.h"

namespace emlx {

namespace mx = mlx::core;

class MlxRope {
 public:
  explicit MlxRope(const RopeSpec& spec);

  // Rotates x [1, heads, n, head_dim], whose first position is `offset`.
  mx::array operator()(const mx::array& x, int offset) const;

 private:
  RopeSpec spec_;
  std::optional<mx::array> frequencies_;  // [dims / 2] float32; none: MLX derives them from theta
};

}  // namespace emlx
