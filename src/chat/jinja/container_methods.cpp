// Methods of list, tuple and dict that change nothing; those that would are not for templates.
#include "chat/jinja/builtins.h"
#include "chat/jinja/operators.h"

namespace emlx::jinja {
namespace {

Value count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  std::int64_t found = 0;
  for (const Value& item : self.items()) found += equals(runtime, item, arguments[0]) ? 1 : 0;
  return Value::integer(found);
}

Value index(Runtime& runtime, const Value& self, const Arguments& arguments) {
  for (std::size_t i = 0; i < self.items().size(); ++i)
    if (equals(runtime, self.items()[i], arguments[0]))
      return Value::integer(static_cast<std::int64_t>(i));
  runtime.fail("index: expected an item of the {}, got another value", type_name(self));
}

// Values never change, so a copy is the value itself.
Value copy(Runtime&, const Value& self, const Arguments&) {
  return self;
}

Value get(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Value* const found = find_key(runtime, self, arguments[0]);
  if (found != nullptr) return *found;
  return arguments[1].given() ? arguments[1] : Value::none();
}

template <Kind kKind>
Value view(Runtime& runtime, const Value& self, const Arguments&) {
  ListBuilder items(runtime);
  for (const DictEntry& entry : self.entries()) {
    if constexpr (kKind == Kind::Keys) {
      items.add(entry.key);
    } else if constexpr (kKind == Kind::Values) {
      items.add(entry.value);
    } else {
      items.add(runtime.tuple(std::array{entry.key, entry.value}));
    }
  }
  return items.finish(kKind);
}

constexpr Builtin kListMethods[] = {
    {"count", "/value", count},
    {"index", "/value", index},
    {"copy", "", copy},
};
constexpr std::span<const Builtin> kTupleMethods(kListMethods, 2);

constexpr Builtin kDictMethods[] = {
    {"copy", "", copy},
    {"get", "/key default?", get},
    {"items", "", view<Kind::Items>},
    {"keys", "", view<Kind::Keys>},
    {"values", "", view<Kind::Values>},
};

}  // namespace

const Builtin* find_list_method(std::string_view name) {
  return find_in(kListMethods, name);
}
const Builtin* find_tuple_method(std::string_view name) {
  return find_in(kTupleMethods, name);
}
const Builtin* find_dict_method(std::string_view name) {
  return find_in(kDictMethods, name);
}

}  // namespace emlx::jinja
