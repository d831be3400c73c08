// A parsed template. Names are numbers (indices into Program::names), so that looking one up is
// comparing integers.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "chat/jinja/builtins.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/value.h"

namespace emlx::jinja {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<const Expression>;
using NameId = int;

struct ConstantNode {
  Value value;
};
struct NameNode {
  NameId name;
};
struct SequenceNode {  // [a, b] or (a, b)
  Kind kind;
  std::vector<ExpressionPtr> items;
};
struct DictNode {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};
struct UnaryNode {
  enum class Operator : std::uint8_t { Not, Minus, Plus };
  Operator operation;
  ExpressionPtr operand;
};
struct ArithmeticNode {  // first op operand op operand ..., from left to right
  ExpressionPtr first;
  std::vector<std::pair<Arithmetic, ExpressionPtr>> rest;
};
struct LogicNode {  // a and b and c, or a or b or c
  bool is_or;
  std::vector<ExpressionPtr> operands;
};
struct ConcatNode {  // a ~ b ~ c
  std::vector<ExpressionPtr> operands;
};
enum class Comparison : std::uint8_t {
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
  NotIn
};
struct CompareNode {  // a < b < c: b is evaluated once
  ExpressionPtr first;
  std::vector<std::pair<Comparison, ExpressionPtr>> rest;
};
struct ConditionalNode {
  ExpressionPtr condition, then;
  ExpressionPtr otherwise;  // may be null
};
struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string_view, ExpressionPtr>> keywords;
  ExpressionPtr more_positional, more_keywords;  // *a and **b; may be null
};

// What can follow a value: .name, [key], [a:b], (arguments), | filter, is test.
struct AttributeLink {
  std::string_view name;
};
struct ItemLink {
  ExpressionPtr key;
};
struct SliceLink {
  ExpressionPtr start, stop, step;  // each may be null
};
struct CallLink {
  CallArguments arguments;
};
struct FilterLink {
  std::string_view name;
  const Builtin* filter;  // null: jinja2 has none of this name either, an error if it comes to that
  CallArguments arguments;
};
struct TestLink {
  std::string_view name;
  const Builtin* test;  // as in FilterLink
  bool negated;
  CallArguments arguments;
};
struct Link {
  int line;
  std::variant<AttributeLink, ItemLink, SliceLink, CallLink, FilterLink, TestLink> link;
};
struct ChainNode {      // one after the other, so that long chains are not deep ones
  ExpressionPtr first;  // null: the text a filter block or a set block holds
  std::vector<Link> links;
};

struct Expression {
  int line;
  std::variant<ConstantNode, NameNode, SequenceNode, DictNode, UnaryNode, ArithmeticNode, LogicNode,
               ConcatNode, CompareNode, ConditionalNode, ChainNode>
      node;
};

using Body = std::vector<Statement>;

// What a value is assigned to: a name, an attribute of a namespace, or several targets.
struct Target {
  NameId name = 0;
  std::string_view attribute;  // empty: the name itself
  bool is_tuple = false;
  std::vector<Target> items;
};

struct MacroDefinition {
  struct Parameter {
    NameId name;
    ExpressionPtr default_value;  // may be null
  };
  std::string_view name;
  std::vector<Parameter> parameters;
  Body body;
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

struct TextStatement {
  std::string_view text;
};
struct OutputStatement {
  ExpressionPtr value;
};
struct IfStatement {
  std::vector<std::pair<ExpressionPtr, Body>> branches;  // a null condition is `else`
};
struct ForStatement {
  Target target;
  ExpressionPtr items;
  ExpressionPtr condition;  // may be null
  Body body, otherwise;
};
struct SetStatement {
  Target target;
  ExpressionPtr value;
};
struct SetBlockStatement {
  Target target;
  ExpressionPtr filter;  // may be null
  Body body;
};
struct MacroStatement {
  NameId name;
  MacroDefinition macro;
};
struct CallBlockStatement {
  MacroDefinition caller;
  ExpressionPtr call;  // a ChainNode that ends in a CallLink
};
struct FilterBlockStatement {
  ExpressionPtr filter;
  Body body;
};
struct WithStatement {
  std::vector<std::pair<Target, ExpressionPtr>> variables;
  Body body;
};
struct GenerationStatement {  // {% generation %}: marks text for training, changes nothing
  Body body;
};
struct BreakStatement {};
struct ContinueStatement {};

struct Statement {
  int line;
  std::variant<TextStatement, OutputStatement, IfStatement, ForStatement, SetStatement,
               SetBlockStatement, MacroStatement, CallBlockStatement, FilterBlockStatement,
               WithStatement, GenerationStatement, BreakStatement, ContinueStatement>
      node;
};

struct Program {
  Body body;
  std::vector<std::string_view> names;  // by NameId
  // Names the top level sets before it reads them: jinja2 takes them for undefined until then,
  // even if the caller passes variables of the same name.
  std::vector<NameId> set_first;
  std::vector<std::string_view> literals;  // every string literal
  std::deque<std::string> texts;           // what all the views above point at
};

}  // namespace emlx::jinja
