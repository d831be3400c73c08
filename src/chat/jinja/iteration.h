// Walking over values as Python's iter() does.
#pragma once

#include <cstddef>
#include <vector>

#include "chat/jinja/runtime.h"

namespace emlx::jinja {

// Hands out the items of a list, the characters of a text, the keys of a dict, ...
class Iterator {
 public:
  // Fails if `source` is nothing to iterate over.
  Iterator(Runtime& runtime, const Value& source);
  bool next(Value& out);

 private:
  Runtime* runtime_;
  Value source_;
  std::size_t at_ = 0;  // of a text: the byte offset
};

bool is_iterable(const Value& value);
std::vector<Value> collect(Runtime& runtime, const Value& source);

// A generator over items that lie ready, drawn from `source`.
Value generator_over(Runtime& runtime, std::vector<Value> items, const Value& source);

// The items in reverse order; fails where Python's reversed() does.
std::vector<Value> reversed(Runtime& runtime, const Value& source);

}  // namespace emlx::jinja
