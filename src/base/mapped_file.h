// Read-only files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace emlx {

// A regular file mapped read-only into memory; the mapping lives as long as the object. Move-only.
// The file must not be shortened while mapped (the system would answer a read past its new end with
// SIGBUS).
class MappedFile {
 public:
  // Throws Error(InvalidFile) if `path` is not a readable regular file; never blocks on a pipe or
  // device.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  // All bytes of the file; empty for an empty file. Page-aligned.
  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Reads a whole text file of at most `max_bytes`. Throws Error(InvalidFile) if it is missing, not
// regular or larger.
std::string read_text_file(const std::filesystem::path& path, std::size_t max_bytes);

}  // namespace emlx
