// Tensors as they lie in a file: read-only views into mapped memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emlx {

// Element types the project reads. The Q* types are GGUF blocks of 32 elements along the last axis.
enum class DType {
  Bool,
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  U64,
  I64,
  F16,
  BF16,
  F32,
  F64,
  Q4_0,
  Q4_1,
  Q8_0
};

// "F32", "Q4_1", ...
const char* to_string(DType dtype) noexcept;

// Elements in one block (1 for plain types) and the block's size in bytes.
struct BlockLayout {
  int elements;
  int bytes;
};
BlockLayout block_layout(DType dtype) noexcept;

// "[2, 3]"
std::string to_string(std::span<const std::int64_t> shape);

// Bytes of a tensor; nullopt if an axis is negative, the last axis is not a whole number of blocks,
// or elements or bytes overflow 63 bits.
std::optional<std::int64_t> byte_size(DType dtype, std::span<const std::int64_t> shape) noexcept;

// The F32, F16 or BF16 element at `at`, which may be unaligned.
float read_float(const std::byte* at, DType dtype) noexcept;

// One tensor of a file. `data` points into the mapping of the TensorSet it came from and lives as
// long as that.
struct TensorView {
  std::string name;
  DType dtype;
  std::vector<std::int64_t> shape;  // outermost axis first (row-major), also for GGUF; all >= 0
  std::span<const std::byte> data;  // exactly the bytes of shape x dtype; may be unaligned
};

}  // namespace emlx
