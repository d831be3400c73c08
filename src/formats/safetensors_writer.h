// Writes a safetensors file, a tensor at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/atomic_file.h"
#include "formats/tensor.h"

namespace emlx {

struct TensorInfo {
  std::string name;
  DType dtype;  // not a GGUF block
  std::vector<std::int64_t> shape;
};

// Lays all tensors out first (those of wider elements in front, so that each is aligned to its own
// elements; the data begins at a multiple of 8), then takes their bytes in any order. The file
// appears under its name with finish().
class SafetensorsWriter {
 public:
  // Throws Error(InvalidArgument) for a name given twice or an impossible tensor.
  SafetensorsWriter(const std::filesystem::path& path, std::vector<TensorInfo> tensors);

  // Throws Error(InvalidArgument) unless `name` was announced, is written for the first time and
  // has exactly these many bytes.
  void write(std::string_view name, std::span<const std::byte> data);
  // Throws Error(InvalidArgument) if a tensor was not written.
  void finish();

 private:
  struct Place {
    std::uint64_t offset, bytes;  // in the file
  };
  AtomicFile file_;
  std::map<std::string, Place, std::less<>> places_;  // of the tensors not yet written
};

}  // namespace emlx
