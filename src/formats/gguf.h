// The GGUF format, versions 2 and 3, little-endian: typed metadata, tensor infos, then their bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "formats/gguf_metadata.h"
#include "formats/tensor.h"
#include "formats/tensor_set.h"

namespace emlx {

struct GgufContents {
  GgufMetadata metadata;
  std::vector<TensorView> tensors;  // in the order of their data
};

// Checks the bytes of a whole file; everything returned points into `file`, which `what` names in
// messages. Throws Error(InvalidFile), or Error(Unsupported) for version 1, a part of a split file,
// or an element type other than F32, F16, BF16, Q4_0, Q4_1 and Q8_0 (by its name).
GgufContents parse_gguf(std::span<const std::byte> file, std::string_view what);

// A mapped file; `metadata` is good for as long as `tensors` lives.
struct GgufFile {
  GgufMetadata metadata;
  std::shared_ptr<const TensorSet> tensors;
};
GgufFile open_gguf(const std::filesystem::path& path);

}  // namespace emlx
