// Helpers of tests: random data, buffers that end where memory ends, matrices and their inputs.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "base/float16.h"
#include "base/test_support.h"
#include "kernels/cpu_isa.h"
#include "kernels/kernel_table.h"
#include "kernels/packed_matrix.h"

namespace emlx {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr FloatKind kFloatKinds[] = {FloatKind::F32, FloatKind::F16, FloatKind::BF16};

constexpr int rounded_up(int n, int step) {
  return (n + step - 1) / step * step;
}

// Where element `column` of row `row` stands in a matrix of `columns`.
constexpr std::size_t place(int row, int columns, int column) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
         static_cast<std::size_t>(column);
}

// The same numbers with every standard library (SplitMix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
  }
  int below(int n) { return static_cast<int>(bits() % static_cast<std::uint64_t>(n)); }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  float uniform(float low, float high) {
    return static_cast<float>(low + (static_cast<double>(high) - low) * unit());
  }
  // About normal, with standard deviation 1.
  float normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += unit();
    return static_cast<float>(sum);
  }

 private:
  std::uint64_t state_;
};

// `size` elements, zero at first, the last of which is the last before a page that may not be
// touched.
template <typename T>
class Buffer {
 public:
  explicit Buffer(std::size_t size) : size_(size) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t used = (size * sizeof(T) + page - 1) / page * page;
    mapped_ = used + page;
    void* const start =
        ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) throw std::bad_alloc();
    start_ = static_cast<std::byte*>(start);
    if (::mprotect(start_ + used, page, PROT_NONE) != 0) throw std::bad_alloc();
    data_ = reinterpret_cast<T*>(start_ + used - size * sizeof(T));
  }
  Buffer(Buffer&& other) noexcept
      : size_(other.size_),
        mapped_(other.mapped_),
        start_(std::exchange(other.start_, nullptr)),
        data_(other.data_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(mapped_, other.mapped_);
    std::swap(start_, other.start_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~Buffer() {
    if (start_ != nullptr) ::munmap(start_, mapped_);
  }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  std::size_t size_, mapped_ = 0;
  std::byte* start_ = nullptr;
  T* data_ = nullptr;
};

inline Buffer<float> random_floats(Random& random, std::size_t size, float scale = 1) {
  Buffer<float> out(size);
  for (float& x : out) x = scale * random.normal();
  return out;
}

// Whether n numbers are the same, bit for bit; says where they first differ.
template <typename T>
testing::AssertionResult same_bits(const T* a, const T* b, std::size_t n) {
  const auto bytes = std::as_bytes(std::span(a, n)), others = std::as_bytes(std::span(b, n));
  const auto differ = std::mismatch(bytes.begin(), bytes.end(), others.begin()).first;
  if (differ == bytes.end()) return testing::AssertionSuccess();
  const auto i = static_cast<std::size_t>(differ - bytes.begin()) / sizeof(T);
  return testing::AssertionFailure()
         << "element " << i << " of " << n << ": " << testing::PrintToString(a[i]) << " and "
         << testing::PrintToString(b[i]);
}
template <typename A, typename B>
testing::AssertionResult same_bits(const A& a, const B& b) {
  if (a.size() != b.size()) return testing::AssertionFailure() << a.size() << ", " << b.size();
  return same_bits(a.data(), b.data(), a.size());
}

// Runs `check(table)` for every instruction set of this machine, Scalar first.
template <typename Check>
void on_every_isa(Check check) {
  for (const CpuIsa isa : supported_isas()) {
    SCOPED_TRACE(std::string(isa_name(isa)));
    check(kernels(isa));
  }
}
inline const KernelTable& scalar_kernels() {
  return kernels(CpuIsa::Scalar);
}
inline const KernelTable& fastest_kernels() {
  return kernels(supported_isas().back());
}

inline float read_float(const std::byte* at, FloatKind kind) {
  if (kind == FloatKind::F32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::uint16_t half = 0;
  std::memcpy(&half, at, sizeof half);
  return kind == FloatKind::F16 ? float16_to_float(half) : bfloat16_to_float(half);
}
// bfloat16 by truncation.
inline void write_float(std::byte* at, FloatKind kind, float value) {
  if (kind == FloatKind::F32) {
    std::memcpy(at, &value, sizeof value);
    return;
  }
  const std::uint16_t half =
      kind == FloatKind::F16
          ? float_to_float16(value)
          : static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  std::memcpy(at, &half, sizeof half);
}

// A random matrix in MLX's affine layout, rows at an odd address.
struct AffineMatrix {
  AffineMatrix(Random& random, int row_count, int col_count, int width, int group_size,
               FloatKind scale)
      : rows(row_count),
        cols(col_count),
        bits(width),
        group(group_size),
        kind(scale),
        values(count(rows, cols * bits / 8) + 1),
        scales(count(rows, cols / group) * float_bytes(kind)),
        biases(count(rows, cols / group) * float_bytes(kind)) {
    for (std::byte& byte : values) byte = static_cast<std::byte>(random.bits());
    for (std::size_t i = 0; i < scales.size(); i += float_bytes(kind)) {
      const float step = random.uniform(0.5F, 1.5F) / static_cast<float>(1 << bits);
      write_float(scales.data() + i, kind, step);
      write_float(biases.data() + i, kind, -step * random.uniform(0.2F, 0.8F) * (1 << bits));
    }
  }

  static std::size_t count(int a, int b) {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
  }
  AffineRows packed() const {
    return {values.data() + 1, scales.data(), biases.data(), cols, bits, group, kind};
  }
  std::size_t scale_at(int row, int in_row) const {
    return (count(row, cols / group) + static_cast<std::size_t>(in_row)) * float_bytes(kind);
  }
  int integer(int row, int col) const {
    int out = 0;
    for (int bit = 0; bit < bits; ++bit) {
      const std::size_t at = count(row, cols * bits) + count(col, bits) + count(bit, 1);
      out |= (std::to_integer<int>(values[1 + at / 8]) >> (at % 8) & 1) << bit;
    }
    return out;
  }
  float scale(int row, int col) const {
    return read_float(scales.data() + scale_at(row, col / group), kind);
  }
  float bias(int row, int col) const {
    return read_float(biases.data() + scale_at(row, col / group), kind);
  }
  double weight(int row, int col) const {
    return static_cast<double>(scale(row, col)) * integer(row, col) + bias(row, col);
  }

  int rows, cols, bits, group;
  FloatKind kind;
  Buffer<std::byte> values, scales, biases;
};

// A matrix as the kernels want it, and the memory it lies in.
template <typename View>
struct Panels {
  Buffer<std::byte> bytes;
  View view;
  int count;  // of panels
};

inline Panels<AffinePanels> pack(const AffineMatrix& from) {
  const int count = rounded_up(from.rows, kPanelRows) / kPanelRows;
  const std::size_t size = affine_panel_bytes(from.cols, from.bits, from.group, from.kind);
  Buffer<std::byte> bytes(size * static_cast<std::size_t>(count));
  for (int row = 0; row < from.rows; ++row)
    pack_affine_row(from.packed(), row,
                    bytes.data() + static_cast<std::size_t>(row / kPanelRows) * size,
                    row % kPanelRows);
  const AffinePanels view{bytes.data(),          size,       from.cols,
                          panel_bits(from.bits), from.group, from.kind};
  return {std::move(bytes), view, count};
}

// A matrix's inputs, one after another with `stride` elements between their beginnings.
struct Inputs {
  Inputs(Random& random, int col_count, int column_count, std::size_t gap = 0)
      : cols(col_count),
        columns(column_count),
        stride(static_cast<std::size_t>(cols) + gap),
        x(random_floats(random, stride * static_cast<std::size_t>(columns) - gap)) {}

  float* column(int c) const { return x.data() + static_cast<std::size_t>(c) * stride; }

  int cols, columns;
  std::size_t stride;
  Buffer<float> x;
};

// Inputs [first, first + columns) as QuantizedColumns.
struct Quantized {
  Quantized(const KernelTable& table, const Inputs& in, int group, int first, int columns)
      : values(AffineMatrix::count(in.cols, columns)),
        scales(AffineMatrix::count(in.cols / group, columns)),
        sums(AffineMatrix::count(in.cols / group, columns)) {
    for (int c = 0; c < columns; ++c)
      table.quantize(in.column(first + c), in.cols, group, c, columns, view());
  }
  Quantized(const KernelTable& table, const Inputs& in, int group)
      : Quantized(table, in, group, 0, in.columns) {}

  QuantizedColumns view() const { return {values.data(), scales.data(), sums.data()}; }

  Buffer<std::int16_t> values;
  Buffer<float> scales, sums;
};

}  // namespace emlx
