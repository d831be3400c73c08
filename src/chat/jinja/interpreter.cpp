#include "chat/jinja/interpreter.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "chat/jinja/interpreter_depth.h"
#include "chat/jinja/iteration.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/text_form.h"

namespace emlx::jinja {

// The items of a for statement that pass its `if`. The condition runs when an item is asked for,
// because the body may have changed what it reads.
class Interpreter::LoopItems final : public Generator {
 public:
  LoopItems(Interpreter& interpreter, const ForStatement& node, const Value& items)
      : interpreter_(interpreter),
        node_(node),
        iterator_(interpreter.runtime_, items),
        scope_(interpreter.new_scope(interpreter.scope_)) {}

  bool next(Value& out) override {
    while (iterator_.next(out)) {
      Scope* const outer = std::exchange(interpreter_.scope_, scope_);
      scope_->clear();
      interpreter_.assign(node_.target, out);
      const bool passes = truthy(interpreter_.evaluate(*node_.condition));
      interpreter_.scope_ = outer;
      if (passes) return true;
    }
    return false;
  }

 private:
  Interpreter& interpreter_;
  const ForStatement& node_;
  Iterator iterator_;
  Scope* scope_;
};

const Value* Scope::find(Runtime& runtime, NameId name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_) {
    runtime.step(scope->values_.size() / 16);
    for (const auto& [known, value] : scope->values_)
      if (known == name) return &value;
  }
  return nullptr;
}

void Scope::set(Runtime& runtime, NameId name, const Value& value) {
  runtime.step(values_.size() / 16);
  for (auto& [known, old] : values_) {
    if (known != name) continue;
    old = value;
    return;
  }
  runtime.charge(sizeof(values_[0]));
  values_.emplace_back(name, value);
}

Interpreter::Interpreter(const Program& program, const JsonObject& variables)
    : program_(program),
      variables_(variables),
      globals_(program.names.size()),
      output_(runtime_),
      scope_(new_scope(nullptr)),
      loop_(special("loop")),
      caller_(special("caller")),
      varargs_(special("varargs")),
      kwargs_(special("kwargs")) {}

NameId Interpreter::special(std::string_view name) const {
  const auto found = std::find(program_.names.begin(), program_.names.end(), name);
  return found == program_.names.end() ? -1 : static_cast<NameId>(found - program_.names.begin());
}

std::string Interpreter::run() {
  for (const NameId name : program_.set_first)
    scope_->set(runtime_, name, Value::undefined(program_.names[static_cast<std::size_t>(name)]));
  execute(program_.body);
  return output_.take();
}

Value Interpreter::look_up(NameId name) {
  if (const Value* const found = scope_->find(runtime_, name)) return *found;
  Value& global = globals_[static_cast<std::size_t>(name)];
  if (!global.given()) {
    const std::string_view text = program_.names[static_cast<std::size_t>(name)];
    const auto* const variable = variables_.if_contains({text.data(), text.size()});
    const Builtin* const function = find_function(text);
    global = variable != nullptr   ? runtime_.from_json(*variable)
             : function != nullptr ? Value::function(function)
                                   : Value::undefined(text);
  }
  return global;
}

void Interpreter::assign(const Target& target, const Value& value) {
  if (!target.is_tuple && target.attribute.empty()) {
    scope_->set(runtime_, target.name, value);
  } else if (!target.is_tuple) {
    const Value name_space = look_up(target.name);
    if (!name_space.is(Kind::Namespace))
      runtime_.fail("expected a namespace to assign to, got {}", type_name(name_space));
    set_namespace(runtime_, name_space, target.attribute, value);
  } else {
    const std::vector<Value> values = collect(runtime_, value);
    if (values.size() != target.items.size())
      runtime_.fail("expected {} values to unpack, got {}", target.items.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) assign(target.items[i], values[i]);
  }
}

Interpreter::Flow Interpreter::execute(const Body& body) {
  const DepthGuard guard(*this);
  for (const Statement& statement : body) {
    runtime_.step();
    runtime_.line = statement.line;
    const Flow flow =
        std::visit([this](const auto& node) { return execute(node); }, statement.node);
    if (flow != Flow::Next) return flow;
  }
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute_in(const Body& body, Scope& scope) {
  Scope* const outer = std::exchange(scope_, &scope);
  const Flow flow = execute(body);
  scope_ = outer;
  return flow;
}

Value Interpreter::capture(const Body& body, Scope& scope, Flow& flow) {
  TextBuilder text(runtime_);
  TextBuilder* const outer = std::exchange(out_, &text);
  flow = execute_in(body, scope);
  out_ = outer;
  return text.finish();
}

Interpreter::Flow Interpreter::execute(const TextStatement& node) {
  *out_ << node.text;
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const OutputStatement& node) {
  append_str(*out_, runtime_, evaluate(*node.value));
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const IfStatement& node) {
  for (const auto& [condition, body] : node.branches)
    if (condition == nullptr || truthy(evaluate(*condition))) return execute(body);
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const ForStatement& node) {
  Value items = evaluate(*node.items);
  if (node.condition)
    items = runtime_.generator(std::make_unique<LoopItems>(*this, node, items), items);
  auto* const loop = runtime_.keep<LoopContext>(runtime_, items);
  Scope* const scope = new_scope(scope_);
  // jinja2 runs `else` when no turn came to its end, so also after a `break` in the first.
  bool run_else = true;
  for (Value item; loop->advance(item);) {
    scope->clear();
    Scope* const outer = std::exchange(scope_, scope);
    assign(node.target, item);
    if (loop_ >= 0) scope->set(runtime_, loop_, Value::loop(loop));
    scope_ = outer;
    const Flow flow = execute_in(node.body, *scope);
    if (flow == Flow::Break) break;
    if (flow == Flow::Next) run_else = false;
  }
  scope->clear();
  return run_else ? execute_in(node.otherwise, *new_scope(scope_)) : Flow::Next;
}

Interpreter::Flow Interpreter::execute(const SetStatement& node) {
  assign(node.target, evaluate(*node.value));
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const SetBlockStatement& node) {
  Scope* const scope = new_scope(scope_);
  Flow flow = Flow::Next;
  Value text = capture(node.body, *scope, flow);
  if (flow != Flow::Next) return flow;
  if (node.filter) {
    Scope* const outer = std::exchange(scope_, scope);
    text = evaluate_block(node.filter, text);
    scope_ = outer;
  }
  assign(node.target, text);
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const FilterBlockStatement& node) {
  Scope* const scope = new_scope(scope_);
  Flow flow = Flow::Next;
  const Value text = capture(node.body, *scope, flow);
  if (flow != Flow::Next) return flow;
  Scope* const outer = std::exchange(scope_, scope);
  append_str(*out_, runtime_, evaluate_block(node.filter, text));
  scope_ = outer;
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const MacroStatement& node) {
  auto* const macro = runtime_.keep<MacroValue>(MacroValue{node.macro.name, &node.macro, scope_});
  scope_->set(runtime_, node.name, Value::macro(macro));
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const CallBlockStatement& node) {
  const auto& chain = std::get<ChainNode>(node.call->node);
  Value callee = evaluate(*chain.first);
  for (std::size_t i = 0; i + 1 < chain.links.size(); ++i)
    callee =
        std::visit([&](const auto& link) { return follow(callee, link); }, chain.links[i].link);
  CallValues values = evaluate(std::get<CallLink>(chain.links.back().link).arguments);
  auto* const caller = runtime_.keep<MacroValue>(MacroValue{"caller", &node.caller, scope_});
  values.keywords.push_back({"caller", Value::macro(caller)});
  append_str(*out_, runtime_, call(callee, values));
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const WithStatement& node) {
  Scope* const scope = new_scope(scope_);
  for (const auto& [target, expression] : node.variables) {
    const Value value = evaluate(*expression);
    Scope* const outer = std::exchange(scope_, scope);
    assign(target, value);
    scope_ = outer;
  }
  return execute_in(node.body, *scope);
}

Interpreter::Flow Interpreter::execute(const GenerationStatement& node) {
  return execute_in(node.body, *new_scope(scope_));
}

}  // namespace emlx::jinja
