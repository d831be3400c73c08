// The `loop` of a for statement.
#pragma once

#include <optional>
#include <vector>

#include "chat/jinja/iteration.h"

namespace emlx::jinja {

// Steps through the items of a loop and answers what a template asks about it. Looks ahead only
// when asked, because the items may depend on what the body changes.
class LoopContext {
 public:
  LoopContext(Runtime& runtime, const Value& items);

  bool advance(Value& item);

  // loop.first, loop.index0, ... ; Missing if a loop has no such attribute. Methods too.
  Value attribute(std::string_view name);

  std::int64_t length();
  std::int64_t index0() const { return index0_; }
  // Whether the values differ from those of the call before.
  bool changed(std::span<const Value> values);

 private:
  bool peek();

  Runtime& runtime_;
  Iterator iterator_;
  std::optional<std::int64_t> length_;
  std::int64_t index0_ = -1;
  Value previous_, current_;
  std::optional<Value> ahead_;  // the next item, once looked at
  std::optional<std::vector<Value>> last_values_;
};

}  // namespace emlx::jinja
