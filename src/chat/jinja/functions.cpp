// The functions a template finds by name.
#include <chrono>

#include "base/quote.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/clock.h"
#include "chat/jinja/iteration.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/text_form.h"

namespace emlx::jinja {
namespace {

constexpr std::uint64_t kMaxRange = 100000;  // jinja2's sandbox has the same

Value range(Runtime& runtime, const Value&, const Arguments& arguments) {
  for (const Value& bound : arguments.positional)
    if (!bound.is_integer()) runtime.fail("range: expected integers, got {}", type_name(bound));
  const std::size_t count = arguments.positional.size();
  if (count == 0 || count > 3 || !arguments.keywords.empty())
    runtime.fail("range: expected one to three integers, got {} arguments", count);
  const std::int64_t start = count == 1 ? 0 : arguments.positional[0].as_int();
  const std::int64_t stop = arguments.positional[count == 1 ? 0 : 1].as_int();
  const std::int64_t step = count == 3 ? arguments.positional[2].as_int() : 1;
  if (step == 0) runtime.fail("range: expected a step, got zero");
  const auto distance = [](std::int64_t from, std::int64_t to) {
    return from < to ? static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from) - 1 : 0;
  };
  std::uint64_t size = 0;
  if (step > 0 && start < stop) size = distance(start, stop) / static_cast<std::uint64_t>(step) + 1;
  if (step < 0 && stop < start)
    size = distance(stop, start) / (0 - static_cast<std::uint64_t>(step)) + 1;
  if (size > kMaxRange) runtime.fail("range: expected at most {} items, got {}", kMaxRange, size);
  ListBuilder items(runtime);
  for (std::uint64_t i = 0; i < size; ++i)  // unsigned, so that nothing can overflow
    items.add(Value::integer(static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                                       i * static_cast<std::uint64_t>(step))));
  return items.finish(Kind::Range);
}

// What Python's dict(...) makes of its arguments.
std::vector<DictEntry> dict_entries(Runtime& runtime, const Arguments& arguments) {
  if (arguments.positional.size() > 1)
    runtime.fail("dict: expected at most one argument, got {}", arguments.positional.size());
  std::vector<DictEntry> entries;
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is(Kind::Dict)) {
      for (const DictEntry& entry : source.entries()) {
        runtime.charge(sizeof(DictEntry));
        entries.push_back(entry);
      }
    } else {
      Iterator iterator(runtime, source);
      for (Value item; iterator.next(item);) {
        const std::vector<Value> pair = collect(runtime, item);
        if (pair.size() != 2) runtime.fail("dict: expected pairs, got {} values", pair.size());
        set_key(runtime, entries, pair[0], pair[1]);
      }
    }
  }
  for (const KeywordArgument& keyword : arguments.keywords)
    set_key(runtime, entries, Value::string(keyword.name), keyword.value);
  return entries;
}

Value dict(Runtime& runtime, const Value&, const Arguments& arguments) {
  return runtime.dict(dict_entries(runtime, arguments));
}

Value name_space(Runtime& runtime, const Value&, const Arguments& arguments) {
  const Value made = runtime.new_namespace();
  for (const DictEntry& entry : dict_entries(runtime, arguments)) {
    if (!entry.key.is_string())
      runtime.fail(ErrorCode::Unsupported, "namespace: expected str names, got {}",
                   type_name(entry.key));
    set_namespace(runtime, made, entry.key.text(), entry.value);
  }
  return made;
}

Value raise_exception(Runtime& runtime, const Value&, const Arguments& arguments) {
  // The template's own words, for the user of the template; so nothing is put in front.
  throw Error(ErrorCode::InvalidArgument, std::string(to_text(runtime, arguments[0])));
}

Value strftime_now(Runtime& runtime, const Value&, const Arguments& arguments) {
  return runtime.string(
      format_time(text_argument(runtime, arguments[0]), std::chrono::system_clock::now()));
}

constexpr Builtin kFunctions[] = {
    {"dict", "*", dict},
    {"namespace", "*", name_space},
    {"raise_exception", "message", raise_exception},
    {"range", "*", range},
    {"strftime_now", "format", strftime_now},
};

}  // namespace

void set_namespace(Runtime& runtime, const Value& target, std::string_view name,
                   const Value& value) {
  if (name.starts_with('_'))
    runtime.fail("expected a namespace attribute without '_' in front, got {}", quote(name));
  std::vector<NamespaceEntry>& entries = target.as_namespace()->entries;
  runtime.step(entries.size() / 16);
  for (NamespaceEntry& entry : entries) {
    if (entry.name != name) continue;
    entry.value = value;
    return;
  }
  runtime.charge(sizeof(NamespaceEntry));
  entries.push_back({name, value});
}

const Builtin* find_function(std::string_view name) {
  return find_in(kFunctions, name);
}

}  // namespace emlx::jinja
