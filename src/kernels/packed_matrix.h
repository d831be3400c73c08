// Lays weights out in the panels the matmul kernels read, once, at load.
//
// A panel holds 32 output rows as two tiles of 16. Affine: per group of columns, for every 8
// columns tile 0's words, then tile 1's, a word a row; then 32 scales and 32 biases. With 4 bits a
// word is nibbles (0 2 4 6 | 1 3 5 7) of the 8 columns, lowest first, so that a 16-bit shift and a
// mask give columns (2i, 2i + 1) as the two halves of a lane; with 8 bits two words of bytes, (0 2
// 1 3) and (4 6 5 7). Dense: [cols][32].
#pragma once

#include <cstddef>

#include "kernels/kernel_table.h"

namespace emlx {

// Rows of MLX's affine layout: values as a stream of `bits`-wide unsigned integers, lowest bits of
// the lowest byte first, a row a whole number of bytes. Nothing need be aligned.
struct AffineRows {
  const std::byte* values;
  const std::byte* scales;  // [rows, cols / group]
  const std::byte* biases;
  int cols, bits, group;  // bits 2, 3, 4, 5, 6 or 8
  FloatKind scale_kind;
};

// 4 for 2 to 4 bits, else 8: what a panel stores.
constexpr int panel_bits(int bits) noexcept {
  return bits <= 4 ? 4 : 8;
}

std::size_t affine_panel_bytes(int cols, int bits, int group, FloatKind scale_kind) noexcept;
std::size_t dense_panel_bytes(int cols, FloatKind kind) noexcept;  // of padded cols

// Writes row `row` of `from` as row `in_panel` (0 to 31) of `panel`. Rows never written must be
// zero.
void pack_affine_row(const AffineRows& from, int row, std::byte* panel, int in_panel) noexcept;
// `row`: cols elements of `kind`; those from `cols` to the padded size stay as they are (zero).
void pack_dense_row(const std::byte* row, int cols, FloatKind kind, std::byte* panel,
                    int in_panel) noexcept;

}  // namespace emlx
