// The key-value pairs of a GGUF file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/byte_reader.h"

namespace emlx {

enum class GgufType : std::uint32_t {
  UInt8,
  Int8,
  UInt16,
  Int16,
  UInt32,
  Int32,
  Float32,
  Bool,
  String,
  Array,
  UInt64,
  Int64,
  Float64
};

// Checked when read and decoded when asked for: a view into the file's bytes. The getters return
// nullopt if the key is absent and throw Error(InvalidFile), naming file and key, if its value is
// of another kind, does not fit, or is text that is not UTF-8.
class GgufMetadata {
 public:
  // `origin` names the file in messages.
  explicit GgufMetadata(std::string origin) : origin_(std::move(origin)) {}

  // Reads `count` pairs. Throws Error(InvalidFile) for anything malformed, too deep or repeated.
  void read_pairs(ByteReader& reader, std::uint64_t count);

  bool contains(std::string_view key) const { return values_.find(key) != values_.end(); }
  std::optional<std::int64_t> integer(std::string_view key) const;  // any integer type
  std::optional<double> number(std::string_view key) const;         // any integer or float type
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  std::optional<std::vector<std::int64_t>> integers(std::string_view key) const;
  std::optional<std::vector<double>> numbers(std::string_view key) const;
  std::optional<std::vector<std::string>> texts(std::string_view key) const;

  const std::string& origin() const noexcept { return origin_; }

 private:
  struct Value {
    GgufType type;  // of an array: its elements'
    bool array;
    std::uint64_t count;              // elements; 1 if not an array
    std::span<const std::byte> data;  // of all elements; text with its length
  };

  template <typename T, typename DecodeOne>
  std::optional<std::vector<T>> decode(std::string_view key, bool array, const char* expected,
                                       DecodeOne decode_one) const;

  std::string origin_;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace emlx
