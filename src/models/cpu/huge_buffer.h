// Large zeroed memory straight from the system.
#pragma once

#include <cstddef>

namespace emlx {

// `size` zero bytes, aligned to a page at least and on huge pages where the system grants them.
// Pages count as used only once written. Move-only. Throws Error(Busy) if the system refuses.
class HugeBuffer {
 public:
  HugeBuffer() = default;
  explicit HugeBuffer(std::size_t size);
  HugeBuffer(HugeBuffer&& other) noexcept;
  HugeBuffer& operator=(HugeBuffer&& other) noexcept;
  HugeBuffer(const HugeBuffer&) = delete;
  HugeBuffer& operator=(const HugeBuffer&) = delete;
  ~HugeBuffer();

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

  template <typename Element>
  Element* as() const noexcept {
    return reinterpret_cast<Element*>(data_);
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Memory this process may still take: what the system calls available, within a container's limit.
// 0 if it cannot be told.
std::size_t available_memory();

}  // namespace emlx
