// The values a chat template computes with: Python's, as far as a template can tell them apart.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace emlx::jinja {

enum class Kind : std::uint8_t {
  Missing,  // no value at all, e.g. an argument that was not given; templates never see it
  Undefined,
  None,
  Bool,
  Int,
  BigInt,  // above int64; can be printed and compared for equality, not computed with
  Float,
  String,
  List,
  Tuple,
  Range,
  Keys,  // dict.keys(), dict.values(), dict.items(): sized and iterable, but not to be indexed
  Values,
  Items,
  Dict,
  Generator,  // what map(), select() and the like return: can be walked once
  Namespace,
  Loop,
  Macro,
  Function,
  Method,
};

struct DictEntry;
class Generator;
struct Namespace;
class LoopContext;
struct MacroValue;
struct MacroDefinition;
class Scope;
struct Builtin;
struct BoundMethod;

// 16 bytes, trivially copyable. Texts, lists and everything else behind a pointer belong to the
// Runtime of one rendering, to the parsed template, or to the caller's variables; all outlive the
// values of that rendering. A text is well-formed UTF-8.
class Value {
 public:
  constexpr Value() = default;  // Missing

  static Value undefined(std::string_view name);  // `name` is what was looked up, for messages
  static Value none();
  static Value boolean(bool value);
  static Value integer(std::int64_t value);
  static Value big_integer(std::uint64_t value);  // Int where it fits
  static Value real(double value);
  static Value string(std::string_view text, bool safe = false);
  // List, Tuple, Range, Keys, Values or Items. `depth`: how deep values nest in it, itself
  // included.
  static Value sequence(Kind kind, std::span<const Value> items, int depth);
  static Value dict(std::span<const DictEntry> entries, int depth);
  static Value generator(Generator* generator, int depth);
  static Value name_space(Namespace* name_space);
  static Value loop(LoopContext* loop);
  static Value macro(const MacroValue* macro);
  static Value function(const Builtin* function);
  static Value method(const BoundMethod* method);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool given() const { return kind_ != Kind::Missing; }
  bool is_string() const { return kind_ == Kind::String; }
  bool is_integer() const { return kind_ == Kind::Int || kind_ == Kind::Bool; }
  bool is_number() const { return is_integer() || kind_ == Kind::Float || kind_ == Kind::BigInt; }
  bool is_sequence() const { return kind_ >= Kind::List && kind_ <= Kind::Items; }
  // A text marked by |safe or |escape (markupsafe's Markup): `+` escapes what is added to it.
  bool is_safe() const { return safe_; }
  int depth() const { return depth_; }

  // Each of these needs the kind it names.
  bool as_bool() const { return integer_ != 0; }
  std::int64_t as_int() const { return integer_; }  // Int or Bool
  std::uint64_t as_big() const { return static_cast<std::uint64_t>(integer_); }
  double as_float() const { return real_; }
  std::string_view text() const { return {text_, size_}; }  // String, or the name of an Undefined
  std::span<const Value> items() const { return {items_, size_}; }
  std::span<const DictEntry> entries() const;
  Generator* as_generator() const { return generator_; }
  Namespace* as_namespace() const { return namespace_; }
  LoopContext* as_loop() const { return loop_; }
  const MacroValue* as_macro() const { return macro_; }
  const Builtin* as_function() const { return function_; }
  const BoundMethod* as_method() const { return method_; }

 private:
  Kind kind_ = Kind::Missing;
  bool safe_ = false;
  std::uint16_t depth_ = 0;
  std::uint32_t size_ = 0;
  union {
    std::int64_t integer_ = 0;
    double real_;
    const char* text_;
    const Value* items_;
    const DictEntry* entries_;
    Generator* generator_;
    Namespace* namespace_;
    LoopContext* loop_;
    const MacroValue* macro_;
    const Builtin* function_;
    const BoundMethod* method_;
  };
};

struct DictEntry {
  Value key, value;
};

inline std::span<const DictEntry> Value::entries() const {
  return {entries_, size_};
}

// A bound method such as 'abc'.split, between its look-up and its call.
struct BoundMethod {
  Value self;
  const Builtin* method;
};

// A macro and the variables it was defined among.
struct MacroValue {
  std::string_view name;
  const MacroDefinition* definition;
  Scope* scope;
};

// The name of the Python type, for messages.
std::string_view type_name(const Value& value);

}  // namespace emlx::jinja
