#include <algorithm>
#include <cmath>
#include <compare>
#include <vector>

#include "chat/jinja/iteration.h"
#include "chat/jinja/loop_context.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/text_search.h"
#include "chat/jinja/unicode_text.h"

namespace emlx::jinja {
namespace {

// Exact, where converting the integer to a float could round it.
std::partial_ordering compare(std::int64_t left, double right) {
  if (std::isnan(right)) return std::partial_ordering::unordered;
  if (right >= 0x1p63) return std::partial_ordering::less;
  if (right < -0x1p63) return std::partial_ordering::greater;
  const auto whole = static_cast<std::int64_t>(right);
  if (left != whole) return left <=> whole;
  return static_cast<double>(whole) <=> right;
}

std::partial_ordering reversed(std::partial_ordering order) {
  if (std::is_lt(order)) return std::partial_ordering::greater;
  return std::is_gt(order) ? std::partial_ordering::less : order;
}

std::partial_ordering compare_numbers(Runtime& runtime, const Value& left, const Value& right) {
  if (left.is(Kind::BigInt) || right.is(Kind::BigInt)) {
    if (left.kind() == right.kind()) return left.as_big() <=> right.as_big();
    if (left.is(Kind::Float) || right.is(Kind::Float))
      runtime.fail("expected integers of 64 bits to compare with floats, got larger ones");
    return left.is(Kind::BigInt) ? std::partial_ordering::greater : std::partial_ordering::less;
  }
  if (left.is(Kind::Float) && right.is(Kind::Float)) return left.as_float() <=> right.as_float();
  if (right.is(Kind::Float)) return compare(left.as_int(), right.as_float());
  if (left.is(Kind::Float)) return reversed(compare(right.as_int(), left.as_float()));
  return left.as_int() <=> right.as_int();
}

bool equal_items(Runtime& runtime, const Value& left, const Value& right) {
  if (left.items().size() != right.items().size()) return false;
  for (std::size_t i = 0; i < left.items().size(); ++i)
    if (!equals(runtime, left.items()[i], right.items()[i])) return false;
  return true;
}

bool equal_dicts(Runtime& runtime, const Value& left, const Value& right) {
  if (left.entries().size() != right.entries().size()) return false;
  return std::all_of(left.entries().begin(), left.entries().end(), [&](const DictEntry& entry) {
    const Value* const other = find_key(runtime, right, entry.key);
    return other != nullptr && equals(runtime, entry.value, *other);
  });
}

// The index of `key`, or the number of entries.
std::size_t find_entry(Runtime& runtime, std::span<const DictEntry> entries, const Value& key) {
  require_hashable(runtime, key);
  std::size_t index = 0;
  if (key.is_string()) {  // nearly every look-up, so without a call per entry
    runtime.step(entries.size() / 16);
    const auto is_key = [&](const Value& candidate) {
      if (!candidate.is_string() || candidate.text().size() != key.text().size()) return false;
      runtime.read(key.text());
      return candidate.text() == key.text();
    };
    while (index < entries.size() && !is_key(entries[index].key)) ++index;
  } else {
    while (index < entries.size() && !equals(runtime, entries[index].key, key)) ++index;
  }
  return index;
}

// What Python's < or <= says of two values.
bool ordered(Runtime& runtime, const Value& left, const Value& right, bool or_equal) {
  runtime.step();
  if (left.is_number() && right.is_number()) {
    const std::partial_ordering order = compare_numbers(runtime, left, right);
    return std::is_lt(order) || (or_equal && std::is_eq(order));
  }
  if (left.is_string() && right.is_string()) {  // the bytes of UTF-8 sort as the characters do
    runtime.read(left.text());
    return or_equal ? left.text() <= right.text() : left.text() < right.text();
  }
  if (left.kind() == right.kind() && (left.is(Kind::List) || left.is(Kind::Tuple))) {
    const std::size_t common = std::min(left.items().size(), right.items().size());
    for (std::size_t i = 0; i < common; ++i)
      if (!equals(runtime, left.items()[i], right.items()[i]))
        return ordered(runtime, left.items()[i], right.items()[i], or_equal);
    return or_equal ? left.items().size() <= right.items().size()
                    : left.items().size() < right.items().size();
  }
  for (const Value* value : {&left, &right})
    if (value->is(Kind::Undefined)) runtime.fail_undefined(*value);
  runtime.fail("expected values that can be ordered, got {} and {}", type_name(left),
               type_name(right));
}

}  // namespace

bool truthy(const Value& value) {
  switch (value.kind()) {
    case Kind::Missing:
    case Kind::Undefined:
    case Kind::None:
      return false;
    case Kind::Bool:
    case Kind::Int:
    case Kind::BigInt:
      return value.as_int() != 0;
    case Kind::Float:
      return value.as_float() != 0;
    case Kind::String:
      return !value.text().empty();
    case Kind::Dict:
      return !value.entries().empty();
    default:
      return !value.is_sequence() || !value.items().empty();
  }
}

bool equals(Runtime& runtime, const Value& left, const Value& right) {
  runtime.step();
  if (left.is_number() && right.is_number())
    return std::is_eq(compare_numbers(runtime, left, right));
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Kind::String:
      if (left.text().size() != right.text().size()) return false;
      runtime.read(left.text());
      return left.text() == right.text();
    case Kind::List:
    case Kind::Tuple:
    case Kind::Range:
      return equal_items(runtime, left, right);
    case Kind::Dict:
      return equal_dicts(runtime, left, right);
    case Kind::Generator:
      return left.as_generator() == right.as_generator();
    case Kind::Namespace:
      return left.as_namespace() == right.as_namespace();
    case Kind::Loop:
      return left.as_loop() == right.as_loop();
    case Kind::Macro:
      return left.as_macro() == right.as_macro();
    case Kind::Function:
      return left.as_function() == right.as_function();
    case Kind::Keys:
    case Kind::Values:
    case Kind::Items:
    case Kind::Method:
      runtime.fail(ErrorCode::Unsupported, "expected values to compare, got two of type {}",
                   type_name(left));
    default:
      return true;  // None, Undefined
  }
}

bool less(Runtime& runtime, const Value& left, const Value& right) {
  return ordered(runtime, left, right, false);
}

bool less_or_equal(Runtime& runtime, const Value& left, const Value& right) {
  return ordered(runtime, left, right, true);
}

bool contains(Runtime& runtime, const Value& container, const Value& item) {
  if (container.is_string()) {
    if (!item.is_string()) runtime.fail("in: expected a str to look for, got {}", type_name(item));
    return find_text(runtime, container.text(), item.text()) != std::string_view::npos;
  }
  if (container.is(Kind::Dict)) return find_key(runtime, container, item) != nullptr;
  Iterator iterator(runtime, container);
  for (Value candidate; iterator.next(candidate);)
    if (equals(runtime, candidate, item)) return true;
  return false;
}

std::int64_t length(Runtime& runtime, const Value& value) {
  if (value.is_string()) {
    runtime.read(value.text());
    return static_cast<std::int64_t>(character_count(value.text()));
  }
  if (value.is_sequence()) return static_cast<std::int64_t>(value.items().size());
  if (value.is(Kind::Dict)) return static_cast<std::int64_t>(value.entries().size());
  if (value.is(Kind::Undefined)) return 0;
  if (value.is(Kind::Loop)) return value.as_loop()->length();
  runtime.fail("expected something with a length, got {}", type_name(value));
}

void require_hashable(Runtime& runtime, const Value& key) {
  runtime.step();
  if (key.is(Kind::Tuple)) {
    for (const Value& item : key.items()) require_hashable(runtime, item);
  } else if (key.is(Kind::List) || key.is(Kind::Dict) || key.is(Kind::Keys) ||
             key.is(Kind::Items)) {
    runtime.fail("expected a key that can be hashed, got {}", type_name(key));
  }
}

const Value* find_key(Runtime& runtime, const Value& dict, const Value& key) {
  const std::size_t index = find_entry(runtime, dict.entries(), key);
  return index < dict.entries().size() ? &dict.entries()[index].value : nullptr;
}

void set_key(Runtime& runtime, std::vector<DictEntry>& entries, const Value& key,
             const Value& value) {
  const std::size_t index = find_entry(runtime, entries, key);
  if (index < entries.size()) {
    entries[index].value = value;
  } else {
    runtime.charge(sizeof(DictEntry));
    entries.push_back({key, value});
  }
}

std::vector<Value> sorted(Runtime& runtime, const std::vector<Value>& items,
                          const std::vector<Value>& keys, bool reverse) {
  // A merge sort of our own: keys such as NaN have no order, which std::stable_sort may not meet.
  std::vector<std::size_t> order(items.size()), scratch(items.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto precedes = [&](std::size_t a, std::size_t b) {
    return reverse ? less(runtime, keys[b], keys[a]) : less(runtime, keys[a], keys[b]);
  };
  for (std::size_t width = 1; width < order.size(); width *= 2) {
    for (std::size_t start = 0; start < order.size(); start += 2 * width) {
      const std::size_t middle = std::min(start + width, order.size());
      const std::size_t end = std::min(start + 2 * width, order.size());
      std::size_t left = start, right = middle;
      for (std::size_t out = start; out < end; ++out) {
        const bool take_right =
            right < end && (left == middle || precedes(order[right], order[left]));
        scratch[out] = take_right ? order[right++] : order[left++];
      }
    }
    order.swap(scratch);
  }
  std::vector<Value> result;
  result.reserve(items.size());
  for (const std::size_t index : order) result.push_back(items[index]);
  return result;
}

}  // namespace emlx::jinja
