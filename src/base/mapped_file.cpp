#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace emlx {
namespace {

class FileDescriptor {
 public:
  // O_NONBLOCK: opening a named pipe must not wait for its other end.
  explicit FileDescriptor(const std::filesystem::path& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (fd_ < 0)
      fail(ErrorCode::InvalidFile, "cannot open {}: {}", path.string(), std::strerror(errno));
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { ::close(fd_); }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const FileDescriptor file(path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0)
    fail(ErrorCode::InvalidFile, "cannot read {}: {}", path.string(), std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    fail(ErrorCode::InvalidFile, "expected a regular file, got {}", path.string());
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* mapping = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapping == MAP_FAILED)
    fail(ErrorCode::InvalidFile, "cannot map {}: {}", path.string(), std::strerror(errno));
  data_ = static_cast<const std::byte*>(mapping);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

std::string read_text_file(const std::filesystem::path& path, std::size_t max_bytes) {
  const MappedFile file(path);
  if (file.bytes().size() > max_bytes)
    fail(ErrorCode::InvalidFile, "{} is too large: expected at most {} bytes, got {}",
         path.string(), max_bytes, file.bytes().size());
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace emlx
