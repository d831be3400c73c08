#include "chat/jinja/loop_context.h"

#include "chat/jinja/builtins.h"
#include "chat/jinja/operators.h"

namespace emlx::jinja {
namespace {

Value cycle(Runtime& runtime, const Value& self, const Arguments& arguments) {
  if (arguments.positional.empty())
    runtime.fail("loop.cycle: expected at least one value, got none");
  const std::int64_t index0 = std::max<std::int64_t>(self.as_loop()->index0(), 0);
  return arguments.positional[static_cast<std::size_t>(index0) % arguments.positional.size()];
}

Value changed(Runtime&, const Value& self, const Arguments& arguments) {
  return Value::boolean(self.as_loop()->changed(arguments.positional));
}

constexpr Builtin kMethods[] = {{"cycle", "*", cycle}, {"changed", "*", changed}};

}  // namespace

LoopContext::LoopContext(Runtime& runtime, const Value& items)
    : runtime_(runtime), iterator_(runtime, items) {
  if (!items.is(Kind::Generator)) length_ = emlx::jinja::length(runtime, items);
}

bool LoopContext::peek() {
  if (!ahead_) {
    Value item;
    if (!iterator_.next(item)) return false;
    ahead_ = item;
  }
  return true;
}

bool LoopContext::advance(Value& item) {
  if (!peek()) return false;
  item = *ahead_;
  ahead_.reset();
  ++index0_;
  previous_ = current_;
  current_ = item;
  return true;
}

std::int64_t LoopContext::length() {
  if (!length_) {  // a generator: walk to its end, then go on with what it gave
    ListBuilder rest(runtime_);
    for (Value item; iterator_.next(item);) rest.add(item);
    length_ = index0_ + 1 + (ahead_ ? 1 : 0) + static_cast<std::int64_t>(rest.items().size());
    iterator_ = Iterator(runtime_, rest.finish());
  }
  return *length_;
}

bool LoopContext::changed(std::span<const Value> values) {
  bool same = last_values_ && last_values_->size() == values.size();
  for (std::size_t i = 0; same && i < values.size(); ++i)
    same = equals(runtime_, (*last_values_)[i], values[i]);
  if (!same) last_values_.emplace(values.begin(), values.end());
  return !same;
}

Value LoopContext::attribute(std::string_view name) {
  if (name == "index0") return Value::integer(index0_);
  if (name == "index") return Value::integer(index0_ + 1);
  if (name == "first") return Value::boolean(index0_ == 0);
  if (name == "last") return Value::boolean(!peek());
  if (name == "length") return Value::integer(length());
  if (name == "revindex0") return Value::integer(length() - index0_ - 1);
  if (name == "revindex") return Value::integer(length() - index0_);
  if (name == "depth0") return Value::integer(0);
  if (name == "depth") return Value::integer(1);
  if (name == "previtem") return index0_ == 0 ? Value::undefined("loop.previtem") : previous_;
  if (name == "nextitem") return peek() ? *ahead_ : Value::undefined("loop.nextitem");
  const Builtin* const method = find_in(kMethods, name);
  return method == nullptr ? Value() : runtime_.method(Value::loop(this), method);
}

}  // namespace emlx::jinja
