#include "kernels/packed_matrix.h"

#include <cstdint>
#include <cstring>

namespace emlx {
namespace {

// Every second nibble of `word`, closed up to 16 bits.
std::uint32_t even_nibbles(std::uint32_t word) {
  word &= 0x0f0f0f0fU;
  word = (word | word >> 4) & 0x00ff00ffU;
  return (word | word >> 8) & 0xffffU;
}

std::uint32_t swap_middle_bytes(std::uint32_t word) {
  return (word & 0xff0000ffU) | (word & 0xff00U) << 8 | (word >> 8 & 0xff00U);
}

// 8 columns of a row as a row of nibbles or two words of bytes in their own order.
struct Eight {
  std::uint32_t words[2] = {0, 0};
};

Eight read_eight(const std::byte* row, int column, int bits) {
  Eight out;
  const std::byte* at = row + static_cast<std::ptrdiff_t>(column) * bits / 8;
  std::uint64_t stream = 0;  // 8 columns are `bits` whole bytes
  std::memcpy(&stream, at, static_cast<std::size_t>(bits));
  if (bits == 4 || bits == 8) {
    std::memcpy(out.words, &stream, sizeof out.words);
    return out;
  }
  const int width = panel_bits(bits), in_word = 32 / width;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  for (int i = 0; i < 8; ++i, stream >>= bits)
    out.words[i / in_word] |= static_cast<std::uint32_t>(stream & mask) << (width * (i % in_word));
  return out;
}

std::size_t weight_bytes(int bits, int group) {
  return static_cast<std::size_t>(group) * kPanelRows * static_cast<std::size_t>(panel_bits(bits)) /
         8;
}

}  // namespace

std::size_t affine_panel_bytes(int cols, int bits, int group, FloatKind scale_kind) noexcept {
  const std::size_t scales = 2 * kPanelRows * float_bytes(scale_kind);
  return static_cast<std::size_t>(cols / group) * (weight_bytes(bits, group) + scales);
}

std::size_t dense_panel_bytes(int cols, FloatKind kind) noexcept {
  return static_cast<std::size_t>(cols) * kPanelRows * float_bytes(kind);
}

void pack_affine_row(const AffineRows& from, int row, std::byte* panel, int in_panel) noexcept {
  const int groups = from.cols / from.group;
  const std::size_t scale_bytes = float_bytes(from.scale_kind);
  const bool nibbles = panel_bits(from.bits) == 4;
  const std::byte* values =
      from.values + static_cast<std::ptrdiff_t>(row) * from.cols * from.bits / 8;
  const std::size_t first_scale = static_cast<std::size_t>(row) * static_cast<std::size_t>(groups);
  const int tile = in_panel / 16, lane = in_panel % 16;
  std::byte* group = panel;
  for (int g = 0; g < groups; ++g) {
    std::byte* word = group + tile * (nibbles ? 64 : 128) + lane * 4;
    for (int i = 0; i < from.group; i += 8, word += nibbles ? 128 : 256) {
      Eight eight = read_eight(values, g * from.group + i, from.bits);
      if (nibbles) {
        const std::uint32_t packed =
            even_nibbles(eight.words[0]) | even_nibbles(eight.words[0] >> 4) << 16;
        std::memcpy(word, &packed, 4);
      } else {
        for (int half = 0; half < 2; ++half) {
          const std::uint32_t packed = swap_middle_bytes(eight.words[half]);
          std::memcpy(word + 64 * half, &packed, 4);
        }
      }
    }
    std::byte* scale = group + weight_bytes(from.bits, from.group) +
                       static_cast<std::size_t>(in_panel) * scale_bytes;
    const std::size_t at = (first_scale + static_cast<std::size_t>(g)) * scale_bytes;
    std::memcpy(scale, from.scales + at, scale_bytes);
    std::memcpy(scale + kPanelRows * scale_bytes, from.biases + at, scale_bytes);
    group += weight_bytes(from.bits, from.group) + 2 * kPanelRows * scale_bytes;
  }
}

void pack_dense_row(const std::byte* row, int cols, FloatKind kind, std::byte* panel,
                    int in_panel) noexcept {
  const std::size_t size = float_bytes(kind);
  std::byte* out = panel + static_cast<std::size_t>(in_panel) * size;
  for (int i = 0; i < cols; ++i, row += size, out += kPanelRows * size) std::memcpy(out, row, size);
}

}  // namespace emlx
