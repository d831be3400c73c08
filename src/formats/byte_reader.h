// Reads little-endian values from foreign bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace emlx {

// Every read is checked against the end: Error(InvalidFile) "what: expected N bytes of FIELD at
// byte P, got M".
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string what)
      : bytes_(bytes), what_(std::move(what)) {}

  template <typename T>
  T read(std::string_view field) {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    std::memcpy(&value, take(sizeof(T), field).data(), sizeof(T));
    return value;
  }

  std::span<const std::byte> take(std::uint64_t count, std::string_view field) {
    if (count > remaining())
      fail(ErrorCode::InvalidFile, "{}: expected {} bytes of {} at byte {}, got {}", what_, count,
           field, position_, remaining());
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    return taken;
  }

  // Bytes with their 64-bit length in front.
  std::string_view read_text(std::string_view field) {
    const auto bytes = take(read<std::uint64_t>(field), field);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  std::size_t position() const noexcept { return position_; }
  std::size_t remaining() const noexcept { return bytes_.size() - position_; }
  const std::string& what() const noexcept { return what_; }

 private:
  std::span<const std::byte> bytes_;
  std::string what_;
  std::size_t position_ = 0;
};

}  // namespace emlx
