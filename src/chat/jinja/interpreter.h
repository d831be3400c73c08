// Runs a Program.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "chat/jinja/ast.h"
#include "chat/jinja/loop_context.h"
#include "chat/jinja/runtime.h"

namespace emlx::jinja {

// The variables of a template, a loop, a macro call, ... and those around it.
class Scope {
 public:
  explicit Scope(Scope* outer) : outer_(outer) {}

  // Here or further out; null if nowhere.
  const Value* find(Runtime& runtime, NameId name) const;
  void set(Runtime& runtime, NameId name, const Value& value);
  void clear() { values_.clear(); }

 private:
  Scope* outer_;
  std::vector<std::pair<NameId, Value>> values_;
};

// One rendering. Used once, by one thread.
class Interpreter {
 public:
  Interpreter(const Program& program, const JsonObject& variables);

  std::string run();

 private:
  enum class Flow : std::uint8_t { Next, Break, Continue };
  class DepthGuard;
  class LoopItems;
  friend class LoopItems;

  Flow execute(const Body& body);
  Flow execute(const TextStatement& node);
  Flow execute(const OutputStatement& node);
  Flow execute(const IfStatement& node);
  Flow execute(const ForStatement& node);
  Flow execute(const SetStatement& node);
  Flow execute(const SetBlockStatement& node);
  Flow execute(const MacroStatement& node);
  Flow execute(const CallBlockStatement& node);
  Flow execute(const FilterBlockStatement& node);
  Flow execute(const WithStatement& node);
  Flow execute(const GenerationStatement& node);
  Flow execute(const BreakStatement&) { return Flow::Break; }
  Flow execute(const ContinueStatement&) { return Flow::Continue; }

  Value evaluate(const Expression& expression);
  Value evaluate(const ConstantNode& node) { return node.value; }
  Value evaluate(const NameNode& node);
  Value evaluate(const SequenceNode& node);
  Value evaluate(const DictNode& node);
  Value evaluate(const UnaryNode& node);
  Value evaluate(const ArithmeticNode& node);
  Value evaluate(const LogicNode& node);
  Value evaluate(const ConcatNode& node);
  Value evaluate(const CompareNode& node);
  Value evaluate(const ConditionalNode& node);
  Value evaluate(const ChainNode& node);
  Value evaluate_optional(const ExpressionPtr& expression);  // Missing for null

  Value follow(const Value& value, const AttributeLink& link);
  Value follow(const Value& value, const ItemLink& link);
  Value follow(const Value& value, const SliceLink& link);
  Value follow(const Value& value, const CallLink& link);
  Value follow(const Value& value, const FilterLink& link);
  Value follow(const Value& value, const TestLink& link);

  // The evaluated arguments of a call, which Arguments points at.
  struct CallValues {
    std::vector<Value> positional;
    std::vector<KeywordArgument> keywords;
    Arguments view() const;
  };
  CallValues evaluate(const CallArguments& arguments);
  Value call(const Value& callee, const CallValues& values);
  Value call_macro(const MacroValue& macro, const CallValues& values);
  void bind_parameters(const MacroValue& macro, const CallValues& values);
  Value evaluate_block(const ExpressionPtr& filter, const Value& text);

  bool compare(Comparison comparison, const Value& left, const Value& right);
  Value look_up(NameId name);
  void assign(const Target& target, const Value& value);
  // Runs a body in an own scope; returns what it wrote.
  Value capture(const Body& body, Scope& scope, Flow& flow);
  Flow execute_in(const Body& body, Scope& scope);
  Scope* new_scope(Scope* outer) { return runtime_.keep<Scope>(outer); }
  NameId special(std::string_view name) const;  // -1 if the template never uses the name

  const Program& program_;
  const JsonObject& variables_;
  Runtime runtime_;
  std::vector<Value> globals_;  // by NameId, once looked up
  TextBuilder output_;
  TextBuilder* out_ = &output_;
  Scope* scope_;
  Value block_text_;  // what the filter of a block works on
  NameId loop_, caller_, varargs_, kwargs_;
  int depth_ = 0;
};

}  // namespace emlx::jinja
