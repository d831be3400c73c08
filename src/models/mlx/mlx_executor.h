// Runs a decoder on Apple MLX's default device, operation for operation as mlx_lm does.
#pragma once

#include <memory>

#include "models/executor.h"
#include "models/executor_factory.h"
#include "models/model.h"

namespace emlx {

// Loads the weights into MLX arrays of one compute dtype; `model` is needed only until this
// returns. One row a step, two steps in flight. Logits are bit-equal to mlx_lm's on the same device
// and dtype if prompts are fed as mlx_lm feeds them: chunks of at most 2048, the last token alone.
// `options.threads` has no effect: MLX offers no such setting. Throws Error(InvalidArgument) for a
// context the model does not have, Error(Internal) naming the weight that MLX refused.
std::unique_ptr<Executor> make_mlx_executor(const std::shared_ptr<const Model>& model,
                                            const ExecutorOptions& options);

// Whether MLX computes on a GPU here (Metal or CUDA).
bool mlx_has_gpu();

}  // namespace emlx
