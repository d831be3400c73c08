#include "models/cpu/weight_packer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/float16.h"
#include "kernels/packed_matrix.h"
#include "models/affine.h"

namespace emlx {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kPrefetched = 8192;  // behind the last panel

FloatKind float_kind(DType dtype) {
  return dtype == DType::F32   ? FloatKind::F32
         : dtype == DType::F16 ? FloatKind::F16
                               : FloatKind::BF16;
}

// How a matrix is stored in panels.
struct Format {
  bool affine = false;
  int bits = 0, group = 0;
  FloatKind kind = FloatKind::F32;  // of scales, or of dense elements
  bool operator==(const Format&) const = default;
};

// 128 (or 8) times a block's float16 scale need not be a float16.
bool has_wide_biases(const Matrix& matrix) {
  if (matrix.dtype == DType::Q4_1) return false;
  const auto block = static_cast<std::size_t>(block_layout(matrix.dtype).bytes);
  const float limit = matrix.dtype == DType::Q8_0 ? 65504.0F / 128 : 65504.0F / 8;
  for (std::size_t at = 0; at < matrix.data.size(); at += block)
    if (!(std::abs(read_float(matrix.data.data() + at, DType::F16)) <= limit)) return true;
  return false;
}

Format format_of(const Matrix& matrix) {
  switch (matrix.encoding) {
    case MatrixEncoding::Dense:
      return {.kind = float_kind(matrix.dtype)};
    case MatrixEncoding::MlxAffine:
      return {true, panel_bits(matrix.bits), matrix.group_size, float_kind(matrix.dtype)};
    case MatrixEncoding::GgufBlock:
      return {true, matrix.dtype == DType::Q8_0 ? 8 : 4, 32,
              has_wide_biases(matrix) ? FloatKind::F32 : FloatKind::F16};
  }
  return {};
}

std::size_t panel_bytes(const Format& format, int cols) {
  return format.affine ? affine_panel_bytes(cols, format.bits, format.group, format.kind)
                       : dense_panel_bytes(padded(cols), format.kind);
}

// A matrix's rows ready to be packed, in order.
class RowSource {
 public:
  RowSource(const Matrix& matrix, const Format& format) : matrix_(matrix), format_(format) {
    rows_ = {matrix.data.data(), matrix.scales.data(), matrix.biases.data(), matrix.cols,
             matrix.bits,        matrix.group_size,    format.kind};
    if (matrix.encoding == MatrixEncoding::GgufBlock) {
      affine_ = to_affine(matrix);
      rows_.values = reinterpret_cast<const std::byte*>(affine_.packed.data());
      rows_.bits = affine_.bits;
      rows_.group = affine_.group_size;
      scales_ = narrow(affine_.scales);
      biases_ = narrow(affine_.biases);
      rows_.scales = scales_.data();
      rows_.biases = biases_.data();
    } else if (matrix.interleaved_heads != 0) {
      ordered_ = ordered_rows(matrix.data, matrix.rows, matrix.interleaved_heads);
      rows_.values = ordered_.data();
    }
  }

  void pack(int row, std::byte* panel, int in_panel) const {
    if (format_.affine) return pack_affine_row(rows_, row, panel, in_panel);
    const std::size_t row_bytes =
        static_cast<std::size_t>(matrix_.cols) * float_bytes(format_.kind);
    pack_dense_row(rows_.values + static_cast<std::size_t>(row) * row_bytes, matrix_.cols,
                   format_.kind, panel, in_panel);
  }

 private:
  std::vector<std::byte> narrow(const std::vector<float>& floats) const {
    std::vector<std::byte> bytes(floats.size() * float_bytes(format_.kind));
    for (std::size_t i = 0; i < floats.size(); ++i) {
      if (format_.kind == FloatKind::F32) {
        std::memcpy(bytes.data() + 4 * i, &floats[i], 4);
      } else {
        const std::uint16_t half = float_to_float16(floats[i]);
        std::memcpy(bytes.data() + 2 * i, &half, 2);
      }
    }
    return bytes;
  }

  const Matrix& matrix_;
  Format format_;
  AffineRows rows_{};
  AffineMatrix affine_;
  std::vector<std::byte> ordered_, scales_, biases_;
};

}  // namespace

bool WeightPacker::same_format(const Matrix& a, const Matrix& b) {
  return a.rows == b.rows && a.cols == b.cols && format_of(a) == format_of(b);
}

void WeightPacker::matrix(const Matrix& from, PackedMatrix& to) {
  matrix(
      from, from.rows, [rows = from.rows](int row) { return row < rows ? row : -1; }, to);
}

void WeightPacker::matrix(const Matrix& from, int rows, RowOrder order, PackedMatrix& to) {
  plan({{{&from, std::move(order)}}, rows, &to, 0});
}

void WeightPacker::interleaved(const Matrix& first, const Matrix& second, PackedMatrix& to) {
  const RowOrder order = [rows = first.rows](int row) { return row < rows ? row : -1; };
  plan({{{&first, order}, {&second, order}}, first.rows, &to, 0});
}

void WeightPacker::plan(MatrixJob job) {
  const Matrix& from = *job.parts.front().from;
  const Format format = format_of(from);
  const std::size_t bytes = panel_bytes(format, from.cols);
  const int rows_a_panel = kPanelRows / static_cast<int>(job.parts.size());
  job.to->panels = (job.rows + rows_a_panel - 1) / rows_a_panel;
  if (format.affine) {
    job.to->data = AffinePanels{nullptr, bytes, from.cols, format.bits, format.group, format.kind};
  } else {
    job.to->data = DensePanels{nullptr, bytes, padded(from.cols), format.kind};
  }
  job.offset = size_;
  size_ += bytes * static_cast<std::size_t>(job.to->panels);
  size_ = (size_ + kAlignment - 1) / kAlignment * kAlignment;
  matrices_.push_back(std::move(job));
}

void WeightPacker::vector(const Vector& from, int size, RowOrder order, const float*& to) {
  vectors_.push_back({&from, size, std::move(order), &to, size_});
  size_ += static_cast<std::size_t>(size) * sizeof(float);
  size_ = (size_ + kAlignment - 1) / kAlignment * kAlignment;
}

void WeightPacker::pack(const MatrixJob& job, std::byte* memory) {
  std::byte* const out = memory + job.offset;
  std::size_t bytes = 0;
  std::visit(
      [&](auto& panels) {
        panels.bytes = out;
        bytes = panels.panel_bytes;
      },
      job.to->data);
  const int parts = static_cast<int>(job.parts.size()), rows_a_panel = kPanelRows / parts;
  for (int part = 0; part < parts; ++part) {
    const Matrix& from = *job.parts[static_cast<std::size_t>(part)].from;
    const RowOrder& order = job.parts[static_cast<std::size_t>(part)].order;
    const RowSource source(from, format_of(from));
    for (int row = 0; row < job.rows; ++row) {
      const int file_row = order(row);
      if (file_row < 0) continue;
      source.pack(file_row, out + static_cast<std::size_t>(row / rows_a_panel) * bytes,
                  part * rows_a_panel + row % rows_a_panel);
    }
  }
}

void WeightPacker::copy(const VectorJob& job, std::byte* memory) {
  auto* const out = reinterpret_cast<float*>(memory + job.offset);
  const auto size = static_cast<std::size_t>(block_layout(job.from->dtype).bytes);
  for (int i = 0; i < job.size; ++i) {
    const int at = job.order(i);
    if (at >= 0)
      out[i] =
          read_float(job.from->data.data() + static_cast<std::size_t>(at) * size, job.from->dtype);
  }
  *job.to = out;
}

HugeBuffer WeightPacker::run(WorkerPool& pool) {
  const std::size_t available = available_memory();
  if (available != 0 && size_ > available)
    fail(ErrorCode::Busy, "the model's weights need {:.1f} GB of memory, {:.1f} GB are available",
         static_cast<double>(size_) / 1e9, static_cast<double>(available) / 1e9);
  HugeBuffer memory(size_ + kPrefetched);
  std::mutex mutex;
  std::exception_ptr failure;  // guarded by mutex; a worker must not throw
  pool.run([&](int worker) {
    pool.phase(worker, static_cast<int>(matrices_.size()), 1, [&](int first, int last) {
      try {
        for (int i = first; i < last; ++i)
          pack(matrices_[static_cast<std::size_t>(i)], memory.data());
      } catch (...) {
        const std::scoped_lock lock(mutex);
        failure = std::current_exception();
      }
    });
  });
  if (failure) std::rethrow_exception(failure);
  for (const VectorJob& job : vectors_) copy(job, memory.data());
  return memory;
}

}  // namespace emlx
