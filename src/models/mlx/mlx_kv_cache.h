// Keys and values of one layer of one sequence.
#pragma once

#include <mlx/array.h>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace emlx {

namespace mx = mlx::core;

// Buffers grow in steps of 256 positions, exactly as mlx_lm's KVCache does, and are not allocated
// for the whole context at once: a full context of a long model is gigabytes a sequence, and a GPU
// backend may choose its attention kernel by the strides it sees. Growing copies the prefix once in
// 256 tokens. In between, the update is in place: the old buffer's only owner is the graph node
// that writes to it, so MLX donates it.
class MlxKvCache {
 public:
  int length() const { return length_; }

  // Appends keys and values [1, kv_heads, n, head_dim] and returns the valid prefix of both,
  // [1, kv_heads, length(), head_dim].
  std::pair<mx::array, mx::array> append(const mx::array& keys, const mx::array& values);

  // The first `length` positions. The buffers are shared until either side writes.
  MlxKvCache fork(int length) const;

  void truncate(int length) { length_ = length; }

  // Positions that buffers take at most while `context` are held.
  static int max_positions(int context);

  // Bytes of the buffers, counted in full even while shared with a fork.
  std::size_t bytes() const;

  // Adds the buffers to `arrays`: evaluating them runs the updates.
  void collect(std::vector<mx::array>& arrays) const;

 private:
  std::optional<mx::array> keys_, values_;  // [1, kv_heads, capacity, head_dim]
  int length_ = 0;
};

// One per layer.
using MlxSequenceCache = std::vector<MlxKvCache>;

}  // namespace emlx
