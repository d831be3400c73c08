// Attributes, items and slices of values, in the order jinja2's sandbox looks them up.
#pragma once

#include <string_view>
#include <vector>

#include "chat/jinja/runtime.h"

namespace emlx::jinja {

// value.name: a method or attribute first, then the item. Undefined if there is neither, or if it
// would change the value. Fails on an undefined value.
Value get_attribute(Runtime& runtime, const Value& value, std::string_view name);

// value[key]: the item first, then the attribute.
Value get_item(Runtime& runtime, const Value& value, const Value& key);

// value|attr(name): the attribute alone.
Value get_own_attribute(Runtime& runtime, const Value& value, std::string_view name);

// value[start:stop:step]; Missing or None for what is left out.
Value get_slice(Runtime& runtime, const Value& value, const Value& start, const Value& stop,
                const Value& step);

// The `attribute` argument of filters: "a.b.0", a number, or None for the item itself.
class AttributePath {
 public:
  AttributePath(Runtime& runtime, const Value& attribute);
  // `fallback` (unless Missing or None) takes the place of what is undefined on the way.
  Value get(Runtime& runtime, Value item, const Value& fallback = {}) const;

 private:
  std::vector<Value> parts_;
};

}  // namespace emlx::jinja
