// KV memory: one pool of equal blocks that sequences share.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/kernel_table.h"
#include "models/cpu/huge_buffer.h"

namespace emlx {

// Blocks of 64 positions (all layers and KV heads of them), counted by reference. Allocated at
// once; nothing grows. Engine thread only.
class KvPool {
 public:
  KvPool(std::size_t block_bytes, int blocks);

  int total() const noexcept { return total_; }
  int free() const noexcept { return static_cast<int>(free_.size()); }
  std::size_t block_bytes() const noexcept { return block_bytes_; }
  std::byte* data(int block) const noexcept {
    return memory_.data() + static_cast<std::size_t>(block) * block_bytes_;
  }
  bool is_shared(int block) const noexcept {
    return references_[static_cast<std::size_t>(block)] > 1;
  }

  // A block with one reference and any content. Throws Error(Busy) if none is free.
  int acquire();
  void retain(int block) noexcept { ++references_[static_cast<std::size_t>(block)]; }
  void release(int block) noexcept;

 private:
  std::size_t block_bytes_;
  int total_;
  HugeBuffer memory_;
  std::vector<int> references_;  // [total]
  std::vector<int> free_;        // a stack: the last block used is the warmest
};

// The positions of one sequence: a list of blocks, of which full ones may be shared. The pool must
// outlive it. Move-only.
class KvSequence {
 public:
  explicit KvSequence(KvPool& pool) noexcept : pool_(&pool) {}
  KvSequence(KvSequence&& other) noexcept;
  KvSequence& operator=(KvSequence&&) = delete;
  ~KvSequence() { clear(); }

  int length() const noexcept { return length_; }
  // [ceil(length / 64)] block addresses, valid until the next change.
  const std::byte* const* blocks() const noexcept { return addresses_.data(); }
  std::byte* block_of(int position) const noexcept {
    return pool_->data(blocks_[static_cast<std::size_t>(position / kKvBlock)]);
  }

  // Free blocks that `tokens` more positions would take.
  int blocks_needed(int tokens) const noexcept;
  // Makes room for them to be written and counts them as fed. Throws Error(Busy) if the pool has
  // too few blocks, and then changes nothing.
  void extend(int tokens);
  void truncate(int length) noexcept;  // 0 <= length <= length()
  // The first `length` positions of `parent`: full blocks are shared, a part of one is copied. This
  // must be empty. Throws Error(Busy) as extend() does.
  void copy_prefix(const KvSequence& parent, int length);

 private:
  // The last block is shared or may be, and the next position falls into it.
  bool must_copy_last() const noexcept;
  void append(int block);
  void clear() noexcept { truncate(0); }

  KvPool* pool_;
  int length_ = 0;
  std::vector<int> blocks_;
  std::vector<const std::byte*> addresses_;
};

}  // namespace emlx
