// The safetensors format: 8 bytes of header length, a JSON header, then the tensors' bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "formats/tensor.h"
#include "formats/tensor_set.h"

namespace emlx {

// Checks the bytes of a whole file and lists its tensors in the order of their data, which must
// fill the file without hole or overlap. The views point into `file`; `what` names it in messages.
// Throws Error(InvalidFile), or Error(Unsupported) for an element type the project does not read.
std::vector<TensorView> parse_safetensors(std::span<const std::byte> file, std::string_view what);

// Maps the weights of a model folder. With model.safetensors.index.json its weight_map alone
// decides which tensor comes from which file; without it all of model*.safetensors are taken.
// Throws as above, naming the file or tensor that is missing, or found twice.
TensorSet open_safetensors(const std::filesystem::path& folder);

}  // namespace emlx
