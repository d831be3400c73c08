#include "chat/jinja/parser.h"

#include <algorithm>
#include <initializer_list>

#include "base/quote.h"
#include "chat/jinja/parser_base.h"

namespace emlx::jinja {
namespace {

using Words = std::initializer_list<std::string_view>;

class Parser : private ExpressionParser {
 public:
  Parser(std::vector<Token> tokens, Program& program)
      : ExpressionParser(std::move(tokens), program) {}

  void run() {
    program_.body = parse_body({});
    fail_unknown(0);
  }

 private:
  // Statements up to a tag named by `ends`, which is left to be read; none: to the end.
  Body parse_body(Words ends) {
    const DepthGuard guard(*this);
    Body body;
    while (!current().is(TokenKind::End)) {
      const Token token = take();
      if (token.is(TokenKind::Text)) {
        body.push_back({token.line, TextStatement{keep(token.text)}});
      } else if (token.is(TokenKind::VariableBegin)) {
        body.push_back({token.line, OutputStatement{parse_tuple(true)}});
        expect(TokenKind::VariableEnd);
      } else {  // BlockBegin: nothing else stands outside of tags
        if (std::any_of(ends.begin(), ends.end(),
                        [this](std::string_view end) { return current().is_name(end); }))
          return body;
        parse_statement(body);
        expect(TokenKind::BlockEnd);
      }
    }
    if (ends.size() > 0) fail_expected(fmt::format("'{}'", *(ends.end() - 1)));
    return body;
  }

  // The rest of an opening tag, then statements up to one of `ends`.
  Body parse_block(Words ends) {
    skip_operator(":");
    expect(TokenKind::BlockEnd);
    return parse_body(ends);
  }

  Body parse_whole_block(std::string_view end) {
    Body body = parse_block({end});
    expect_name(end);
    return body;
  }

  void parse_statement(Body& body) {
    const Token tag = expect(TokenKind::Name);
    if (tag.text == "print") return parse_print(tag.line, body);
    body.push_back(parse_tag(tag));
  }

  Statement parse_tag(const Token& tag) {
    const std::string& name = tag.text;
    if (name == "if") return {tag.line, parse_if()};
    if (name == "for") return {tag.line, parse_for()};
    if (name == "set") return parse_set(tag.line);
    if (name == "macro") return {tag.line, parse_macro()};
    if (name == "call") return {tag.line, parse_call_block()};
    if (name == "filter") return {tag.line, parse_filter_block()};
    if (name == "with") return {tag.line, parse_with()};
    if (name == "generation") return {tag.line, parse_generation()};
    if (name == "break" || name == "continue") {
      if (loop_depth_ == 0)
        fail_parse(ErrorCode::InvalidFile, "expected a loop around '{}', got none", name);
      if (name == "break") return {tag.line, BreakStatement{}};
      return {tag.line, ContinueStatement{}};
    }
    for (const char* const known : {"block", "extends", "include", "import", "from", "autoescape"})
      if (name == known)
        fail_parse(ErrorCode::Unsupported, "expected a supported tag, got '{}'", name);
    fail_parse(ErrorCode::InvalidFile, "expected a tag, got {}", quote(name));
  }

  void parse_print(int line, Body& body) {
    while (!current().is(TokenKind::BlockEnd)) {
      body.push_back({line, OutputStatement{parse_expression()}});
      if (!skip_operator(",")) break;
    }
  }

  IfStatement parse_if() {
    const std::size_t unknown = unknown_.size();
    IfStatement node;
    for (bool open = true; open;) {
      ExpressionPtr condition = parse_tuple(false);
      ++branch_depth_;
      node.branches.emplace_back(std::move(condition), parse_block({"elif", "else", "endif"}));
      open = current().is_name("elif");
      if (!open && skip_name("else")) {
        node.branches.emplace_back(nullptr, parse_block({"endif"}));
        expect_name("endif");
      } else {
        take();  // elif or endif
      }
      --branch_depth_;
    }
    unknown_.resize(unknown);
    return node;
  }

  ForStatement parse_for() {
    ForStatement node;
    ++for_depth_;
    node.target = parse_target(false);
    expect_name("in");
    node.items = parse_tuple(false);
    const FrameGuard frame(*this);
    if (skip_name("if")) node.condition = parse_expression();
    if (current().is_name("recursive"))
      fail_parse(ErrorCode::Unsupported, "expected a supported loop, got 'recursive'");
    ++loop_depth_;
    node.body = parse_block({"else", "endfor"});
    --loop_depth_;
    if (skip_name("else")) node.otherwise = parse_block({"endfor"});
    expect_name("endfor");
    --for_depth_;
    frame.close();
    return node;
  }

  Statement parse_set(int line) {
    Target target = parse_target(true);
    if (skip_operator("=")) {
      SetStatement node{std::move(target), parse_tuple(true)};
      note_stores(node.target);
      return {line, std::move(node)};
    }
    SetBlockStatement node;
    node.target = std::move(target);
    note_stores(node.target);
    const FrameGuard frame(*this);
    if (current().is_operator("|")) node.filter = parse_block_filter();
    node.body = parse_whole_block("endset");
    frame.close();
    return {line, std::move(node)};
  }

  // The filters of a block: a chain without a value in front.
  ExpressionPtr parse_block_filter() {
    const int line = current().line;
    ChainNode chain;
    do {
      skip_operator("|");
      parse_filter(chain);
    } while (current().is_operator("|"));
    return std::make_unique<const Expression>(Expression{line, std::move(chain)});
  }

  MacroStatement parse_macro() {
    MacroStatement node;
    const std::string name = expect(TokenKind::Name).text;
    node.name = name_id(name);
    node.macro.name = keep(name);
    note_store(node.name);
    parse_macro_body(node.macro, true, "endmacro");
    return node;
  }

  // From the parameters on.
  void parse_macro_body(MacroDefinition& macro, bool has_parameters, std::string_view end) {
    const FrameGuard frame(*this);
    const int outer_loops = std::exchange(loop_depth_, 0);
    if (has_parameters) parse_parameters(macro);
    macros_.push_back(&macro);
    macro.body = parse_whole_block(end);
    macros_.pop_back();
    loop_depth_ = outer_loops;
    for (const MacroDefinition::Parameter& parameter : macro.parameters) {
      const std::string_view name = program_.names[static_cast<std::size_t>(parameter.name)];
      if (macro.uses_caller && name == "caller")
        fail_parse(ErrorCode::Unsupported, "expected other parameters of a macro, got 'caller'");
      if (name == "varargs") macro.uses_varargs = false;
      if (name == "kwargs") macro.uses_kwargs = false;
    }
    frame.close();
  }

  void parse_parameters(MacroDefinition& macro) {
    expect_operator("(");
    while (!current().is_operator(")")) {
      MacroDefinition::Parameter parameter{name_id(expect(TokenKind::Name).text), nullptr};
      for (const MacroDefinition::Parameter& other : macro.parameters)
        if (other.name == parameter.name) fail_expected("parameters of different names");
      if (skip_operator("=")) {
        parameter.default_value = parse_expression();
      } else if (!macro.parameters.empty() && macro.parameters.back().default_value) {
        fail_expected("a default value behind one with a default value");
      }
      macro.parameters.push_back(std::move(parameter));
      limit_parameters(macro.parameters.size());
      if (!skip_operator(",")) break;
    }
    expect_operator(")");
  }

  CallBlockStatement parse_call_block() {
    CallBlockStatement node;
    node.caller.name = "caller";
    if (current().is_operator("(")) parse_parameters(node.caller);
    node.call = parse_expression();
    const auto* const chain = std::get_if<ChainNode>(&node.call->node);
    if (chain == nullptr || !std::holds_alternative<CallLink>(chain->links.back().link))
      fail_expected("a call");
    parse_macro_body(node.caller, false, "endcall");
    return node;
  }

  FilterBlockStatement parse_filter_block() {
    FilterBlockStatement node;
    const FrameGuard frame(*this);
    node.filter = parse_block_filter();
    node.body = parse_whole_block("endfilter");
    frame.close();
    return node;
  }

  WithStatement parse_with() {
    WithStatement node;
    while (!current().is(TokenKind::BlockEnd)) {
      Target target = parse_target(false);
      expect_operator("=");
      node.variables.emplace_back(std::move(target), parse_expression());
      if (!skip_operator(",")) break;
    }
    const FrameGuard frame(*this);
    node.body = parse_whole_block("endwith");
    frame.close();
    return node;
  }

  GenerationStatement parse_generation() {
    const FrameGuard frame(*this);
    const int outer_loops = std::exchange(loop_depth_, 0);
    GenerationStatement node{parse_whole_block("endgeneration")};
    loop_depth_ = outer_loops;
    frame.close();
    return node;
  }

  // What can be assigned to. With `of_set`, also an attribute of a namespace.
  Target parse_target(bool of_set) {
    Target first = parse_one_target(of_set);
    if (!current().is_operator(",")) return first;
    Target tuple;
    tuple.is_tuple = true;
    tuple.items.push_back(std::move(first));
    while (skip_operator(",")) tuple.items.push_back(parse_one_target(of_set));
    return tuple;
  }

  Target parse_one_target(bool of_set) {
    const DepthGuard guard(*this);
    if (skip_operator("(")) {
      Target inner = parse_target(of_set);
      expect_operator(")");
      return inner;
    }
    const Token token = expect(TokenKind::Name);
    for (const char* const constant : {"true", "false", "none", "True", "False", "None"})
      if (token.text == constant)
        fail_parse(ErrorCode::InvalidFile, "expected a name to assign to, got '{}'", token.text);
    if (token.text == "loop" && for_depth_ > 0)
      fail_parse(ErrorCode::InvalidFile, "expected another name in a loop, got 'loop'");
    Target target;
    target.name = name_id(token.text);
    if (of_set && skip_operator(".")) target.attribute = keep(expect(TokenKind::Name).text);
    return target;
  }

  void note_stores(const Target& target) {
    for (const Target& item : target.items) note_stores(item);
    if (target.is_tuple) return;
    target.attribute.empty() ? note_store(target.name) : note_load(target.name);
  }

  int for_depth_ = 0;   // for statements around
  int loop_depth_ = 0;  // loop bodies around that `break` can leave
};

}  // namespace

std::shared_ptr<const Program> parse_program(std::string_view source) {
  const auto program = std::make_shared<Program>();
  Parser(tokenize(source), *program).run();
  return program;
}

}  // namespace emlx::jinja
