// Norms, RoPE, quantization of matmul inputs, activation, log-sum-exp.
#pragma once

#include "kernels/body/math.h"
#include "kernels/kernel_table.h"

namespace emlx {
namespace {

void rms_norm(const float* x, const float* weight, int size, int padded, float eps,
              float* out) noexcept {
  const F32 scale = splat(inverse_rms(x, size, padded, eps));
  for (int i = 0; i < padded; i += 16)
    store(out + i, mul(mul(load(x + i), scale), load(weight + i)));
}

template <int kGroup>
void quantize_groups(const float* x, int cols, int column, int columns,
                     const QuantizedColumns& out) {
  const int block = column / kBlockColumns, in_block = column % kBlockColumns;
  const int left = columns - block * kBlockColumns;
  const auto stride = static_cast<std::size_t>(left < kBlockColumns ? left : kBlockColumns);
  const std::size_t start = static_cast<std::size_t>(block) * kBlockColumns;
  std::int16_t* values = out.values + start * static_cast<std::size_t>(cols) + in_block * 32;
  const std::size_t groups = static_cast<std::size_t>(cols) / kGroup;
  float* scales = out.scales + start * groups + static_cast<std::size_t>(in_block);
  float* sums = out.sums + start * groups + static_cast<std::size_t>(in_block);
  constexpr int kVectors = kGroup / 16;
  for (std::size_t group = 0; group < groups; ++group, x += kGroup) {
    I32 most = magnitude_bits(load(x));
    for (int i = 1; i < kVectors; ++i) most = max(most, magnitude_bits(load(x + 16 * i)));
    const std::int32_t bits = reduce_max(most);
    float largest = 0.0F;
    __builtin_memcpy(&largest, &bits, sizeof largest);
    const bool finite = bits < 0x7f800000;
    const bool tiny = largest < 1e-30F;
    const float inverse = finite && !tiny ? 32767.0F / largest : 0.0F;
    // 0 * infinity and 0 * NaN are NaN: what is not finite stays visible.
    const float scale = !finite ? largest * 0.0F : tiny ? 0.0F : largest / 32767.0F;
    I32 sum = splat(0);
    for (int i = 0; i < kVectors; ++i) {
      const I32 q = finite ? round(mul(load(x + 16 * i), splat(inverse))) : splat(0);
      sum = add(sum, q);
      store_i16(values + static_cast<std::size_t>(i / 2) * stride * 32 + (i % 2) * 16, q);
    }
    values += kVectors / 2 * stride * 32;
    scales[group * stride] = scale;
    sums[group * stride] = scale * static_cast<float>(reduce_add(sum));
  }
}

void quantize(const float* x, int cols, int group, int column, int columns,
              const QuantizedColumns& out) noexcept {
  switch (group) {
    case 32:
      return quantize_groups<32>(x, cols, column, columns, out);
    case 64:
      return quantize_groups<64>(x, cols, column, columns, out);
    default:
      return quantize_groups<128>(x, cols, column, columns, out);
  }
}

void head_rope(const float* x, const float* weight, int size, int padded, float eps,
               const RopeRow& rope, float factor, float* out) noexcept {
  const float scale = weight != nullptr ? inverse_rms(x, size, padded, eps) : 1.0F;
  for (int i = 0; i < padded; i += 16) {
    F32 v = load(x + i);
    if (weight != nullptr) v = mul(mul(v, splat(scale)), load(weight + i));
    store(out + i, v);
  }
  const int pairs = rope.pairs;
  int i = 0;
  for (; i + 16 <= pairs; i += 16) {
    const F32 a = load(out + i), b = load(out + pairs + i);
    const F32 c = load(rope.cosines + i), s = load(rope.sines + i);
    store(out + i, fms(a, c, mul(b, s)));
    store(out + pairs + i, fma(b, c, mul(a, s)));
  }
  for (; i < pairs; ++i) {
    const float a = out[i], b = out[pairs + i], c = rope.cosines[i], s = rope.sines[i];
    out[i] = __builtin_fmaf(a, c, -(b * s));
    out[pairs + i] = __builtin_fmaf(b, c, a * s);
  }
  if (factor != 1.0F)
    for (i = 0; i < padded; i += 16) store(out + i, mul(load(out + i), splat(factor)));
}

void silu_mul(const float* gate, const float* up, int n, float* out) noexcept {
  for (int i = 0; i < n; i += 16) store(out + i, mul(silu(load(gate + i)), load(up + i)));
}

LogSumExp log_sum_exp(const float* logits, int n) noexcept {
  F32 most = splat(-__builtin_inff());
  int i = 0;
  const auto tail = [&](F32 fill) {
    float rest[16];
    store(rest, fill);
    for (int k = 0; i + k < n; ++k) rest[k] = logits[i + k];
    return load(rest);
  };
  for (; i + 16 <= n; i += 16) most = max(load(logits + i), most);
  if (i < n) most = max(tail(most), most);
  const float largest = reduce_max(most);
  F32 sum = splat(0.0F);
  for (i = 0; i + 16 <= n; i += 16)
    sum = add(sum, exp2_lanes(mul(sub(load(logits + i), splat(largest)), splat(kLog2E))));
  if (i < n) {
    const F32 part = exp2_lanes(mul(sub(tail(splat(0.0F)), splat(largest)), splat(kLog2E)));
    sum = add(sum, first_lanes(n - i, part, splat(0.0F)));
  }
  return {largest, reduce_add(sum)};
}

int first_at_least(const float* logits, int n, float offset, float least) noexcept {
  int i = 0;
  // NaNs become -infinity, lest one hide its neighbours from the maximum.
  const F32 floor = splat(-__builtin_inff());
  for (; i + 16 <= n; i += 16)
    if (!(reduce_max(max(sub(load(logits + i), splat(offset)), floor)) < least)) break;
  for (; i < n; ++i)
    if (logits[i] - offset >= least) return i;
  return n;
}

}  // namespace
}  // namespace emlx
