// A queue between threads that says no when it is full.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace emlx {

// First in, first out, any number of producers and consumers. All members are thread-safe.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  // Takes `item` unless the queue is full or closed; returns whether it was taken.
  [[nodiscard]] bool try_push(T item) {
    {
      std::scoped_lock lock(mutex_);
      if (closed_ || items_.size() >= capacity_) return false;
      items_.push_back(std::move(item));
    }
    not_empty_.notify_one();
    return true;
  }

  // Waits for an item; nullopt once the queue is closed and drained.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [this] { return closed_ || !items_.empty(); });
    return take();
  }

  // An item if one is there now.
  std::optional<T> try_pop() {
    std::scoped_lock lock(mutex_);
    return take();
  }

  // Takes out the items `unwanted(const T&)` accepts, wherever they stand; in order. `unwanted`
  // must not use the queue.
  template <typename Predicate>
  std::vector<T> remove_if(Predicate unwanted) {
    std::scoped_lock lock(mutex_);
    const auto first = std::stable_partition(items_.begin(), items_.end(),
                                             [&](const T& item) { return !unwanted(item); });
    std::vector<T> removed(std::make_move_iterator(first), std::make_move_iterator(items_.end()));
    items_.erase(first, items_.end());
    return removed;
  }

  // No more items are taken; waiting consumers wake. Items already queued can still be popped.
  void close() {
    {
      std::scoped_lock lock(mutex_);
      closed_ = true;
    }
    not_empty_.notify_all();
  }

  std::size_t size() const {
    std::scoped_lock lock(mutex_);
    return items_.size();
  }
  std::size_t capacity() const noexcept { return capacity_; }

 private:
  std::optional<T> take() {  // with mutex_ held
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    return item;
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable not_empty_;
  std::deque<T> items_;  // guarded by mutex_
  bool closed_ = false;  // guarded by mutex_
};

}  // namespace emlx
