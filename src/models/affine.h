// Other files' matrices in MLX's layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/weights.h"

namespace emlx {

// w = scale * q + bias per group of columns, q unsigned.
struct AffineMatrix {
  int rows = 0, cols = 0;
  int bits = 0, group_size = 0;
  std::vector<std::uint32_t> packed;  // [rows, cols * bits / 32], first element in the lowest bits
  std::vector<float> scales, biases;  // [rows, cols / group_size]
};

// A GgufBlock matrix, without loss (4 bits from Q4_0 and Q4_1, 8 from Q8_0; groups of 32), its rows
// in order. Every scale and bias is a float16 times a power of two.
AffineMatrix to_affine(const Matrix& matrix);

// A matrix's row-major bytes (`rows` rows of any encoding) with the rows in order: undoes
// Matrix::interleaved_heads; a plain copy if that is 0.
std::vector<std::byte> ordered_rows(std::span<const std::byte> data, int rows,
                                    int interleaved_heads);

}  // namespace emlx
