// From a GGUF file to an MLX folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "formats/tensor.h"
#include "models/model.h"

namespace emlx {

struct ConvertOptions {
  // F16 or F32: what scales, biases, norms and unquantized matrices become.
  DType dtype = DType::F16;
  // Called after each of a model's matrices and vectors; may be empty.
  std::function<void(int done, int total)> progress;
};

// Writes a folder that mlx_lm loads with the same weights: quantized blocks become MLX's affine
// form without loss, and the text side is `tokenizer_json` (the model's vocabulary as a
// tokenizer.json) with the model's special tokens and chat template. `folder` is made, or must be
// empty; config.json is written last, and a failed conversion removes what it wrote. Throws
// Error(InvalidArgument) if the model did not come from a GGUF file or the folder is not empty, and
// Error(InvalidFile), naming the tensor, if a value does not fit the dtype.
void convert_gguf(const Model& model, const std::string& tokenizer_json,
                  const std::filesystem::path& folder, const ConvertOptions& options = {});

}  // namespace emlx
