// Bytes as a safetensors file: an error, or tensors that lie inside them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/error.h"
#include "formats/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    std::size_t bytes = 0;
    for (const emlx::TensorView& tensor : emlx::parse_safetensors(file, "input")) {
      if (tensor.data.data() < file.data() ||
          tensor.data.data() + tensor.data.size() > file.data() + file.size())
        std::abort();
      bytes += tensor.data.size();
    }
    if (bytes > size) std::abort();  // tensors overlap
  } catch (const emlx::Error&) {     // NOLINT(bugprone-empty-catch): what most inputs are
  }
  return 0;
}
