// The CPU kernels, one table of functions per instruction set. All tables give the same bits: every
// order of summation is part of the definitions below, products and sums are fused where it says
// "fma" and nowhere else, and what is summed in parallel is summed in integers.
//
// Kernels are noexcept, allocate nothing, and check nothing: shapes, padding and alignment are the
// caller's duty. Rows of float32 are padded with zeros to a multiple of kRowPad elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu_isa.h"

namespace emlx {

inline constexpr int kRowPad = 64;       // float32 rows: a multiple of this many elements
inline constexpr int kPanelRows = 32;    // output rows of a matmul's panel
inline constexpr int kBlockColumns = 8;  // columns whose inputs are stored together
inline constexpr int kKvBlock = 64;      // positions of a KV block

enum class FloatKind { F32, F16, BF16 };
enum class KvKind { F32, F16, I8 };

constexpr std::size_t float_bytes(FloatKind kind) noexcept {
  return kind == FloatKind::F32 ? 4 : 2;
}

// Columns of matmul inputs as int16 with a scale per group: x = scale * q, scale = max|x| / 32767,
// q rounded to nearest even. Columns stand in blocks of 8 (the last may have fewer): block b starts
// at element 8 * b * cols of `values`, which it fills as [cols / 32][columns of the block][32];
// scales and sums likewise as [cols / group][columns of the block]. A group holding a NaN or an
// infinity has scale NaN and q = 0; one below 1e-30 everywhere has scale 0.
struct QuantizedColumns {
  std::int16_t* values;
  float* scales;
  float* sums;  // scale * sum of q
};

// A matrix of unsigned 4- or 8-bit integers, w = scale * q + bias per group of columns, in panels
// of 32 rows (packed_matrix.h). `bytes` is 64-byte aligned; 4 KB behind it may be prefetched, not
// read.
struct AffinePanels {
  const std::byte* bytes;
  std::size_t panel_bytes;
  int cols, bits, group;  // cols a multiple of group; group 32, 64 or 128
  FloatKind scale_kind;
};

// A matrix of floats in panels of 32 rows: [cols][32].
struct DensePanels {
  const std::byte* bytes;
  std::size_t panel_bytes;
  int cols;  // padded as float rows are
  FloatKind kind;
};

enum class Epilogue {
  Store,    // y = W x
  Add,      // y += W x
  SiluMul,  // rows 0 to 15 of a panel are gates g, 16 to 31 values u: y = g / (1 + exp(-g)) * u
};

// Output: column c at y + c * stride; panel p fills 32 elements from 32 p (SiluMul: 16 from 16 p).
struct MatmulOutput {
  float* y;
  std::size_t stride;
  Epilogue epilogue;
  const float* bias;  // by row, 32 a panel, added to W x; or null
};

// One KV head's part of a block: K as [head_dim][64 positions], V as [64][head_dim], both of one
// KvKind; int8 with one float32 scale a position behind each ([64] floats).
struct KvLayout {
  KvKind kind;
  int head_dim;                                      // padded to a multiple of 16
  std::size_t value_offset;                          // of V from K
  std::size_t key_scale_offset, value_scale_offset;  // from K; I8 only
  std::size_t bytes;                                 // of K and V together
};
KvLayout kv_layout(KvKind kind, int head_dim) noexcept;

// Queries of one sequence that share a KV head.
struct AttentionTask {
  const std::byte* const* blocks;  // the sequence's blocks; this head's part at + head_offset
  std::size_t head_offset;
  const float* queries;  // column c, head h: queries + c * query_stride + h * head_dim; scaled by
                         // log2(e) / sqrt(head size)
  float* outputs;        // likewise with output_stride
  std::size_t query_stride, output_stride;
  int columns, heads;  // columns * heads <= kAttentionRows
  int first_position;  // of column 0; column c sees positions 0 to first_position + c
  float* scratch;      // attention_scratch(head_dim) floats, this thread's own
};
inline constexpr int kAttentionRows = 64;
constexpr std::size_t attention_scratch(int head_dim) noexcept {
  return static_cast<std::size_t>(kAttentionRows) * (static_cast<std::size_t>(head_dim) + 64 + 2);
}

struct RopeRow {
  const float* cosines;  // [pairs]
  const float* sines;    // [pairs]
  int pairs;             // element i turns with element i + pairs; the others stay
};

struct LogSumExp {
  float max;  // of the logits
  float sum;  // of exp2((logit - max) * log2(e)), by lanes
};

struct KernelTable {
  CpuIsa isa;

  // out = x / sqrt(mean(x^2) + eps) * weight over `size` elements; x, weight and out padded to
  // `padded` (padding of weight: zeros). Squares are summed by fma in 32 lanes.
  void (*rms_norm)(const float* x, const float* weight, int size, int padded, float eps,
                   float* out) noexcept;

  // Column `column` of `columns` in all: x [cols] to `out`.
  void (*quantize)(const float* x, int cols, int group, int column, int columns,
                   const QuantizedColumns& out) noexcept;

  // Panels [first, last) times all columns. Per output: integer dot product of a group, then
  // total = fma(dot, weight scale * input scale, total), total = fma(bias, input sum, total).
  void (*matmul_affine)(const AffinePanels& w, int first, int last, const QuantizedColumns& x,
                        int columns, const MatmulOutput& out) noexcept;

  // The same with float inputs: column c at x + c * x_stride. Four partial sums over column index
  // mod 4, each by fma in order, then (0 + 1) + (2 + 3).
  void (*matmul_dense)(const DensePanels& w, int first, int last, const float* x,
                       std::size_t x_stride, int columns, const MatmulOutput& out) noexcept;

  // One head's vector: RMSNorm if weight is given (over `size` of `padded` elements), RoPE, times
  // `factor`. In place or not.
  void (*head_rope)(const float* x, const float* weight, int size, int padded, float eps,
                    const RopeRow& rope, float factor, float* out) noexcept;

  // Writes position `slot` (0 to 63) of a head's part of a block: k and v [head_dim].
  void (*kv_write)(const KvLayout& layout, std::byte* head, int slot, const float* k,
                   const float* v) noexcept;

  // Online softmax over blocks in order; see body/attention.h for the order within a block.
  void (*attend)(const KvLayout& layout, const AttentionTask& task) noexcept;

  // out = gate / (1 + exp(-gate)) * up, n a multiple of 16.
  void (*silu_mul)(const float* gate, const float* up, int n, float* out) noexcept;

  LogSumExp (*log_sum_exp)(const float* logits, int n) noexcept;
  // The first i with logits[i] - offset >= least, or n.
  int (*first_at_least)(const float* logits, int n, float offset, float least) noexcept;
};

// The table for an instruction set this machine has (is_supported).
const KernelTable& kernels(CpuIsa isa) noexcept;

}  // namespace emlx
