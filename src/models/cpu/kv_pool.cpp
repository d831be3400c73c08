#include "models/cpu/kv_pool.h"

#include <cstring>
#include <utility>

#include "base/error.h"

namespace emlx {
namespace {

int blocks_for(int positions) {
  return (positions + kKvBlock - 1) / kKvBlock;
}

}  // namespace

KvPool::KvPool(std::size_t block_bytes, int blocks)
    : block_bytes_(block_bytes),
      total_(blocks),
      memory_(block_bytes * static_cast<std::size_t>(blocks)),
      references_(static_cast<std::size_t>(blocks), 0) {
  free_.reserve(static_cast<std::size_t>(blocks));
  for (int block = blocks; block-- > 0;) free_.push_back(block);
}

int KvPool::acquire() {
  if (free_.empty()) fail(ErrorCode::Busy, "all {} KV blocks are in use", total_);
  const int block = free_.back();
  free_.pop_back();
  references_[static_cast<std::size_t>(block)] = 1;
  return block;
}

void KvPool::release(int block) noexcept {
  if (--references_[static_cast<std::size_t>(block)] == 0) free_.push_back(block);
}

KvSequence::KvSequence(KvSequence&& other) noexcept
    : pool_(other.pool_),
      length_(std::exchange(other.length_, 0)),
      blocks_(std::exchange(other.blocks_, {})),
      addresses_(std::exchange(other.addresses_, {})) {}

bool KvSequence::must_copy_last() const noexcept {
  return length_ % kKvBlock != 0 && pool_->is_shared(blocks_.back());
}

int KvSequence::blocks_needed(int tokens) const noexcept {
  const int more = blocks_for(length_ + tokens) - static_cast<int>(blocks_.size());
  return more + (tokens > 0 && must_copy_last() ? 1 : 0);
}

void KvSequence::append(int block) {
  blocks_.push_back(block);
  addresses_.push_back(pool_->data(block));
}

void KvSequence::extend(int tokens) {
  const int needed = blocks_needed(tokens);
  if (needed > pool_->free())
    fail(ErrorCode::Busy, "{} more positions need {} KV blocks of 64, {} of {} are free", tokens,
         needed, pool_->free(), pool_->total());
  if (tokens > 0 && must_copy_last()) {
    const int copy = pool_->acquire();
    std::memcpy(pool_->data(copy), pool_->data(blocks_.back()), pool_->block_bytes());
    pool_->release(blocks_.back());
    blocks_.pop_back();
    addresses_.pop_back();
    append(copy);
  }
  length_ += tokens;
  while (static_cast<int>(blocks_.size()) < blocks_for(length_)) append(pool_->acquire());
}

void KvSequence::truncate(int length) noexcept {
  length_ = length;
  while (static_cast<int>(blocks_.size()) > blocks_for(length)) {
    pool_->release(blocks_.back());
    blocks_.pop_back();
    addresses_.pop_back();
  }
}

void KvSequence::copy_prefix(const KvSequence& parent, int length) {
  const int full = length / kKvBlock;
  if (length % kKvBlock != 0 && pool_->free() == 0)
    fail(ErrorCode::Busy, "all {} KV blocks are in use", pool_->total());
  for (int i = 0; i < full; ++i) {
    const int block = parent.blocks_[static_cast<std::size_t>(i)];
    pool_->retain(block);
    append(block);
  }
  if (length % kKvBlock != 0) {
    append(pool_->acquire());
    std::memcpy(pool_->data(blocks_.back()), parent.addresses_[static_cast<std::size_t>(full)],
                pool_->block_bytes());
  }
  length_ = length;
}

}  // namespace emlx
