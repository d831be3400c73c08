// Finds a decoder's weights among the tensors of a file and checks every dtype and shape.
#pragma once

#include <optional>
#include <string_view>

#include "formats/model_config.h"
#include "formats/tensor_set.h"
#include "models/decoder_spec.h"
#include "models/tensor_names.h"
#include "models/weights.h"

namespace emlx {

// What differs between files that hold the same decoder.
struct WeightLayout {
  const TensorNames& names;
  std::optional<QuantizationConfig> quantization;  // MLX's affine form; GGUF blocks need none
  bool interleaved_qk = false;                     // see Matrix::interleaved_heads
  std::string_view ignored;  // tensors whose names hold this are left alone; empty: none
};

// The weights point into `tensors`. As in mlx_lm, a module named in quantization.modules has the
// parameters given there, any other module that comes with scales has those its shapes tell, a tied
// head's own weight is left alone, and every tensor must belong to the model. Throws
// Error(InvalidFile) naming the tensor, what was expected and what came, or Error(Unsupported).
DecoderWeights load_weights(const TensorSet& tensors, const DecoderSpec& spec,
                            const WeightLayout& layout);

}  // namespace emlx
