#include "formats/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace emlx {

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path), part_(path) {
  part_ += ".part";
  fd_ = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd_ < 0) fail_system("create");
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(part_.c_str());
}

void AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_system("write");
    offset += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (::fsync(fd_) != 0) fail_system("write");
  if (::rename(part_.c_str(), path_.c_str()) != 0) fail_system("name");
  ::close(fd_);
  fd_ = -1;
  sync_folder();
}

// The name is in the folder, which is a file of its own.
void AtomicFile::sync_folder() const {
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // EINVAL: a file system that syncs no folders.
  const bool failed = fd < 0 || (::fsync(fd) != 0 && errno != EINVAL);
  const int reason = errno;
  if (fd >= 0) ::close(fd);
  errno = reason;
  if (failed) fail_system("sync the folder of");
}

void AtomicFile::fail_system(const char* action) const {
  fail(ErrorCode::InvalidFile, "cannot {} {}: {}", action, path_.string(), std::strerror(errno));
}

void write_text_file(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write_at(0, std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace emlx
