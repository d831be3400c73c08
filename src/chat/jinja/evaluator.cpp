// The part of the interpreter that works out expressions.
#include <algorithm>

#include "base/quote.h"
#include "chat/jinja/access.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/interpreter_depth.h"
#include "chat/jinja/iteration.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/text_form.h"

namespace emlx::jinja {

Value Interpreter::evaluate(const Expression& expression) {
  const DepthGuard guard(*this);
  runtime_.step();
  runtime_.line = expression.line;
  return std::visit([this](const auto& node) { return evaluate(node); }, expression.node);
}

Value Interpreter::evaluate_optional(const ExpressionPtr& expression) {
  return expression ? evaluate(*expression) : Value();
}

Value Interpreter::evaluate(const NameNode& node) {
  return look_up(node.name);
}

Value Interpreter::evaluate(const SequenceNode& node) {
  ListBuilder items(runtime_);
  for (const ExpressionPtr& item : node.items) items.add(evaluate(*item));
  return items.finish(node.kind);
}

Value Interpreter::evaluate(const DictNode& node) {
  std::vector<DictEntry> entries;
  for (const auto& [key, value] : node.entries) {
    const Value key_value = evaluate(*key);
    set_key(runtime_, entries, key_value, evaluate(*value));
  }
  return runtime_.dict(entries);
}

Value Interpreter::evaluate(const UnaryNode& node) {
  const Value value = evaluate(*node.operand);
  switch (node.operation) {
    case UnaryNode::Operator::Minus:
      return negate(runtime_, value);
    case UnaryNode::Operator::Plus:
      return plus(runtime_, value);
    case UnaryNode::Operator::Not:
      break;
  }
  return Value::boolean(!truthy(value));
}

Value Interpreter::evaluate(const ArithmeticNode& node) {
  Value value = evaluate(*node.first);
  for (const auto& [operation, operand] : node.rest)
    value = calculate(runtime_, operation, value, evaluate(*operand));
  return value;
}

Value Interpreter::evaluate(const LogicNode& node) {
  Value value;
  for (const ExpressionPtr& operand : node.operands) {
    value = evaluate(*operand);
    if (truthy(value) == node.is_or) break;
  }
  return value;
}

Value Interpreter::evaluate(const ConcatNode& node) {
  TextBuilder text(runtime_);
  for (const ExpressionPtr& operand : node.operands) append_str(text, runtime_, evaluate(*operand));
  return text.finish();
}

Value Interpreter::evaluate(const CompareNode& node) {
  Value left = evaluate(*node.first);
  for (const auto& [comparison, operand] : node.rest) {
    const Value right = evaluate(*operand);
    if (!compare(comparison, left, right)) return Value::boolean(false);
    left = right;
  }
  return Value::boolean(true);
}

bool Interpreter::compare(Comparison comparison, const Value& left, const Value& right) {
  switch (comparison) {
    case Comparison::Equal:
      return equals(runtime_, left, right);
    case Comparison::NotEqual:
      return !equals(runtime_, left, right);
    case Comparison::Less:
      return less(runtime_, left, right);
    case Comparison::LessEqual:
      return less_or_equal(runtime_, left, right);
    case Comparison::Greater:
      return less(runtime_, right, left);
    case Comparison::GreaterEqual:
      return less_or_equal(runtime_, right, left);
    case Comparison::In:
      return contains(runtime_, right, left);
    case Comparison::NotIn:
      break;
  }
  return !contains(runtime_, right, left);
}

Value Interpreter::evaluate(const ConditionalNode& node) {
  if (truthy(evaluate(*node.condition))) return evaluate(*node.then);
  return node.otherwise ? evaluate(*node.otherwise) : Value::undefined("an if without else");
}

Value Interpreter::evaluate(const ChainNode& node) {
  Value value = node.first ? evaluate(*node.first) : block_text_;
  for (const Link& link : node.links) {
    runtime_.step();
    runtime_.line = link.line;
    value = std::visit([&](const auto& kind) { return follow(value, kind); }, link.link);
  }
  return value;
}

Value Interpreter::evaluate_block(const ExpressionPtr& filter, const Value& text) {
  block_text_ = text;
  return evaluate(*filter);
}

Value Interpreter::follow(const Value& value, const AttributeLink& link) {
  return get_attribute(runtime_, value, link.name);
}

Value Interpreter::follow(const Value& value, const ItemLink& link) {
  return get_item(runtime_, value, evaluate(*link.key));
}

Value Interpreter::follow(const Value& value, const SliceLink& link) {
  const Value start = evaluate_optional(link.start);
  const Value stop = evaluate_optional(link.stop);
  return get_slice(runtime_, value, start, stop, evaluate_optional(link.step));
}

Value Interpreter::follow(const Value& value, const CallLink& link) {
  return call(value, evaluate(link.arguments));
}

Value Interpreter::follow(const Value& value, const FilterLink& link) {
  if (link.filter == nullptr) runtime_.fail("expected a filter, got {}", quote(link.name));
  const CallValues values = evaluate(link.arguments);
  return apply_filter(runtime_, *link.filter, value, values.view());
}

Value Interpreter::follow(const Value& value, const TestLink& link) {
  if (link.test == nullptr) runtime_.fail("expected a test, got {}", quote(link.name));
  const CallValues values = evaluate(link.arguments);
  const Value result = call_builtin(runtime_, *link.test, value, values.view());
  return link.negated ? Value::boolean(!truthy(result)) : result;
}

Arguments Interpreter::CallValues::view() const {
  Arguments arguments;
  arguments.positional = positional;
  arguments.keywords = keywords;
  return arguments;
}

Interpreter::CallValues Interpreter::evaluate(const CallArguments& arguments) {
  CallValues values;
  for (const ExpressionPtr& argument : arguments.positional)
    values.positional.push_back(evaluate(*argument));
  if (arguments.more_positional)
    for (const Value& item : collect(runtime_, evaluate(*arguments.more_positional)))
      values.positional.push_back(item);
  for (const auto& [name, argument] : arguments.keywords)
    values.keywords.push_back({name, evaluate(*argument)});
  if (!arguments.more_keywords) return values;
  const Value more = evaluate(*arguments.more_keywords);
  if (!more.is(Kind::Dict)) runtime_.fail("**: expected a dict, got {}", type_name(more));
  for (const DictEntry& entry : more.entries()) {
    if (!entry.key.is_string())
      runtime_.fail("**: expected str keys, got {}", type_name(entry.key));
    runtime_.charge(sizeof(KeywordArgument));
    values.keywords.push_back({entry.key.text(), entry.value});
  }
  return values;
}

Value Interpreter::call(const Value& callee, const CallValues& values) {
  switch (callee.kind()) {
    case Kind::Macro:
      return call_macro(*callee.as_macro(), values);
    case Kind::Function:
      return call_builtin(runtime_, *callee.as_function(), Value(), values.view());
    case Kind::Method:
      return call_builtin(runtime_, *callee.as_method()->method, callee.as_method()->self,
                          values.view());
    case Kind::Undefined:
      runtime_.fail_undefined(callee);
    default:
      runtime_.fail("expected something to call, got {}", type_name(callee));
  }
}

Value Interpreter::call_macro(const MacroValue& macro, const CallValues& values) {
  const DepthGuard guard(*this);
  Scope* const outer = std::exchange(scope_, new_scope(macro.scope));
  const int line = runtime_.line;
  bind_parameters(macro, values);
  Flow flow = Flow::Next;
  const Value text = capture(macro.definition->body, *scope_, flow);
  runtime_.line = line;
  scope_ = outer;
  return text;
}

// In the scope of the call, which is the current one.
void Interpreter::bind_parameters(const MacroValue& macro, const CallValues& values) {
  const MacroDefinition& definition = *macro.definition;
  std::vector<KeywordArgument> unused = values.keywords;
  const auto take = [&](std::string_view name) {
    runtime_.step(unused.size() / 16);
    const auto found = std::find_if(unused.begin(), unused.end(),
                                    [name](const auto& keyword) { return keyword.name == name; });
    if (found == unused.end()) return Value();
    const Value value = found->value;
    unused.erase(found);
    return value;
  };
  std::vector<const MacroDefinition::Parameter*> missing;
  for (std::size_t i = 0; i < definition.parameters.size(); ++i) {
    const MacroDefinition::Parameter& parameter = definition.parameters[i];
    const std::string_view name = program_.names[static_cast<std::size_t>(parameter.name)];
    const Value value = i < values.positional.size() ? values.positional[i] : take(name);
    if (!value.given()) missing.push_back(&parameter);
    scope_->set(runtime_, parameter.name, value.given() ? value : Value::undefined(name));
  }
  if (definition.uses_caller) {
    const Value caller = take("caller");
    const bool none = !caller.given() || caller.is(Kind::None);
    scope_->set(runtime_, caller_, none ? Value::undefined("caller") : caller);
  }
  if (definition.uses_kwargs) {
    std::vector<DictEntry> entries;
    for (const KeywordArgument& keyword : unused)
      set_key(runtime_, entries, Value::string(keyword.name), keyword.value);
    scope_->set(runtime_, kwargs_, runtime_.dict(entries));
  } else if (!unused.empty()) {
    runtime_.fail("macro {}: expected no argument {}", quote(macro.name), quote(unused[0].name));
  }
  const std::size_t used = std::min(values.positional.size(), definition.parameters.size());
  const auto extra = std::span(values.positional).subspan(used);
  if (definition.uses_varargs) {
    scope_->set(runtime_, varargs_, runtime_.tuple(extra));
  } else if (!extra.empty()) {
    runtime_.fail("macro {}: expected at most {} arguments, got {}", quote(macro.name),
                  definition.parameters.size(), values.positional.size());
  }
  for (const MacroDefinition::Parameter* const parameter : missing)
    if (parameter->default_value)
      scope_->set(runtime_, parameter->name, evaluate(*parameter->default_value));
}

}  // namespace emlx::jinja
