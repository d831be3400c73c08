// Filters on lists and dicts.
#include <algorithm>

#include "base/quote.h"
#include "chat/jinja/access.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/iteration.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/text_form.h"
#include "chat/jinja/unicode_text.h"

namespace emlx::jinja {
namespace {

Value to_key(Runtime& runtime, const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.is_string()) return value;
  runtime.walk(value.text());
  return runtime.string(to_lower(value.text()));
}

Value first(Runtime& runtime, const Value& value, const Arguments&) {
  Value item;
  return Iterator(runtime, value).next(item) ? item : Value::undefined("first");
}

Value last(Runtime& runtime, const Value& value, const Arguments&) {
  if (value.is(Kind::List) || value.is(Kind::Tuple))
    return value.items().empty() ? Value::undefined("last") : value.items().back();
  const std::vector<Value> items = reversed(runtime, value);
  return items.empty() ? Value::undefined("last") : items.front();
}

Value size(Runtime& runtime, const Value& value, const Arguments&) {
  return Value::integer(length(runtime, value));
}

Value list(Runtime& runtime, const Value& value, const Arguments&) {
  return runtime.list(collect(runtime, value));
}

Value reverse(Runtime& runtime, const Value& value, const Arguments&) {
  if (value.is_string())
    return get_slice(runtime, value, Value::none(), Value::none(), Value::integer(-1));
  if (value.is(Kind::Generator)) {
    std::vector<Value> items = collect(runtime, value);
    std::reverse(items.begin(), items.end());
    return runtime.list(items);
  }
  return generator_over(runtime, reversed(runtime, value), value);
}

Value sort(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const bool case_sensitive = flag_argument(arguments[1], false);
  std::vector<AttributePath> paths;
  if (arguments[2].is_string()) {
    for (std::string_view rest = arguments[2].text();;) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      paths.emplace_back(runtime, Value::string(rest.substr(0, comma)));
      if (comma == rest.size()) break;
      rest.remove_prefix(comma + 1);
    }
  } else {
    paths.emplace_back(runtime, arguments[2]);
  }
  const std::vector<Value> items = collect(runtime, value);
  ListBuilder keys(runtime);
  for (const Value& item : items) {
    ListBuilder key(runtime);
    for (const AttributePath& path : paths)
      key.add(to_key(runtime, path.get(runtime, item), case_sensitive));
    keys.add(key.finish());
  }
  return runtime.list(
      sorted(runtime, items, keys.items(), integer_argument(runtime, arguments[0], 0) != 0));
}

std::vector<Value> unique(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const bool case_sensitive = flag_argument(arguments[0], false);
  const AttributePath path(runtime, arguments[1]);
  std::vector<DictEntry> seen;
  ListBuilder kept(runtime);
  for (const Value& item : collect(runtime, value)) {
    const std::size_t before = seen.size();
    set_key(runtime, seen, to_key(runtime, path.get(runtime, item), case_sensitive), Value::none());
    if (seen.size() > before) kept.add(item);
  }
  return std::move(kept.items());
}

template <bool kMaximum>
Value extreme(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const bool case_sensitive = flag_argument(arguments[0], false);
  const AttributePath path(runtime, arguments[1]);
  Value best, best_key;
  for (const Value& item : collect(runtime, value)) {
    const Value key = to_key(runtime, path.get(runtime, item), case_sensitive);
    const bool better =
        !best.given() || (kMaximum ? less(runtime, best_key, key) : less(runtime, key, best_key));
    if (!better) continue;
    best = item;
    best_key = key;
  }
  return best.given() ? best : Value::undefined(kMaximum ? "max" : "min");
}

Value sum(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const AttributePath path(runtime, arguments[0]);
  Value total = arguments[1].given() ? arguments[1] : Value::integer(0);
  if (total.is_string()) runtime.fail("sum: expected a start that is no str");
  Iterator iterator(runtime, value);
  for (Value item; iterator.next(item);)
    total = calculate(runtime, Arithmetic::Add, total, path.get(runtime, item));
  return total;
}

Value join(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const std::string_view separator =
      arguments[0].given() ? to_text(runtime, arguments[0]) : std::string_view();
  const AttributePath path(runtime, arguments[1]);
  TextBuilder joined(runtime);
  Iterator iterator(runtime, value);
  bool is_first = true;
  for (Value item; iterator.next(item); is_first = false) {
    if (!is_first) joined << separator;
    append_str(joined, runtime, path.get(runtime, item));
  }
  return joined.finish();
}

std::vector<Value> batch(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const bool fill = arguments[1].given() && !arguments[1].is(Kind::None);
  ListBuilder batches(runtime);
  ListBuilder current(runtime);
  const auto size = [&] {
    return Value::integer(static_cast<std::int64_t>(current.items().size()));
  };
  for (const Value& item : collect(runtime, value)) {
    if (equals(runtime, size(), arguments[0])) {
      batches.add(current.finish());
      current.items().clear();
    }
    current.add(item);
  }
  if (!current.items().empty()) {
    while (fill && less(runtime, size(), arguments[0])) current.add(arguments[1]);
    batches.add(current.finish());
  }
  return std::move(batches.items());
}

std::vector<Value> slice(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const std::int64_t count = integer_argument(runtime, arguments[0], 0);
  if (count == 0) runtime.fail("slice: expected a number of slices, got zero");
  const bool fill = arguments[1].given() && !arguments[1].is(Kind::None);
  const std::vector<Value> items = collect(runtime, value);
  const auto size = static_cast<std::int64_t>(items.size());
  ListBuilder slices(runtime);
  std::size_t at = 0;
  for (std::int64_t number = 0; number < count; ++number) {
    const bool longer = number < size % count;
    ListBuilder current(runtime);
    for (std::int64_t i = 0; i < size / count + (longer ? 1 : 0); ++i) current.add(items[at++]);
    if (fill && !longer) current.add(arguments[1]);
    slices.add(current.finish());
  }
  return std::move(slices.items());
}

void add_pairs(Runtime& runtime, const Value& dict, ListBuilder& items) {
  for (const DictEntry& entry : dict.entries())
    items.add(runtime.tuple(std::array{entry.key, entry.value}));
}

std::vector<Value> items(Runtime& runtime, const Value& value, const Arguments&) {
  if (!value.is(Kind::Dict) && !value.is(Kind::Undefined))
    runtime.fail("items: expected a dict, got {}", type_name(value));
  ListBuilder built(runtime);
  if (value.is(Kind::Dict)) add_pairs(runtime, value, built);
  return std::move(built.items());
}

Value dictsort(Runtime& runtime, const Value& value, const Arguments& arguments) {
  if (!value.is(Kind::Dict)) runtime.fail("dictsort: expected a dict, got {}", type_name(value));
  const bool case_sensitive = flag_argument(arguments[0], false);
  const std::string_view by = text_argument(runtime, arguments[1], "key");
  if (by != "key" && by != "value")
    runtime.fail("dictsort: expected to sort by 'key' or 'value', got {}", quote(by));
  ListBuilder built(runtime);
  add_pairs(runtime, value, built);
  ListBuilder keys(runtime);
  for (const DictEntry& entry : value.entries())
    keys.add(to_key(runtime, by == "key" ? entry.key : entry.value, case_sensitive));
  return runtime.list(sorted(runtime, built.items(), keys.items(),
                             integer_argument(runtime, arguments[2], 0) != 0));
}

// Runs a filter when its result is walked for the first time, as Python's generators do: what is
// wrong with it does not show before.
class DeferredGenerator final : public Generator {
 public:
  using Filter = std::vector<Value> (*)(Runtime&, const Value&, const Arguments&);

  DeferredGenerator(Runtime& runtime, Filter filter, const Value& value, const Arguments& arguments)
      : runtime_(runtime), filter_(filter), value_(value), arguments_(arguments) {
    arguments_.positional = {};  // they are bound already, and would not live long enough
    arguments_.keywords = {};
  }

  bool next(Value& out) override {
    if (filter_ != nullptr) {
      items_ = filter_(runtime_, value_, arguments_);
      filter_ = nullptr;
    }
    if (at_ == items_.size()) return false;
    out = items_[at_++];
    return true;
  }

 private:
  Runtime& runtime_;
  Filter filter_;
  Value value_;
  Arguments arguments_;
  std::vector<Value> items_;
  std::size_t at_ = 0;
};

template <DeferredGenerator::Filter kFilter>
Value deferred(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return runtime.generator(std::make_unique<DeferredGenerator>(runtime, kFilter, value, arguments),
                           value);
}

constexpr Builtin kFilters[] = {
    {"batch", "linecount fill_with?", deferred<batch>},
    {"count", "/", size},
    {"dictsort", "case_sensitive? by? reverse?", dictsort},
    {"first", "", first},
    {"items", "", deferred<items>},
    {"join", "d? attribute?", join},
    {"last", "", last},
    {"length", "/", size},
    {"list", "", list},
    {"max", "case_sensitive? attribute?", extreme<true>},
    {"min", "case_sensitive? attribute?", extreme<false>},
    {"reverse", "", reverse},
    {"slice", "slices fill_with?", deferred<slice>},
    {"sort", "reverse? case_sensitive? attribute?", sort},
    {"sum", "attribute? start?", sum},
    {"unique", "case_sensitive? attribute?", deferred<unique>},
};

}  // namespace

std::span<const Builtin> sequence_filters() {
  return kFilters;
}

}  // namespace emlx::jinja
