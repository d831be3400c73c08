#include "models/cpu/huge_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <utility>

#include "base/error.h"

#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace emlx {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

#if defined(__linux__)
using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// The number behind `format` in the first line of a file that has it.
std::size_t read_number(const char* path, const char* format, std::size_t otherwise) {
  const File file(std::fopen(path, "re"), &std::fclose);
  if (!file) return otherwise;
  char line[256];
  unsigned long long number = 0;
  while (std::fgets(line, sizeof line, file.get()) != nullptr)
    if (std::sscanf(line, format, &number) == 1) return static_cast<std::size_t>(number);
  return otherwise;
}
#endif

}  // namespace

HugeBuffer::HugeBuffer(std::size_t size) {
  if (size == 0) return;
  if (size > std::numeric_limits<std::size_t>::max() - kHugePage)
    fail(ErrorCode::Busy, "expected to get {} bytes of memory", size);
  const std::size_t rounded = (size + kHugePage - 1) / kHugePage * kHugePage;
  void* const mapped =
      ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    fail(ErrorCode::Busy, "expected to get {:.1f} MB of memory, the system refused",
         static_cast<double>(rounded) / 1e6);
  data_ = static_cast<std::byte*>(mapped);
  size_ = rounded;
#if defined(__linux__)
  ::madvise(mapped, rounded, MADV_HUGEPAGE);
#endif
}

HugeBuffer::HugeBuffer(HugeBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

HugeBuffer& HugeBuffer::operator=(HugeBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

HugeBuffer::~HugeBuffer() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

std::size_t available_memory() {
#if defined(__linux__)
  constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
  const std::size_t system =
      read_number("/proc/meminfo", "MemAvailable: %llu kB", kUnlimited / 1024) * 1024;
  const std::size_t limit = read_number("/sys/fs/cgroup/memory.max", "%llu", kUnlimited);
  // What files have in memory is counted as used, but given up when it is needed.
  const std::size_t files = read_number("/sys/fs/cgroup/memory.stat", "inactive_file %llu", 0);
  const std::size_t current = read_number("/sys/fs/cgroup/memory.current", "%llu", 0);
  const std::size_t used = current - std::min(current, files);
  const std::size_t container = limit == kUnlimited ? limit : limit - std::min(limit, used);
  const std::size_t available = std::min(system, container);
  return available >= kUnlimited / 1024 * 1024 ? 0 : available;
#elif defined(__APPLE__)
  std::uint64_t bytes = 0;
  std::size_t size = sizeof bytes;
  return ::sysctlbyname("hw.memsize", &bytes, &size, nullptr, 0) == 0 ? bytes : 0;
#else
  return 0;
#endif
}

}  // namespace emlx
