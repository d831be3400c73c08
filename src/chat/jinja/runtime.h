// What one rendering owns and may spend: memory, time, nesting.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "chat/jinja/value.h"

namespace emlx::jinja {

// Templates come with model files and are not trusted. These bound what one rendering can do; a
// long real conversation stays far below them.
// Bytes of one text, and of the output:
inline constexpr std::size_t kMaxText = std::size_t{16} << 20;
// Bytes of all values made, needed to the end or not:
inline constexpr std::size_t kMaxMemory = std::size_t{256} << 20;
// Nodes evaluated, items walked, characters mapped, every 16 bytes compared:
inline constexpr std::uint64_t kMaxSteps = 30'000'000;
// Lists within lists:
inline constexpr int kMaxValueDepth = 200;
// Statements and expressions within each other, those of called macros included:
inline constexpr int kMaxCallDepth = 600;

// An iterator of Python's: hands out one value after the other, once.
class Generator {
 public:
  virtual ~Generator() = default;
  virtual bool next(Value& out) = 0;
};

struct NamespaceEntry {
  std::string_view name;
  Value value;
};

// The one thing a template may change: {% set ns.name = value %}.
struct Namespace {
  std::vector<NamespaceEntry> entries;
};

// Owns every value made while rendering, and counts. Nothing is freed before the end, so values
// may point at each other freely, in circles too. One thread, one rendering.
class Runtime {
 public:
  Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  int line = 1;  // of the template, for messages

  // Throws Error(code): "chat template line N: ...".
  template <typename... Args>
  [[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) const {
    throw_error(code, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw_error(ErrorCode::InvalidArgument, fmt::format(format, std::forward<Args>(args)...));
  }

  [[noreturn]] void fail_undefined(const Value& value) const;  // for an Undefined

  // Both throw Error(InvalidArgument) when a limit is passed.
  void step(std::size_t count = 1) {
    steps_ += count;
    if (steps_ > kMaxSteps) fail_steps();
  }
  // Before going over a text, byte by byte or (slower) character by character.
  void read(std::string_view text) { step(text.size() / 16); }
  void walk(std::string_view text) { step(text.size()); }
  void charge(std::size_t bytes) {
    if (bytes > kMaxMemory - memory_) fail_memory();
    memory_ += bytes;
  }

  Value string(std::string_view text);  // a copy
  Value sequence(Kind kind, std::span<const Value> items);
  Value list(std::span<const Value> items) { return sequence(Kind::List, items); }
  Value tuple(std::span<const Value> items) { return sequence(Kind::Tuple, items); }
  Value dict(std::span<const DictEntry> entries);
  Value from_json(const JsonValue& json, int nesting = 0);  // points at the texts of `json`
  Value method(const Value& self, const Builtin* builtin);
  Value new_namespace();
  // `source`: what the generator draws from; a chain of them is bounded like nested lists.
  Value generator(std::unique_ptr<Generator> generator, const Value& source);

  // Keeps an object until the end of the rendering.
  template <typename T, typename... Args>
  T* keep(Args&&... args) {
    charge(sizeof(T));
    auto object = std::make_shared<T>(std::forward<Args>(args)...);
    kept_.push_back(object);
    return object.get();
  }

 private:
  [[noreturn]] void throw_error(ErrorCode code, const std::string& message) const;
  [[noreturn]] void fail_steps() const;
  [[noreturn]] void fail_memory() const;
  int nested_depth(int depth) const;  // depth + 1, checked
  void* allocate(std::size_t bytes);
  template <typename T>
  std::span<const T> copy(std::span<const T> items);

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* free_ = nullptr;
  std::size_t free_bytes_ = 0;
  std::size_t memory_ = 0;
  std::uint64_t steps_ = 0;
  std::deque<std::shared_ptr<void>> kept_;
};

// A text under construction, counted as it grows.
class TextBuilder {
 public:
  explicit TextBuilder(Runtime& runtime) : runtime_(runtime) {}
  TextBuilder& operator<<(std::string_view text) {
    reserve(text.size());
    text_ += text;
    return *this;
  }
  void repeat(std::string_view text, std::int64_t count);  // nothing if count is negative
  std::string_view view() const { return text_; }
  std::string take() { return std::move(text_); }
  Value finish(bool safe = false);  // moves the text into the runtime

 private:
  void reserve(std::size_t bytes);

  Runtime& runtime_;
  std::string text_;
};

// Items of a sequence under construction, counted as it grows.
class ListBuilder {
 public:
  explicit ListBuilder(Runtime& runtime) : runtime_(runtime) {}
  void add(const Value& item) {
    runtime_.charge(sizeof(Value));
    runtime_.step();
    items_.push_back(item);
  }
  std::vector<Value>& items() { return items_; }
  Value finish(Kind kind = Kind::List) { return runtime_.sequence(kind, items_); }

 private:
  Runtime& runtime_;
  std::vector<Value> items_;
};

}  // namespace emlx::jinja
