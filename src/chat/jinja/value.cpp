#include "chat/jinja/value.h"

#include <limits>

namespace emlx::jinja {

Value Value::undefined(std::string_view name) {
  Value value = string(name);
  value.kind_ = Kind::Undefined;
  return value;
}

Value Value::none() {
  Value value;
  value.kind_ = Kind::None;
  return value;
}

Value Value::boolean(bool flag) {
  Value value = integer(flag ? 1 : 0);
  value.kind_ = Kind::Bool;
  return value;
}

Value Value::integer(std::int64_t number) {
  Value value;
  value.kind_ = Kind::Int;
  value.integer_ = number;
  return value;
}

Value Value::big_integer(std::uint64_t number) {
  Value value = integer(static_cast<std::int64_t>(number));
  if (number > std::numeric_limits<std::int64_t>::max()) value.kind_ = Kind::BigInt;
  return value;
}

Value Value::real(double number) {
  Value value;
  value.kind_ = Kind::Float;
  value.real_ = number;
  return value;
}

Value Value::string(std::string_view text, bool safe) {
  Value value;
  value.kind_ = Kind::String;
  value.safe_ = safe;
  value.size_ = static_cast<std::uint32_t>(text.size());
  value.text_ = text.data();
  return value;
}

Value Value::sequence(Kind kind, std::span<const Value> items, int depth) {
  Value value;
  value.kind_ = kind;
  value.depth_ = static_cast<std::uint16_t>(depth);
  value.size_ = static_cast<std::uint32_t>(items.size());
  value.items_ = items.data();
  return value;
}

Value Value::dict(std::span<const DictEntry> entries, int depth) {
  Value value;
  value.kind_ = Kind::Dict;
  value.depth_ = static_cast<std::uint16_t>(depth);
  value.size_ = static_cast<std::uint32_t>(entries.size());
  value.entries_ = entries.data();
  return value;
}

Value Value::generator(Generator* generator, int depth) {
  Value value;
  value.kind_ = Kind::Generator;
  value.depth_ = static_cast<std::uint16_t>(depth);
  value.generator_ = generator;
  return value;
}

Value Value::name_space(Namespace* name_space) {
  Value value;
  value.kind_ = Kind::Namespace;
  value.namespace_ = name_space;
  return value;
}

Value Value::loop(LoopContext* loop) {
  Value value;
  value.kind_ = Kind::Loop;
  value.loop_ = loop;
  return value;
}

Value Value::macro(const MacroValue* macro) {
  Value value;
  value.kind_ = Kind::Macro;
  value.macro_ = macro;
  return value;
}

Value Value::function(const Builtin* function) {
  Value value;
  value.kind_ = Kind::Function;
  value.function_ = function;
  return value;
}

Value Value::method(const BoundMethod* method) {
  Value value;
  value.kind_ = Kind::Method;
  value.method_ = method;
  return value;
}

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::Missing:
      return "nothing";
    case Kind::Undefined:
      return "undefined";
    case Kind::None:
      return "None";
    case Kind::Bool:
      return "bool";
    case Kind::Int:
    case Kind::BigInt:
      return "int";
    case Kind::Float:
      return "float";
    case Kind::String:
      return "str";
    case Kind::List:
      return "list";
    case Kind::Tuple:
      return "tuple";
    case Kind::Range:
      return "range";
    case Kind::Keys:
      return "dict_keys";
    case Kind::Values:
      return "dict_values";
    case Kind::Items:
      return "dict_items";
    case Kind::Dict:
      return "dict";
    case Kind::Generator:
      return "generator";
    case Kind::Namespace:
      return "namespace";
    case Kind::Loop:
      return "loop";
    case Kind::Macro:
      return "macro";
    case Kind::Function:
      return "function";
    case Kind::Method:
      return "method";
  }
  return "";
}

}  // namespace emlx::jinja
