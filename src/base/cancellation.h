// A flag one thread raises and another looks at (Apple's libc++ has no std::stop_token).
#pragma once

#include <atomic>
#include <memory>

namespace emlx {

// Copies share the flag. Thread-safe.
class Cancellation {
 public:
  void cancel() const noexcept { flag_->store(true, std::memory_order_relaxed); }
  bool cancelled() const noexcept { return flag_->load(std::memory_order_relaxed); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace emlx
