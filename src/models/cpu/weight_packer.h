// Plans where weights go, allocates once, then packs in parallel.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "models/cpu/cpu_weights.h"

namespace emlx {

class WeightPacker {
 public:
  // The file's row of packed row r, or -1 for a row of zeros.
  using RowOrder = std::function<int(int)>;

  // Plan: the returned objects are filled by run() and must stay where they are until then. `rows`
  // packed rows in `order`; without one, the file's rows.
  void matrix(const Matrix& from, PackedMatrix& to);
  void matrix(const Matrix& from, int rows, RowOrder order, PackedMatrix& to);
  // Panels of 16 rows of `first` and 16 of `second`, whose formats agree.
  void interleaved(const Matrix& first, const Matrix& second, PackedMatrix& to);
  static bool same_format(const Matrix& a, const Matrix& b);
  // Floats in `order`, zeros up to `size`.
  void vector(const Vector& from, int size, RowOrder order, const float*& to);

  // Allocates and packs; call once.
  HugeBuffer run(WorkerPool& pool);
  std::size_t bytes() const noexcept { return size_; }

 private:
  struct Part {
    const Matrix* from;
    RowOrder order;
  };
  struct MatrixJob {
    std::vector<Part> parts;  // 1, or 2 interleaved
    int rows;                 // of each part
    PackedMatrix* to;
    std::size_t offset;
  };
  struct VectorJob {
    const Vector* from;
    int size;
    RowOrder order;
    const float** to;
    std::size_t offset;
  };

  void plan(MatrixJob job);
  static void pack(const MatrixJob& job, std::byte* memory);
  static void copy(const VectorJob& job, std::byte* memory);

  std::deque<MatrixJob> matrices_;
  std::deque<VectorJob> vectors_;
  std::size_t size_ = 0;
};

}  // namespace emlx
