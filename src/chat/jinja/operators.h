// Python's operators on values. All fail, as Python does, on types an operator has no meaning for;
// integers are 64 bits wide and fail where Python's would grow beyond.
#pragma once

#include <cstdint>

#include "chat/jinja/runtime.h"

namespace emlx::jinja {

enum class Arithmetic : std::uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  Power
};

Value calculate(Runtime& runtime, Arithmetic operation, const Value& left, const Value& right);
Value negate(Runtime& runtime, const Value& value);
Value plus(Runtime& runtime, const Value& value);

bool truthy(const Value& value);
bool equals(Runtime& runtime, const Value& left, const Value& right);
bool less(Runtime& runtime, const Value& left, const Value& right);
bool less_or_equal(Runtime& runtime, const Value& left, const Value& right);
bool contains(Runtime& runtime, const Value& container, const Value& item);
std::int64_t length(Runtime& runtime, const Value& value);  // Python's len()

// The value of `key`, or null. Fails on a key that cannot be hashed.
const Value* find_key(Runtime& runtime, const Value& dict, const Value& key);
void require_hashable(Runtime& runtime, const Value& key);

// Python's sorted(): stable, only asks `less`. `keys[i]` belongs to `items[i]`.
std::vector<Value> sorted(Runtime& runtime, const std::vector<Value>& items,
                          const std::vector<Value>& keys, bool reverse);

// Adds or replaces, as d[key] = value does.
void set_key(Runtime& runtime, std::vector<DictEntry>& entries, const Value& key,
             const Value& value);

}  // namespace emlx::jinja
