#include "formats/tensor.h"

#include <fmt/ranges.h>

#include <cstring>
#include <limits>

#include "base/float16.h"

namespace emlx {

const char* to_string(DType dtype) noexcept {
  switch (dtype) {
    case DType::Bool:
      return "BOOL";
    case DType::U8:
      return "U8";
    case DType::I8:
      return "I8";
    case DType::U16:
      return "U16";
    case DType::I16:
      return "I16";
    case DType::U32:
      return "U32";
    case DType::I32:
      return "I32";
    case DType::U64:
      return "U64";
    case DType::I64:
      return "I64";
    case DType::F16:
      return "F16";
    case DType::BF16:
      return "BF16";
    case DType::F32:
      return "F32";
    case DType::F64:
      return "F64";
    case DType::Q4_0:
      return "Q4_0";
    case DType::Q4_1:
      return "Q4_1";
    case DType::Q8_0:
      return "Q8_0";
  }
  return "unknown";
}

BlockLayout block_layout(DType dtype) noexcept {
  switch (dtype) {
    case DType::Bool:
    case DType::U8:
    case DType::I8:
      return {1, 1};
    case DType::U16:
    case DType::I16:
    case DType::F16:
    case DType::BF16:
      return {1, 2};
    case DType::U32:
    case DType::I32:
    case DType::F32:
      return {1, 4};
    case DType::U64:
    case DType::I64:
    case DType::F64:
      return {1, 8};
    case DType::Q4_0:
      return {32, 2 + 16};
    case DType::Q4_1:
      return {32, 2 + 2 + 16};
    case DType::Q8_0:
      return {32, 2 + 32};
  }
  return {1, 1};
}

std::string to_string(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::optional<std::int64_t> byte_size(DType dtype, std::span<const std::int64_t> shape) noexcept {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const BlockLayout block = block_layout(dtype);
  std::int64_t elements = 1;
  for (const std::int64_t axis : shape) {
    if (axis < 0 || (axis > 0 && elements > kMax / axis)) return std::nullopt;
    elements *= axis;
  }
  const std::int64_t row = shape.empty() ? 1 : shape.back();
  if (row % block.elements != 0) return std::nullopt;
  const std::int64_t blocks = elements / block.elements;
  if (blocks > kMax / block.bytes) return std::nullopt;
  return blocks * block.bytes;
}

float read_float(const std::byte* at, DType dtype) noexcept {
  if (dtype == DType::F32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return dtype == DType::F16 ? float16_to_float(bits) : bfloat16_to_float(bits);
}

}  // namespace emlx
