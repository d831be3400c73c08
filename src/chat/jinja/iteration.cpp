#include "chat/jinja/iteration.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/utf8.h"

namespace emlx::jinja {
namespace {

class ItemsGenerator final : public Generator {
 public:
  explicit ItemsGenerator(std::vector<Value> items) : items_(std::move(items)) {}
  bool next(Value& out) override {
    if (at_ == items_.size()) return false;
    out = items_[at_++];
    return true;
  }

 private:
  std::vector<Value> items_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_iterable(const Value& value) {
  return value.is_sequence() || value.is_string() || value.is(Kind::Dict) ||
         value.is(Kind::Generator) || value.is(Kind::Undefined);
}

Iterator::Iterator(Runtime& runtime, const Value& source) : runtime_(&runtime), source_(source) {
  if (!is_iterable(source))
    runtime.fail("expected something to iterate over, got {}", type_name(source));
}

bool Iterator::next(Value& out) {
  runtime_->step();
  switch (source_.kind()) {
    case Kind::Undefined:
      return false;
    case Kind::String: {
      const std::string_view rest = source_.text().substr(at_);
      if (rest.empty()) return false;
      const auto length = static_cast<std::size_t>(decode_utf8(rest).length);
      out = Value::string(rest.substr(0, length));
      at_ += length;
      return true;
    }
    case Kind::Dict:
      if (at_ == source_.entries().size()) return false;
      out = source_.entries()[at_++].key;
      return true;
    case Kind::Generator:
      return source_.as_generator()->next(out);
    default:
      if (at_ == source_.items().size()) return false;
      out = source_.items()[at_++];
      return true;
  }
}

std::vector<Value> collect(Runtime& runtime, const Value& source) {
  ListBuilder list(runtime);
  Iterator iterator(runtime, source);
  for (Value item; iterator.next(item);) list.add(item);
  return std::move(list.items());
}

Value generator_over(Runtime& runtime, std::vector<Value> items, const Value& source) {
  return runtime.generator(std::make_unique<ItemsGenerator>(std::move(items)), source);
}

std::vector<Value> reversed(Runtime& runtime, const Value& source) {
  if (source.is(Kind::Generator) || !is_iterable(source))
    runtime.fail("expected a sequence to reverse, got {}", type_name(source));
  std::vector<Value> items = collect(runtime, source);
  std::reverse(items.begin(), items.end());
  return items;
}

}  // namespace emlx::jinja
