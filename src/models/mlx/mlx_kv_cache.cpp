#include "models/mlx/mlx_kv_cache.h"

#include <mlx/ops.h>

#include <algorithm>

namespace emlx {
namespace {

constexpr int kStep = 256;

int round_up(int positions) {
  return (positions + kStep - 1) / kStep * kStep;
}

mx::array prefix(const mx::array& buffer, int length) {
  if (length == buffer.shape(2)) return buffer;
  return mx::slice(buffer, {0, 0, 0, 0}, {1, buffer.shape(1), length, buffer.shape(3)});
}

// The first `length` positions of `buffer` and room for `positions` more.
mx::array grown(const std::optional<mx::array>& buffer, int length, const mx::array& positions) {
  mx::array room = mx::zeros(
      {1, positions.shape(1), round_up(positions.shape(2)), positions.shape(3)}, positions.dtype());
  return buffer ? mx::concatenate({prefix(*buffer, length), room}, 2) : room;
}

mx::array written(const mx::array& buffer, const mx::array& positions, int start) {
  mx::Shape stop = buffer.shape();
  stop[2] = start + positions.shape(2);
  return mx::slice_update(buffer, positions, mx::Shape{0, 0, start, 0}, std::move(stop));
}

}  // namespace

std::pair<mx::array, mx::array> MlxKvCache::append(const mx::array& keys, const mx::array& values) {
  const int end = length_ + keys.shape(2);
  if (!keys_ || end > keys_->shape(2)) {
    keys_ = grown(keys_, length_, keys);
    values_ = grown(values_, length_, values);
  }
  keys_ = written(*keys_, keys, length_);
  values_ = written(*values_, values, length_);
  length_ = end;
  return {prefix(*keys_, end), prefix(*values_, end)};
}

MlxKvCache MlxKvCache::fork(int length) const {
  MlxKvCache copy;
  if (length == 0) return copy;
  // Not more room than the prefix needs: the first write copies all of it.
  const int capacity = std::min(round_up(length), keys_->shape(2));
  copy.keys_ = prefix(*keys_, capacity);
  copy.values_ = prefix(*values_, capacity);
  copy.length_ = length;
  return copy;
}

int MlxKvCache::max_positions(int context) {
  return context + kStep - 1;  // only the part that is grown by is rounded up
}

std::size_t MlxKvCache::bytes() const {
  return keys_ ? keys_->nbytes() + values_->nbytes() : 0;
}

void MlxKvCache::collect(std::vector<mx::array>& arrays) const {
  if (!keys_) return;
  arrays.push_back(*keys_);
  arrays.push_back(*values_);
}

}  // namespace emlx
