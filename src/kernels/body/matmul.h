// Matrix products over panels of 32 rows (two tiles of 16, a row a lane).
#pragma once

#include "kernels/body/math.h"
#include "kernels/kernel_table.h"

namespace emlx {
namespace {

template <FloatKind kKind>
inline F32 load_floats(const std::byte* p) {
  if constexpr (kKind == FloatKind::F32) return load(reinterpret_cast<const float*>(p));
  const auto* halves = reinterpret_cast<const std::uint16_t*>(p);
  if constexpr (kKind == FloatKind::F16) return load_f16(halves);
  return load_bf16(halves);
}

// A panel's totals for kColumns columns, to their place.
template <int kColumns>
inline void finish(const MatmulOutput& out, int panel, int column, F32 (&total)[2][kColumns]) {
  if (out.bias != nullptr) {
    const float* bias = out.bias + static_cast<std::size_t>(panel) * 32;
    EMLX_UNROLL for (int t = 0; t < 2; ++t) EMLX_UNROLL for (int c = 0; c < kColumns; ++c)
        total[t][c] = add(total[t][c], load(bias + 16 * t));
  }
  float* y = out.y + static_cast<std::size_t>(column) * out.stride;
  if (out.epilogue == Epilogue::SiluMul) {
    y += static_cast<std::size_t>(panel) * 16;
    EMLX_UNROLL for (int c = 0; c < kColumns; ++c)
        store(y + static_cast<std::size_t>(c) * out.stride, mul(silu(total[0][c]), total[1][c]));
    return;
  }
  y += static_cast<std::size_t>(panel) * 32;
  EMLX_UNROLL for (int c = 0; c < kColumns; ++c) EMLX_UNROLL for (int t = 0; t < 2; ++t) {
    float* at = y + static_cast<std::size_t>(c) * out.stride + 16 * t;
    store(at, out.epilogue == Epilogue::Add ? add(load(at), total[t][c]) : total[t][c]);
  }
}

// The 4 pairs of column indices in 8 columns of a tile, as halves of a lane.
template <int kBits>
struct Pairs;
template <>
struct Pairs<4> {
  static constexpr int kBytes = 64;  // of 8 columns of a tile
  I32 words;
  void read(const std::byte* p) { words = load_words(p); }
  template <int kIndex>
  I32 get() const {
    if constexpr (kIndex == 0) return bit_and(words, splat(0x000f000f));
    if constexpr (kIndex == 3) return shift_halves<12>(words);
    return bit_and(shift_halves<4 * kIndex>(words), splat(0x000f000f));
  }
};
template <>
struct Pairs<8> {
  static constexpr int kBytes = 128;
  I32 words[2];
  void read(const std::byte* p) {
    words[0] = load_words(p);
    words[1] = load_words(p + 64);
  }
  template <int kIndex>
  I32 get() const {
    if constexpr (kIndex % 2 == 0) return bit_and(words[kIndex / 2], splat(0x00ff00ff));
    return shift_halves<8>(words[kIndex / 2]);
  }
};

// What the kernels below walk through: the columns' inputs of one block.
struct ColumnBlock {
  const std::int16_t* values;
  const float* scales;
  const float* sums;
  std::size_t stride;  // columns stored together
};

template <int kIndex, int kTileCount, int kColumns, int kBits>
inline void step(I32 (&dot)[kTileCount][kColumns], const Pairs<kBits> (&pairs)[kTileCount],
                 const std::int16_t* x) {
  I32 w[kTileCount];
  EMLX_UNROLL for (int t = 0; t < kTileCount; ++t) w[t] = pairs[t].template get<kIndex>();
  EMLX_UNROLL for (int c = 0; c < kColumns; ++c) {
    std::int32_t pair = 0;
    __builtin_memcpy(&pair, x + c * 32 + 2 * kIndex, sizeof pair);
    const I32 input = splat(pair);
    EMLX_UNROLL for (int t = 0; t < kTileCount; ++t) dot[t][c] = dot_pairs(dot[t][c], w[t], input);
  }
}

// Dot products of one group for tiles [first, first + kTileCount).
template <int kBits, int kTileCount, int kColumns, bool kPrefetch>
inline void group_dots(const std::byte* group, int first, int blocks, const std::int16_t* x,
                       std::size_t stride, I32 (&dot)[kTileCount][kColumns]) {
  constexpr int kBytes = Pairs<kBits>::kBytes;
  EMLX_UNROLL for (int t = 0; t < kTileCount; ++t) EMLX_UNROLL for (int c = 0; c < kColumns; ++c)
      dot[t][c] = splat(0);
  const std::byte* w = group + first * kBytes;
  for (int block = 0; block < blocks; ++block, x += stride * 32) {
    EMLX_UNROLL for (int eight = 0; eight < 4; ++eight, w += 2 * kBytes) {
      if constexpr (kPrefetch) {
        EMLX_UNROLL for (int line = 0; line < kTileCount * kBytes; line += 64)
            prefetch(w + line + 4096);
      }
      Pairs<kBits> pairs[kTileCount];
      EMLX_UNROLL for (int t = 0; t < kTileCount; ++t) pairs[t].read(w + t * kBytes);
      step<0>(dot, pairs, x + 8 * eight);
      step<1>(dot, pairs, x + 8 * eight);
      step<2>(dot, pairs, x + 8 * eight);
      step<3>(dot, pairs, x + 8 * eight);
    }
  }
}

template <int kBits, FloatKind kScale, int kColumns>
void affine_panel(const AffinePanels& w, int panel, const ColumnBlock& x, int in_block, int column,
                  const MatmulOutput& out) {
  constexpr int kTileCount = kColumns == 1 ? 2 : kTiles;
  constexpr std::size_t kScaleBytes = kScale == FloatKind::F32 ? 4 : 2;
  const int blocks = w.group / 32, groups = w.cols / w.group;
  const std::size_t weight_bytes = static_cast<std::size_t>(blocks) * 8 * Pairs<kBits>::kBytes;
  const std::byte* group = w.bytes + static_cast<std::size_t>(panel) * w.panel_bytes;
  const std::int16_t* values = x.values + in_block * 32;
  const float* scales = x.scales + in_block;
  const float* sums = x.sums + in_block;
  F32 total[2][kColumns];
  EMLX_UNROLL for (int t = 0; t < 2; ++t) EMLX_UNROLL for (int c = 0; c < kColumns; ++c)
      total[t][c] = splat(0.0F);
  for (int g = 0; g < groups; ++g) {
    const std::byte* scale = group + weight_bytes;
    EMLX_UNROLL for (int first = 0; first < 2; first += kTileCount) {
      I32 dot[kTileCount][kColumns];
      group_dots<kBits, kTileCount, kColumns, kColumns <= 2>(group, first, blocks, values, x.stride,
                                                             dot);
      EMLX_UNROLL for (int t = 0; t < kTileCount; ++t) {
        const std::byte* at = scale + (first + t) * 16 * kScaleBytes;
        const F32 weight_scale = load_floats<kScale>(at);
        const F32 bias = load_floats<kScale>(at + 32 * kScaleBytes);
        EMLX_UNROLL for (int c = 0; c < kColumns; ++c) {
          F32& sum = total[first + t][c];
          sum = fma(to_float(dot[t][c]), mul(weight_scale, splat(scales[c])), sum);
          sum = fma(bias, splat(sums[c]), sum);
        }
      }
    }
    if constexpr (kColumns <= 2) {
      EMLX_UNROLL for (std::size_t line = 0; line < 64 * kScaleBytes; line += 64)
          prefetch(scale + line + 4096);
    }
    group = scale + 64 * kScaleBytes;
    values += static_cast<std::size_t>(blocks) * 32 * x.stride;
    scales += x.stride;
    sums += x.stride;
  }
  finish<kColumns>(out, panel, column, total);
}

// Panels [first, last) for the columns of one block.
template <int kBits, FloatKind kScale>
void affine_block(const AffinePanels& w, int first, int last, const ColumnBlock& x, int columns,
                  int column, const MatmulOutput& out) {
  for (int panel = first; panel < last; ++panel) {
    int done = 0;
    if constexpr (kMaxColumns >= 8)
      for (; columns - done >= 8; done += 8)
        affine_panel<kBits, kScale, 8>(w, panel, x, done, column + done, out);
    if constexpr (kMaxColumns >= 4)
      for (; columns - done >= 4; done += 4)
        affine_panel<kBits, kScale, 4>(w, panel, x, done, column + done, out);
    for (; columns - done >= 2; done += 2)
      affine_panel<kBits, kScale, 2>(w, panel, x, done, column + done, out);
    if (done < columns) affine_panel<kBits, kScale, 1>(w, panel, x, done, column + done, out);
  }
}

// Few columns: every panel is read once. Many: a few panels stay in the cache for all columns.
template <int kBits, FloatKind kScale>
void affine_product(const AffinePanels& w, int first, int last, const QuantizedColumns& x,
                    int columns, const MatmulOutput& out) {
  const int together = columns <= 2 * kBlockColumns ? 1 : 4;
  for (int panel = first; panel < last; panel += together) {
    const int end = panel + together < last ? panel + together : last;
    for (int column = 0; column < columns; column += kBlockColumns) {
      const int here = columns - column < kBlockColumns ? columns - column : kBlockColumns;
      const auto start = static_cast<std::size_t>(column);
      const std::size_t groups = static_cast<std::size_t>(w.cols / w.group);
      const ColumnBlock block{x.values + start * static_cast<std::size_t>(w.cols),
                              x.scales + start * groups, x.sums + start * groups,
                              static_cast<std::size_t>(here)};
      affine_block<kBits, kScale>(w, panel, end, block, here, column, out);
    }
  }
}

void matmul_affine(const AffinePanels& w, int first, int last, const QuantizedColumns& x,
                   int columns, const MatmulOutput& out) noexcept {
  const auto run = [&]<int kBits>() {
    switch (w.scale_kind) {
      case FloatKind::F32:
        return affine_product<kBits, FloatKind::F32>(w, first, last, x, columns, out);
      case FloatKind::F16:
        return affine_product<kBits, FloatKind::F16>(w, first, last, x, columns, out);
      case FloatKind::BF16:
        return affine_product<kBits, FloatKind::BF16>(w, first, last, x, columns, out);
    }
  };
  if (w.bits == 4) {
    run.template operator()<4>();
  } else {
    run.template operator()<8>();
  }
}

template <FloatKind kKind, int kColumns>
void dense_tile(const std::byte* w, int cols, const float* x, std::size_t x_stride,
                F32 (&total)[kColumns]) {
  constexpr std::size_t kRow = kPanelRows * (kKind == FloatKind::F32 ? 4 : 2);
  F32 sum[4][kColumns];
  EMLX_UNROLL for (int i = 0; i < 4; ++i) EMLX_UNROLL for (int c = 0; c < kColumns; ++c) sum[i][c] =
      splat(0.0F);
  for (int k = 0; k < cols; k += 4) {
    EMLX_UNROLL for (int i = 0; i < 4; ++i, w += kRow) {
      const F32 weight = load_floats<kKind>(w);
      if constexpr (kColumns == 1) prefetch(w + 2048);
      EMLX_UNROLL for (int c = 0; c < kColumns; ++c) sum[i][c] =
          fma(weight,
              splat(x[static_cast<std::size_t>(c) * x_stride + static_cast<std::size_t>(k + i)]),
              sum[i][c]);
    }
  }
  EMLX_UNROLL for (int c = 0; c < kColumns; ++c) total[c] =
      add(add(sum[0][c], sum[1][c]), add(sum[2][c], sum[3][c]));
}

template <FloatKind kKind, int kColumns>
void dense_panel(const DensePanels& w, int panel, const float* x, std::size_t x_stride, int column,
                 const MatmulOutput& out) {
  const std::byte* bytes = w.bytes + static_cast<std::size_t>(panel) * w.panel_bytes;
  F32 total[2][kColumns];
  for (int t = 0; t < 2; ++t)
    dense_tile<kKind, kColumns>(bytes + t * 16 * (kKind == FloatKind::F32 ? 4 : 2), w.cols,
                                x + static_cast<std::size_t>(column) * x_stride, x_stride,
                                total[t]);
  finish<kColumns>(out, panel, column, total);
}

template <FloatKind kKind>
void dense_product(const DensePanels& w, int first, int last, const float* x, std::size_t x_stride,
                   int columns, const MatmulOutput& out) {
  constexpr int kColumns = kAccumulators >= 16 ? 4 : 1;
  for (int panel = first; panel < last; ++panel) {
    int column = 0;
    if constexpr (kColumns > 1)
      for (; column + kColumns <= columns; column += kColumns)
        dense_panel<kKind, kColumns>(w, panel, x, x_stride, column, out);
    for (; column < columns; ++column) dense_panel<kKind, 1>(w, panel, x, x_stride, column, out);
  }
}

void matmul_dense(const DensePanels& w, int first, int last, const float* x, std::size_t x_stride,
                  int columns, const MatmulOutput& out) noexcept {
  switch (w.kind) {
    case FloatKind::F32:
      return dense_product<FloatKind::F32>(w, first, last, x, x_stride, columns, out);
    case FloatKind::F16:
      return dense_product<FloatKind::F16>(w, first, last, x, x_stride, columns, out);
    case FloatKind::BF16:
      return dense_product<FloatKind::BF16>(w, first, last, x, x_stride, columns, out);
  }
}

}  // namespace
}  // namespace emlx
