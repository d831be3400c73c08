#include "chat/jinja/access.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "base/utf8.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/loop_context.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/text_form.h"
#include "chat/jinja/unicode_text.h"

namespace emlx::jinja {
namespace {

bool is_one_of(std::initializer_list<std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Value text_attribute(Runtime& runtime, const Value& value, std::string_view name) {
  const Builtin* const method = find_text_method(name);
  const bool unsupported = is_unsupported_text_method(name);
  if (unsupported || (method != nullptr && value.is_safe()))
    runtime.fail(ErrorCode::Unsupported, "expected another method of {}, got {}",
                 value.is_safe() ? "a text marked safe" : "str", name);
  return method == nullptr ? Value() : runtime.method(value, method);
}

// Methods that change a dict: jinja2's sandbox hides them, and an item of that name with them.
// Those of a list are as good as hidden, as it has no items with names.
bool changes_dict(const Value& value, std::string_view name) {
  return value.is(Kind::Dict) &&
         is_one_of({"clear", "pop", "popitem", "setdefault", "update"}, name);
}

// Python has these attributes, but this subset does not: an error, not a missing attribute.
void refuse_attribute(Runtime& runtime, const Value& value, std::string_view name,
                      std::initializer_list<std::string_view> refused) {
  if (is_one_of(refused, name))
    runtime.fail(ErrorCode::Unsupported, "expected another attribute of {}, got {}",
                 type_name(value), name);
}

// The attribute or method, or Missing.
Value find_attribute(Runtime& runtime, const Value& value, std::string_view name) {
  if (changes_dict(value, name)) return Value::undefined(name);
  const Builtin* method = nullptr;
  switch (value.kind()) {
    case Kind::Undefined:
      runtime.fail_undefined(value);
    case Kind::String:
      return text_attribute(runtime, value, name);
    case Kind::List:
      method = find_list_method(name);
      break;
    case Kind::Tuple:
      method = find_tuple_method(name);
      break;
    case Kind::Dict:
      refuse_attribute(runtime, value, name, {"fromkeys"});
      method = find_dict_method(name);
      break;
    case Kind::Loop:
      return value.as_loop()->attribute(name);
    case Kind::Bool:
    case Kind::Int:
    case Kind::BigInt:
    case Kind::Float:
      refuse_attribute(
          runtime, value, name,
          {"real", "imag", "numerator", "denominator", "conjugate", "bit_length", "bit_count",
           "to_bytes", "from_bytes", "as_integer_ratio", "is_integer", "hex", "fromhex"});
      break;
    case Kind::Range:
      refuse_attribute(runtime, value, name, {"count", "index", "start", "stop", "step"});
      break;
    case Kind::Namespace:
      runtime.step(value.as_namespace()->entries.size() / 16);
      for (const NamespaceEntry& entry : value.as_namespace()->entries)
        if (entry.name == name) return entry.value;
      break;
    case Kind::Macro:
      if (name == "name") return Value::string(value.as_macro()->name);
      refuse_attribute(runtime, value, name,
                       {"arguments", "caller", "catch_kwargs", "catch_varargs"});
      break;
    default:
      break;
  }
  return method == nullptr ? Value() : runtime.method(value, method);
}

// The item of a list or text at a position, counted from the end if negative; Missing if outside.
Value item_at(Runtime& runtime, const Value& value, std::int64_t index) {
  const std::int64_t size = length(runtime, value);
  if (index < 0) index += size;
  if (index < 0 || index >= size) return {};
  if (!value.is_string()) return value.items()[static_cast<std::size_t>(index)];
  const std::size_t at = byte_offset(value.text(), static_cast<std::size_t>(index));
  return Value::string(first_char(value.text().substr(at)));
}

bool is_hashable(const Value& value) {
  if (value.is(Kind::Tuple))
    return std::all_of(value.items().begin(), value.items().end(), is_hashable);
  return !value.is(Kind::List) && !value.is(Kind::Dict) && !value.is(Kind::Keys) &&
         !value.is(Kind::Items);
}

// The item, or Missing.
Value find_item(Runtime& runtime, const Value& value, const Value& key) {
  if (value.is(Kind::Undefined)) runtime.fail_undefined(value);
  if (value.is(Kind::Dict)) {
    const Value* const found = is_hashable(key) ? find_key(runtime, value, key) : nullptr;
    return found == nullptr ? Value() : *found;
  }
  const bool indexable =
      value.is_string() || value.is(Kind::List) || value.is(Kind::Tuple) || value.is(Kind::Range);
  if (!indexable || !key.is_integer()) return {};
  if (value.is_safe())
    runtime.fail(ErrorCode::Unsupported, "expected a plain text to index, got one marked safe");
  return item_at(runtime, value, key.as_int());
}

Value undefined_item(Runtime& runtime, const Value& key) {
  const bool has_name = key.is_string() || key.is_integer();
  return Value::undefined(has_name ? to_text(runtime, key) : type_name(key));
}

struct SliceBounds {
  std::int64_t start, step;
  std::int64_t count;
};

// As CPython's PySlice_AdjustIndices.
SliceBounds slice_bounds(Runtime& runtime, std::int64_t size, const Value& start, const Value& stop,
                         const Value& step) {
  SliceBounds bounds{};
  bounds.step = std::max(integer_argument(runtime, or_missing(step), 1),
                         -std::numeric_limits<std::int64_t>::max());
  if (bounds.step == 0) runtime.fail("expected a slice step, got zero");
  const bool backwards = bounds.step < 0;
  const auto adjust = [&](std::int64_t index) {
    if (index < 0) index = std::max<std::int64_t>(index + size, backwards ? -1 : 0);
    return std::min(index, backwards ? size - 1 : size);
  };
  bounds.start = adjust(integer_argument(runtime, or_missing(start), backwards ? size - 1 : 0));
  const bool to_the_end = !stop.given() || stop.is(Kind::None);
  const std::int64_t end = !to_the_end ? adjust(integer_argument(runtime, stop, 0))
                           : backwards ? -1
                                       : size;
  if (backwards) {
    if (end < bounds.start) bounds.count = (bounds.start - end - 1) / -bounds.step + 1;
  } else if (bounds.start < end) {
    bounds.count = (end - bounds.start - 1) / bounds.step + 1;
  }
  return bounds;
}

Value slice_text(Runtime& runtime, std::string_view text, const SliceBounds& bounds) {
  if (bounds.count == 0) return Value::string("");
  if (bounds.step == 1) {
    const std::size_t first = byte_offset(text, static_cast<std::size_t>(bounds.start));
    const std::string_view rest = text.substr(first);
    return Value::string(rest.substr(0, byte_offset(rest, static_cast<std::size_t>(bounds.count))));
  }
  runtime.charge(text.size() * sizeof(char32_t));
  const std::u32string characters = to_utf32(text);
  std::string picked;
  for (std::int64_t i = 0; i < bounds.count; ++i)
    append_utf8(picked, characters[static_cast<std::size_t>(bounds.start + i * bounds.step)]);
  return runtime.string(picked);
}

}  // namespace

Value get_own_attribute(Runtime& runtime, const Value& value, std::string_view name) {
  const Value found = find_attribute(runtime, value, name);
  return found.given() ? found : Value::undefined(name);
}

Value get_attribute(Runtime& runtime, const Value& value, std::string_view name) {
  runtime.step();
  Value found = find_attribute(runtime, value, name);
  if (!found.given()) found = find_item(runtime, value, Value::string(name));
  return found.given() ? found : Value::undefined(name);
}

Value get_item(Runtime& runtime, const Value& value, const Value& key) {
  runtime.step();
  Value found = find_item(runtime, value, key);
  if (!found.given() && key.is_string()) found = find_attribute(runtime, value, key.text());
  return found.given() ? found : undefined_item(runtime, key);
}

Value get_slice(Runtime& runtime, const Value& value, const Value& start, const Value& stop,
                const Value& step) {
  if (value.is(Kind::Undefined)) runtime.fail_undefined(value);
  const bool is_list = value.is(Kind::List) || value.is(Kind::Tuple) || value.is(Kind::Range);
  if (!is_list && !value.is_string())
    runtime.fail("expected a list or str to slice, got {}", type_name(value));
  if (value.is_safe())
    runtime.fail(ErrorCode::Unsupported, "expected a plain text to slice, got one marked safe");
  const SliceBounds bounds = slice_bounds(runtime, length(runtime, value), start, stop, step);
  if (value.is_string()) return slice_text(runtime, value.text(), bounds);
  ListBuilder items(runtime);
  for (std::int64_t i = 0; i < bounds.count; ++i)
    items.add(value.items()[static_cast<std::size_t>(bounds.start + i * bounds.step)]);
  return items.finish(value.kind());
}

AttributePath::AttributePath(Runtime& runtime, const Value& attribute) {
  if (!attribute.given() || attribute.is(Kind::None)) return;
  if (!attribute.is_string()) {
    parts_.push_back(attribute);
    return;
  }
  runtime.walk(attribute.text());
  std::string_view rest = attribute.text();
  for (bool last = false; !last;) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, dot);
    last = dot == rest.size();
    rest.remove_prefix(last ? dot : dot + 1);
    std::int64_t number = 0;
    bool is_number = !part.empty() && part.size() < 18;
    for (const char c : part) {
      is_number = is_number && c >= '0' && c <= '9';
      if (is_number) number = number * 10 + (c - '0');
    }
    runtime.charge(sizeof(Value));
    parts_.push_back(is_number ? Value::integer(number) : Value::string(part));
  }
}

Value AttributePath::get(Runtime& runtime, Value item, const Value& fallback) const {
  for (const Value& part : parts_) {
    item = get_item(runtime, item, part);
    if (item.is(Kind::Undefined) && fallback.given() && !fallback.is(Kind::None)) item = fallback;
  }
  return item;
}

}  // namespace emlx::jinja
