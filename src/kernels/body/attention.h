// Writing KV blocks and attention over them.
//
// A query row's score with a position is one fma chain over the head's elements in order; a block's
// weights are 2^(score - max so far), their sum four vectors of 16 positions, (0 + 1) + (2 + 3),
// then reduce_add; the output one fma chain over positions in order, scaled whenever the maximum
// moves. Tiles of rows and positions share loads and change no bit.
#pragma once

#include "kernels/body/math.h"
#include "kernels/kernel_table.h"

namespace emlx {
namespace {

template <KvKind kKind>
struct KvElement;
template <>
struct KvElement<KvKind::F32> {
  using Type = float;
  static F32 read(const float* p) { return load(p); }
};
template <>
struct KvElement<KvKind::F16> {
  using Type = std::uint16_t;
  static F32 read(const std::uint16_t* p) { return load_f16(p); }
};
template <>
struct KvElement<KvKind::I8> {
  using Type = std::int8_t;
  static F32 read(const std::int8_t* p) { return load_i8(p); }
};

// x as int8 with one scale, max|x| / 127; NaN scale if x holds a NaN or an infinity. put(i, q)
// takes 16 integers from element i.
template <typename Put>
float narrow_i8(const float* x, int n, Put put) {
  I32 most = magnitude_bits(load(x));
  for (int i = 16; i < n; i += 16) most = max(most, magnitude_bits(load(x + i)));
  const std::int32_t bits = reduce_max(most);
  float largest = 0.0F;
  __builtin_memcpy(&largest, &bits, sizeof largest);
  const bool finite = bits < 0x7f800000;
  const bool tiny = largest < 1e-30F;
  const F32 inverse = splat(finite && !tiny ? 127.0F / largest : 0.0F);
  for (int i = 0; i < n; i += 16) put(i, finite ? round(mul(load(x + i), inverse)) : splat(0));
  return !finite ? largest * 0.0F : tiny ? 0.0F : largest / 127.0F;
}

// K is stored with positions side by side: each of its elements goes to a row of its own.
template <typename Element>
void scatter_key(Element* keys, int slot, const Element* k, int n) {
  for (int i = 0; i < n; ++i)
    keys[static_cast<std::size_t>(i) * kKvBlock + static_cast<std::size_t>(slot)] = k[i];
}

void kv_write(const KvLayout& layout, std::byte* head, int slot, const float* k,
              const float* v) noexcept {
  const int n = layout.head_dim;
  const std::size_t value_at = static_cast<std::size_t>(slot) * static_cast<std::size_t>(n);
  std::byte* values = head + layout.value_offset;
  switch (layout.kind) {
    case KvKind::F32:
      scatter_key(reinterpret_cast<float*>(head), slot, k, n);
      __builtin_memcpy(reinterpret_cast<float*>(values) + value_at, v,
                       static_cast<std::size_t>(n) * 4);
      return;
    case KvKind::F16: {
      auto* row = reinterpret_cast<std::uint16_t*>(values) + value_at;
      for (int i = 0; i < n; i += 16) {
        std::uint16_t narrow[16];
        store_f16(narrow, load(k + i));
        scatter_key(reinterpret_cast<std::uint16_t*>(head) +
                        std::size_t{kKvBlock} * static_cast<std::size_t>(i),
                    slot, narrow, 16);
        store_f16(row + i, load(v + i));
      }
      return;
    }
    case KvKind::I8: {
      auto* keys = reinterpret_cast<std::int8_t*>(head);
      auto* row = reinterpret_cast<std::int8_t*>(values) + value_at;
      auto* key_scales = reinterpret_cast<float*>(head + layout.key_scale_offset);
      auto* value_scales = reinterpret_cast<float*>(head + layout.value_scale_offset);
      key_scales[slot] = narrow_i8(k, n, [&](int i, I32 q) {
        std::int8_t narrow[16];
        store_i8(narrow, q);
        scatter_key(keys + std::size_t{kKvBlock} * static_cast<std::size_t>(i), slot, narrow, 16);
      });
      value_scales[slot] = narrow_i8(v, n, [&](int i, I32 q) { store_i8(row + i, q); });
      return;
    }
  }
}

// The task's rows (column major: row r is column r / heads) with their running state.
template <KvKind kKind>
struct Attention {
  using Element = KvElement<kKind>;
  using Type = typename Element::Type;

  const KvLayout& layout;
  const AttentionTask& task;
  int rows = task.columns * task.heads;
  std::size_t size = static_cast<std::size_t>(layout.head_dim);
  float* sums = task.scratch;                     // [rows][head_dim]
  float* weights = sums + kAttentionRows * size;  // [rows][64]: scores, then weights
  float* most = weights + std::size_t{kAttentionRows} * kKvBlock;
  float* total = most + kAttentionRows;

  std::size_t column(int row) const { return static_cast<std::size_t>(row / task.heads); }
  std::size_t in_column(int row) const { return static_cast<std::size_t>(row % task.heads) * size; }
  const float* query(int row) const {
    return task.queries + column(row) * task.query_stride + in_column(row);
  }
  float* output(int row) const {
    return task.outputs + column(row) * task.output_stride + in_column(row);
  }
  // Positions of the block from `start` that a row sees.
  int visible(int row, int start) const {
    const int n = task.first_position + row / task.heads + 1 - start;
    return n < 0 ? 0 : n < kKvBlock ? n : kKvBlock;
  }

  template <int kRows>
  void scores(const std::byte* head, int row) {
    constexpr int kVectors = kAccumulators / kRows < 4 ? kAccumulators / kRows : 4;
    const float* q[kRows];
    for (int r = 0; r < kRows; ++r) q[r] = query(row + r);
    for (int first = 0; first < kKvBlock; first += 16 * kVectors) {
      const Type* k = reinterpret_cast<const Type*>(head) + first;
      F32 sum[kRows][kVectors];
      EMLX_UNROLL for (int r = 0; r < kRows; ++r) EMLX_UNROLL for (int i = 0; i < kVectors; ++i)
          sum[r][i] = splat(0.0F);
      for (std::size_t d = 0; d < size; ++d, k += kKvBlock) {
        if constexpr (kRows <= 2) prefetch(k + 4096 / sizeof(Type));
        F32 key[kVectors];
        EMLX_UNROLL for (int i = 0; i < kVectors; ++i) key[i] = Element::read(k + 16 * i);
        EMLX_UNROLL for (int r = 0; r < kRows; ++r) {
          const F32 element = splat(q[r][d]);
          EMLX_UNROLL for (int i = 0; i < kVectors; ++i) sum[r][i] =
              fma(key[i], element, sum[r][i]);
        }
      }
      EMLX_UNROLL for (int i = 0; i < kVectors; ++i) {
        F32 scale = splat(1.0F);
        if constexpr (kKind == KvKind::I8)
          scale =
              load(reinterpret_cast<const float*>(head + layout.key_scale_offset) + first + 16 * i);
        EMLX_UNROLL for (int r = 0; r < kRows; ++r) {
          if constexpr (kKind == KvKind::I8) sum[r][i] = mul(sum[r][i], scale);
          store(weights + (row + r) * kKvBlock + first + 16 * i, sum[r][i]);
        }
      }
    }
  }

  // Scores of n visible positions to weights; rescales the row's sums if its maximum moved.
  void softmax(const std::byte* head, int row, int n) {
    float* w = weights + row * kKvBlock;
    F32 score[4];
    EMLX_UNROLL for (int i = 0; i < 4; ++i) score[i] =
        first_lanes(n > 16 * i ? n - 16 * i : 0, load(w + 16 * i), splat(-3e38F));
    const float here = reduce_max(max(max(score[0], score[1]), max(score[2], score[3])));
    const float before = most[row], now = here > before ? here : before;
    F32 weight[4];
    EMLX_UNROLL for (int i = 0; i < 4; ++i) weight[i] = first_lanes(
        n > 16 * i ? n - 16 * i : 0, exp2_lanes(sub(score[i], splat(now))), splat(0.0F));
    const float part = reduce_add(add(add(weight[0], weight[1]), add(weight[2], weight[3])));
    if (now != before) {
      float kept[16];
      store(kept, exp2_lanes(splat(before - now)));
      const F32 factor = splat(kept[0]);
      float* sum = sums + static_cast<std::size_t>(row) * size;
      for (std::size_t d = 0; d < size; d += 16) store(sum + d, mul(load(sum + d), factor));
      total[row] = __builtin_fmaf(total[row], kept[0], part);
      most[row] = now;
    } else {
      total[row] = total[row] + part;
    }
    EMLX_UNROLL for (int i = 0; i < 4; ++i) {
      if constexpr (kKind == KvKind::I8)
        weight[i] =
            mul(weight[i],
                load(reinterpret_cast<const float*>(head + layout.value_scale_offset) + 16 * i));
      store(w + 16 * i, weight[i]);
    }
  }

  // sums += weights * values for positions [from, to) and elements [first, first + 16 kVectors).
  template <int kRows, int kVectors>
  void weigh(const Type* values, int row, std::size_t first, int from, int to) {
    const float* w = weights + row * kKvBlock;
    float* out = sums + static_cast<std::size_t>(row) * size + first;
    F32 sum[kRows][kVectors];
    EMLX_UNROLL for (int r = 0; r < kRows; ++r) EMLX_UNROLL for (int i = 0; i < kVectors; ++i)
        sum[r][i] = load(out + static_cast<std::size_t>(r) * size + 16 * i);
    const Type* v = values + static_cast<std::size_t>(from) * size + first;
    for (int at = from; at < to; ++at, v += size) {
      if constexpr (kRows <= 2) prefetch(v + 4096 / sizeof(Type));
      F32 value[kVectors];
      EMLX_UNROLL for (int i = 0; i < kVectors; ++i) value[i] = Element::read(v + 16 * i);
      EMLX_UNROLL for (int r = 0; r < kRows; ++r) {
        const F32 weight = splat(w[r * kKvBlock + at]);
        EMLX_UNROLL for (int i = 0; i < kVectors; ++i) sum[r][i] = fma(value[i], weight, sum[r][i]);
      }
    }
    EMLX_UNROLL for (int r = 0; r < kRows; ++r) EMLX_UNROLL for (int i = 0; i < kVectors; ++i)
        store(out + static_cast<std::size_t>(r) * size + 16 * i, sum[r][i]);
  }

  template <int kRows>
  void weigh_all(const Type* values, int row, int from, int to) {
    if (from >= to) return;
    constexpr int kVectors = kAccumulators / kRows < 8 ? kAccumulators / kRows : 8;
    std::size_t first = 0;
    for (; first + 16 * kVectors <= size; first += 16 * kVectors)
      weigh<kRows, kVectors>(values, row, first, from, to);
    for (; first < size; first += 16) weigh<kRows, 1>(values, row, first, from, to);
  }

  // Rows [row, row + kRows), all of which see something of the block.
  template <int kRows>
  void tile(const std::byte* head, int row, int start) {
    scores<kRows>(head, row);
    for (int r = 0; r < kRows; ++r) softmax(head, row + r, visible(row + r, start));
    const Type* values = reinterpret_cast<const Type*>(head + layout.value_offset);
    // A position a row does not see may hold anything, so each row stops at its own end.
    const int shared = visible(row, start);
    weigh_all<kRows>(values, row, 0, shared);
    if constexpr (kRows > 1)
      for (int r = 1; r < kRows; ++r)
        weigh_all<1>(values, row + r, shared, visible(row + r, start));
  }

  void run() {
    for (int row = 0; row < rows; ++row) {
      most[row] = -3e38F;
      total[row] = 0.0F;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows) * size; i += 16)
      store(sums + i, splat(0.0F));
    const int positions = task.first_position + task.columns;
    for (int start = 0; start < positions; start += kKvBlock) {
      const std::byte* head = task.blocks[start / kKvBlock] + task.head_offset;
      int row = 0;
      while (row < rows && visible(row, start) == 0) ++row;
      if constexpr (kAccumulators >= 16)
        for (; row + 4 <= rows; row += 4) tile<4>(head, row, start);
      for (; row + 2 <= rows; row += 2) tile<2>(head, row, start);
      if (row < rows) tile<1>(head, row, start);
    }
    for (int row = 0; row < rows; ++row) {
      const F32 inverse = splat(1.0F / total[row]);
      float* out = output(row);
      for (std::size_t d = 0; d < size; d += 16)
        store(out + d, mul(load(sums + static_cast<std::size_t>(row) * size + d), inverse));
    }
  }
};

void attend(const KvLayout& layout, const AttentionTask& task) noexcept {
  const auto run = [&]<KvKind kKind>() { Attention<kKind>{layout, task}.run(); };
  switch (layout.kind) {
    case KvKind::F32:
      return run.template operator()<KvKind::F32>();
    case KvKind::F16:
      return run.template operator()<KvKind::F16>();
    case KvKind::I8:
      return run.template operator()<KvKind::I8>();
  }
}

}  // namespace
}  // namespace emlx
