#include "chat/jinja/runtime.h"

#include <algorithm>
#include <cstring>

#include "base/quote.h"

namespace emlx::jinja {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{32} << 10;
constexpr std::size_t kAlignment = alignof(std::max_align_t);

}  // namespace

void Runtime::throw_error(ErrorCode code, const std::string& message) const {
  throw Error(code, fmt::format("chat template line {}: {}", line, message));
}

void Runtime::fail_undefined(const Value& value) const {
  fail("expected a value, got undefined {}", quote(value.text()));
}

void Runtime::fail_steps() const {
  fail("expected at most {} steps, got more", kMaxSteps);
}

void Runtime::fail_memory() const {
  fail("expected at most {} bytes of values, got more", kMaxMemory);
}

int Runtime::nested_depth(int depth) const {
  if (depth >= kMaxValueDepth)
    fail("expected values nested at most {} deep, got more", kMaxValueDepth);
  return depth + 1;
}

void* Runtime::allocate(std::size_t bytes) {
  charge(bytes);
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (bytes > kBlockBytes / 4) {  // a block of its own
    blocks_.push_back(std::make_unique<std::byte[]>(bytes));
    return blocks_.back().get();
  }
  if (bytes > free_bytes_) {
    blocks_.push_back(std::make_unique<std::byte[]>(kBlockBytes));
    free_ = blocks_.back().get();
    free_bytes_ = kBlockBytes;
  }
  std::byte* const start = free_;
  free_ += bytes;
  free_bytes_ -= bytes;
  return start;
}

template <typename T>
std::span<const T> Runtime::copy(std::span<const T> items) {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kAlignment);
  if (items.empty()) return {};
  void* const memory = allocate(items.size_bytes());
  std::memcpy(memory, items.data(), items.size_bytes());
  return {static_cast<const T*>(memory), items.size()};
}

Value Runtime::string(std::string_view text) {
  if (text.size() > kMaxText)
    fail("expected a text of at most {} bytes, got {}", kMaxText, text.size());
  const std::span<const char> bytes = copy(std::span<const char>(text));
  return Value::string({bytes.data(), bytes.size()});
}

Value Runtime::sequence(Kind kind, std::span<const Value> items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  depth = nested_depth(depth);
  return Value::sequence(kind, copy(items), depth);
}

Value Runtime::dict(std::span<const DictEntry> entries) {
  int depth = 0;
  for (const DictEntry& entry : entries)
    depth = std::max({depth, entry.key.depth(), entry.value.depth()});
  depth = nested_depth(depth);
  return Value::dict(copy(entries), depth);
}

Value Runtime::from_json(const JsonValue& json, int nesting) {
  nesting = nested_depth(nesting);
  switch (json.kind()) {
    case boost::json::kind::null:
      return Value::none();
    case boost::json::kind::bool_:
      return Value::boolean(json.get_bool());
    case boost::json::kind::int64:
      return Value::integer(json.get_int64());
    case boost::json::kind::uint64:
      return Value::big_integer(json.get_uint64());
    case boost::json::kind::double_:
      return Value::real(json.get_double());
    case boost::json::kind::string: {
      const boost::json::string& text = json.get_string();
      if (text.size() > kMaxText)
        fail("expected a text of at most {} bytes, got {}", kMaxText, text.size());
      return Value::string({text.data(), text.size()});
    }
    case boost::json::kind::array: {
      std::vector<Value> items;
      items.reserve(json.get_array().size());
      for (const JsonValue& item : json.get_array()) items.push_back(from_json(item, nesting));
      return list(items);
    }
    case boost::json::kind::object: {
      std::vector<DictEntry> entries;
      entries.reserve(json.get_object().size());
      for (const auto& member : json.get_object())
        entries.push_back({Value::string({member.key().data(), member.key().size()}),
                           from_json(member.value(), nesting)});
      return dict(entries);
    }
  }
  return Value::none();
}

Value Runtime::method(const Value& self, const Builtin* builtin) {
  const BoundMethod bound{self, builtin};
  return Value::method(copy(std::span<const BoundMethod>(&bound, 1)).data());
}

Value Runtime::new_namespace() {
  return Value::name_space(keep<Namespace>());
}

Value Runtime::generator(std::unique_ptr<Generator> generator, const Value& source) {
  const int depth = nested_depth(source.depth());
  charge(128);  // about what one of them takes
  kept_.push_back(std::shared_ptr<Generator>(std::move(generator)));
  return Value::generator(static_cast<Generator*>(kept_.back().get()), depth);
}

void TextBuilder::reserve(std::size_t bytes) {
  if (bytes > kMaxText - text_.size())
    runtime_.fail("expected a text of at most {} bytes, got more", kMaxText);
  runtime_.charge(bytes);
}

void TextBuilder::repeat(std::string_view text, std::int64_t count) {
  if (count <= 0 || text.empty()) return;
  if (static_cast<std::uint64_t>(count) > kMaxText / text.size())
    runtime_.fail("expected a text of at most {} bytes, got more", kMaxText);
  reserve(text.size() * static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) text_ += text;
}

Value TextBuilder::finish(bool safe) {
  if (text_.size() < 256) {  // cheaper copied among its like than kept as an object
    Value copy = runtime_.string(text_);
    return Value::string(copy.text(), safe);
  }
  if (text_.capacity() - text_.size() > text_.size() / 4) text_.shrink_to_fit();
  const std::string* const kept = runtime_.keep<std::string>(std::move(text_));
  return Value::string(*kept, safe);
}

}  // namespace emlx::jinja
