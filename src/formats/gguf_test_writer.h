// Builds small GGUF files for tests, also wrong ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf_metadata.h"

namespace emlx {

class GgufTestWriter {
 public:
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;  // used for placing; write general.alignment yourself

  GgufTestWriter& text(std::string_view key, std::string_view value) {
    return raw(key, GgufType::String, text_bytes(value));
  }
  GgufTestWriter& u32(std::string_view key, std::uint32_t value) {
    return raw(key, GgufType::UInt32, bytes(value));
  }
  GgufTestWriter& f32(std::string_view key, float value) {
    return raw(key, GgufType::Float32, bytes(value));
  }
  GgufTestWriter& boolean(std::string_view key, bool value) {
    return raw(key, GgufType::Bool, bytes<std::uint8_t>(value ? 1 : 0));
  }
  GgufTestWriter& texts(std::string_view key, const std::vector<std::string>& values) {
    std::string all;
    for (const std::string& value : values) all += text_bytes(value);
    return array(key, GgufType::String, values.size(), all);
  }
  template <typename T>
  GgufTestWriter& numbers(std::string_view key, GgufType type, const std::vector<T>& values) {
    std::string all;
    for (const T value : values) all += bytes(value);
    return array(key, type, values.size(), all);
  }
  GgufTestWriter& array(std::string_view key, GgufType type, std::uint64_t count,
                        std::string_view elements) {
    return raw(key, GgufType::Array, array_bytes(type, count, elements));
  }
  // A pair whose value is `value`'s bytes.
  GgufTestWriter& raw(std::string_view key, GgufType type, std::string_view value) {
    pairs_ += text_bytes(key) + bytes(static_cast<std::uint32_t>(type)) + std::string(value);
    ++pair_count_;
    return *this;
  }

  // `axes` innermost first, as in the file.
  GgufTestWriter& tensor(std::string_view name, const std::vector<std::uint64_t>& axes,
                         std::uint32_t ggml_type, std::string_view data) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
    tensor_at(name, axes, ggml_type, data_.size());
    data_ += data;
    return *this;
  }
  // An info alone, pointing at `offset`.
  GgufTestWriter& tensor_at(std::string_view name, const std::vector<std::uint64_t>& axes,
                            std::uint32_t ggml_type, std::uint64_t offset) {
    infos_ += text_bytes(name) + bytes(static_cast<std::uint32_t>(axes.size()));
    for (const std::uint64_t axis : axes) infos_ += bytes(axis);
    infos_ += bytes(ggml_type) + bytes(offset);
    ++tensor_count_;
    return *this;
  }

  std::string file() const {
    std::string out =
        "GGUF" + bytes(version) + bytes(tensor_count_) + bytes(pair_count_) + pairs_ + infos_;
    out.resize((out.size() + alignment - 1) / alignment * alignment);
    return out + data_;
  }

  template <typename T>
  static std::string bytes(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
  static std::string text_bytes(std::string_view text) {
    return bytes<std::uint64_t>(text.size()) + std::string(text);
  }
  static std::string array_bytes(GgufType type, std::uint64_t count, std::string_view elements) {
    return bytes(static_cast<std::uint32_t>(type)) + bytes(count) + std::string(elements);
  }

 private:
  std::uint64_t pair_count_ = 0, tensor_count_ = 0;
  std::string pairs_, infos_, data_;
};

}  // namespace emlx
