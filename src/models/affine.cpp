#include "models/affine.h"

#include <cstring>

#include "base/error.h"

namespace emlx {
namespace {

constexpr int kBlock = 32;

// The row of the file that holds row `row` of the matrix.
int file_row(int row, int rows, int interleaved_heads) {
  if (interleaved_heads == 0) return row;
  const int size = rows / interleaved_heads;
  const int in_head = row % size;
  const int pair = in_head % (size / 2);
  return row - in_head + 2 * pair + (in_head < size / 2 ? 0 : 1);
}

// 16 bytes whose low nibbles are elements 0 to 15 and whose high nibbles are 16 to 31.
void pack_nibbles(const std::byte* nibbles, std::uint32_t* packed) {
  std::memset(packed, 0, kBlock / 2);
  for (int i = 0; i < kBlock / 2; ++i) {
    const auto pair = std::to_integer<std::uint32_t>(nibbles[i]);
    packed[i / 8] |= (pair & 15U) << (4 * (i % 8));
    packed[2 + i / 8] |= (pair >> 4) << (4 * (i % 8));
  }
}

// Signed bytes become unsigned ones with 128 added.
void pack_bytes(const std::byte* bytes, std::uint32_t* packed) {
  std::memcpy(packed, bytes, kBlock);
  for (int i = 0; i < kBlock / 4; ++i) packed[i] ^= 0x80808080U;
}

}  // namespace

AffineMatrix to_affine(const Matrix& matrix) {
  if (matrix.encoding != MatrixEncoding::GgufBlock)
    fail(ErrorCode::InvalidArgument, "{}: expected a matrix of GGUF blocks", matrix.name);
  AffineMatrix out{.rows = matrix.rows,
                   .cols = matrix.cols,
                   .bits = matrix.dtype == DType::Q8_0 ? 8 : 4,
                   .group_size = kBlock};
  const auto blocks = static_cast<std::size_t>(matrix.cols / kBlock);  // a row
  const auto block_words = static_cast<std::size_t>(out.bits);         // 32 elements
  const auto block_bytes = static_cast<std::size_t>(block_layout(matrix.dtype).bytes);
  const std::size_t count = static_cast<std::size_t>(matrix.rows) * blocks;
  out.packed.resize(count * block_words);
  out.scales.resize(count);
  out.biases.resize(count);
  for (int row = 0; row < matrix.rows; ++row) {
    const int from = file_row(row, matrix.rows, matrix.interleaved_heads);
    const std::byte* block =
        matrix.data.data() + static_cast<std::size_t>(from) * blocks * block_bytes;
    std::size_t at = static_cast<std::size_t>(row) * blocks;
    for (std::size_t i = 0; i < blocks; ++i, ++at, block += block_bytes) {
      const float scale = read_float(block, DType::F16);
      std::uint32_t* packed = out.packed.data() + at * block_words;
      out.scales[at] = scale;
      switch (matrix.dtype) {
        case DType::Q4_0:
          out.biases[at] = -8 * scale;
          pack_nibbles(block + 2, packed);
          break;
        case DType::Q4_1:
          out.biases[at] = read_float(block + 2, DType::F16);
          pack_nibbles(block + 4, packed);
          break;
        default:
          out.biases[at] = -128 * scale;
          pack_bytes(block + 2, packed);
      }
    }
  }
  return out;
}

std::vector<std::byte> ordered_rows(std::span<const std::byte> data, int rows,
                                    int interleaved_heads) {
  std::vector<std::byte> out(data.size());
  const std::size_t bytes = data.size() / static_cast<std::size_t>(rows);
  for (int row = 0; row < rows; ++row) {
    const auto from = static_cast<std::size_t>(file_row(row, rows, interleaved_heads));
    std::memcpy(out.data() + static_cast<std::size_t>(row) * bytes, data.data() + from * bytes,
                bytes);
  }
  return out;
}

}  // namespace emlx
