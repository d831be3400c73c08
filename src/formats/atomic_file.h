// Files that appear whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace emlx {

// Writes to "PATH.part", which commit() renames to PATH (replacing a file of that name). Throws
// Error(InvalidFile), naming the file, for whatever the system refuses.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  // Drops the file unless it was committed.
  ~AtomicFile();

  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  // Makes the file durable, and then its name; nothing may be written afterwards.
  void commit();

 private:
  void sync_folder() const;
  [[noreturn]] void fail_system(const char* action) const;

  std::filesystem::path path_, part_;
  int fd_ = -1;
};

// The whole of a text file at once.
void write_text_file(const std::filesystem::path& path, std::string_view text);

}  // namespace emlx
