#include "formats/gguf_metadata.h"

#include <limits>

#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace emlx {
namespace {

constexpr std::size_t kMaxKeyBytes = 65535;  // the format's own limit
constexpr int kMaxDepth = 8;                 // arrays in arrays

// Bytes of a value; 0: text and arrays bring their own length.
std::size_t fixed_size(GgufType type) {
  switch (type) {
    case GgufType::UInt8:
    case GgufType::Int8:
    case GgufType::Bool:
      return 1;
    case GgufType::UInt16:
    case GgufType::Int16:
      return 2;
    case GgufType::UInt32:
    case GgufType::Int32:
    case GgufType::Float32:
      return 4;
    case GgufType::UInt64:
    case GgufType::Int64:
    case GgufType::Float64:
      return 8;
    case GgufType::String:
    case GgufType::Array:
      break;
  }
  return 0;
}

GgufType read_type(ByteReader& reader, const std::string& field) {
  const auto type = reader.read<std::uint32_t>(field);
  if (type > static_cast<std::uint32_t>(GgufType::Float64))
    fail(ErrorCode::InvalidFile, "{}: {}: expected a value type of 0 to 12, got {}", reader.what(),
         field, type);
  return static_cast<GgufType>(type);
}

struct ArrayHead {
  GgufType type;
  std::uint64_t count;
};

ArrayHead read_array_head(ByteReader& reader, const std::string& field) {
  const GgufType type = read_type(reader, field);
  const auto count = reader.read<std::uint64_t>(field);
  // Text takes at least its length, an array its head.
  const std::size_t least = type == GgufType::String  ? 8
                            : type == GgufType::Array ? 12
                                                      : fixed_size(type);
  if (count > reader.remaining() / least)
    fail(ErrorCode::InvalidFile, "{}: {}: expected {} elements, got a file that has {} bytes left",
         reader.what(), field, count, reader.remaining());
  return {type, count};
}

void skip_values(ByteReader& reader, GgufType type, std::uint64_t count, int depth,
                 const std::string& field) {
  if (const std::size_t size = fixed_size(type)) {
    const auto bytes = reader.take(count * size, field);
    if (type != GgufType::Bool) return;
    for (const std::byte value : bytes)
      if (value > std::byte{1})
        fail(ErrorCode::InvalidFile, "{}: {}: expected a bool of 0 or 1, got {}", reader.what(),
             field, static_cast<int>(value));
    return;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    if (type == GgufType::String) {
      reader.read_text(field);
    } else {
      if (depth == kMaxDepth)
        fail(ErrorCode::InvalidFile, "{}: {}: expected at most {} arrays in arrays", reader.what(),
             field, kMaxDepth);
      const ArrayHead head = read_array_head(reader, field);
      skip_values(reader, head.type, head.count, depth + 1, field);
    }
  }
}

[[noreturn]] void fail_kind(const std::string& origin, std::string_view key, const char* expected) {
  fail(ErrorCode::InvalidFile, "{}: {}: expected {}", origin, quote(key), expected);
}

std::optional<std::int64_t> decode_integer(GgufType type, ByteReader& reader) {
  switch (type) {
    case GgufType::UInt8:
      return reader.read<std::uint8_t>("value");
    case GgufType::Int8:
      return reader.read<std::int8_t>("value");
    case GgufType::UInt16:
      return reader.read<std::uint16_t>("value");
    case GgufType::Int16:
      return reader.read<std::int16_t>("value");
    case GgufType::UInt32:
      return reader.read<std::uint32_t>("value");
    case GgufType::Int32:
      return reader.read<std::int32_t>("value");
    case GgufType::Int64:
      return reader.read<std::int64_t>("value");
    case GgufType::UInt64: {
      const auto value = reader.read<std::uint64_t>("value");
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return std::nullopt;
      return static_cast<std::int64_t>(value);
    }
    default:
      return std::nullopt;
  }
}

std::optional<double> decode_number(GgufType type, ByteReader& reader) {
  if (type == GgufType::Float32) return reader.read<float>("value");
  if (type == GgufType::Float64) return reader.read<double>("value");
  if (const auto value = decode_integer(type, reader)) return static_cast<double>(*value);
  return std::nullopt;
}

std::optional<std::string> decode_text(GgufType type, ByteReader& reader) {
  if (type != GgufType::String) return std::nullopt;
  const std::string_view text = reader.read_text("value");
  if (!is_valid_utf8(text)) return std::nullopt;
  return std::string(text);
}

template <typename T>
std::optional<T> first(std::optional<std::vector<T>> values) {
  if (!values) return std::nullopt;
  return std::move(values->front());
}

}  // namespace

void GgufMetadata::read_pairs(ByteReader& reader, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string key(reader.read_text("metadata key"));
    if (key.empty() || key.size() > kMaxKeyBytes || !is_valid_utf8(key))
      fail(ErrorCode::InvalidFile, "{}: expected a metadata key of 1 to {} bytes of UTF-8, got {}",
           origin_, kMaxKeyBytes, quote(key));
    const std::string field = quote(key);
    Value value{.type = read_type(reader, field), .array = false, .count = 1, .data = {}};
    if (value.type == GgufType::Array) {
      const ArrayHead head = read_array_head(reader, field);
      value = {.type = head.type, .array = true, .count = head.count, .data = {}};
    }
    ByteReader start = reader;
    skip_values(reader, value.type, value.count, 1, field);
    value.data = start.take(reader.position() - start.position(), field);
    if (!values_.emplace(key, value).second)
      fail(ErrorCode::InvalidFile, "{}: expected every metadata key once, got {} again", origin_,
           field);
  }
}

// `decode_one(type, reader)` returns nullopt for a value it does not take. Not an array: one value.
template <typename T, typename DecodeOne>
std::optional<std::vector<T>> GgufMetadata::decode(std::string_view key, bool array,
                                                   const char* expected,
                                                   DecodeOne decode_one) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  const Value& value = found->second;
  if (value.array != array) fail_kind(origin_, key, expected);
  std::vector<T> values;
  ByteReader reader(value.data, origin_);
  for (std::uint64_t i = 0; i < value.count; ++i) {
    auto one = decode_one(value.type, reader);
    if (!one) fail_kind(origin_, key, expected);
    values.push_back(std::move(*one));
  }
  return values;
}

std::optional<std::int64_t> GgufMetadata::integer(std::string_view key) const {
  return first(decode<std::int64_t>(key, false, "an integer of 63 bits", decode_integer));
}

std::optional<double> GgufMetadata::number(std::string_view key) const {
  return first(decode<double>(key, false, "a number", decode_number));
}

std::optional<bool> GgufMetadata::boolean(std::string_view key) const {
  const auto values = decode<std::uint8_t>(
      key, false, "a bool", [](GgufType type, ByteReader& reader) -> std::optional<std::uint8_t> {
        if (type != GgufType::Bool) return std::nullopt;
        return reader.read<std::uint8_t>("value");
      });
  if (!values) return std::nullopt;
  return values->front() != 0;
}

std::optional<std::string> GgufMetadata::text(std::string_view key) const {
  return first(decode<std::string>(key, false, "UTF-8 text", decode_text));
}

std::optional<std::vector<std::int64_t>> GgufMetadata::integers(std::string_view key) const {
  return decode<std::int64_t>(key, true, "a list of integers of 63 bits", decode_integer);
}

std::optional<std::vector<double>> GgufMetadata::numbers(std::string_view key) const {
  return decode<double>(key, true, "a list of numbers", decode_number);
}

std::optional<std::vector<std::string>> GgufMetadata::texts(std::string_view key) const {
  return decode<std::string>(key, true, "a list of UTF-8 texts", decode_text);
}

}  // namespace emlx
