#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <iterator>

#include "base/quote.h"
#include "chat/jinja/parser_base.h"

namespace emlx::jinja {
namespace {

template <typename Node>
ExpressionPtr make(int line, Node node) {
  return std::make_unique<const Expression>(Expression{line, std::move(node)});
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::Text:
      return "text";
    case TokenKind::VariableBegin:
      return "'{{'";
    case TokenKind::VariableEnd:
      return "'}}'";
    case TokenKind::BlockBegin:
      return "'{%'";
    case TokenKind::BlockEnd:
      return "'%}'";
    case TokenKind::String:
      return "a string";
    case TokenKind::End:
      return "the end of the template";
    default:
      return quote(token.text);
  }
}

}  // namespace

void ParserBase::fail_expected(std::string_view what) const {
  fail_parse(ErrorCode::InvalidFile, "expected {}, got {}", what, describe(current()));
}

void ParserBase::limit_parameters(std::size_t count) const {
  if (count > kMaxParameters)
    fail_parse(ErrorCode::Unsupported, "expected at most {} parameters, got more", kMaxParameters);
}

Token ParserBase::take() {
  Token token = current();
  if (!token.is(TokenKind::End)) ++at_;
  return token;
}

bool ParserBase::skip_name(std::string_view name) {
  const bool found = current().is_name(name);
  if (found) take();
  return found;
}

bool ParserBase::skip_operator(std::string_view sign) {
  const bool found = current().is_operator(sign);
  if (found) take();
  return found;
}

void ParserBase::expect_operator(std::string_view sign) {
  if (!skip_operator(sign)) fail_expected(fmt::format("'{}'", sign));
}

void ParserBase::expect_name(std::string_view name) {
  if (!skip_name(name)) fail_expected(fmt::format("'{}'", name));
}

Token ParserBase::expect(TokenKind kind) {
  if (!current().is(kind))
    fail_expected(kind == TokenKind::Name ? "a name" : describe({kind, 0, ""}));
  return take();
}

std::string_view ParserBase::keep(std::string text) {
  return program_.texts.emplace_back(std::move(text));
}

NameId ParserBase::name_id(const std::string& name) {
  const auto [entry, is_new] = ids_.try_emplace(name, static_cast<NameId>(program_.names.size()));
  if (is_new) program_.names.push_back(keep(name));
  return entry->second;
}

void ParserBase::note_load(NameId name) {
  if (frame_depth_ == 0) seen_at_top_.insert(name);
  const std::string_view text = program_.names[static_cast<std::size_t>(name)];
  for (MacroDefinition* const macro : macros_) {
    macro->uses_caller |= text == "caller";
    macro->uses_varargs |= text == "varargs";
    macro->uses_kwargs |= text == "kwargs";
  }
}

void ParserBase::note_store(NameId name) {
  if (frame_depth_ == 0 && seen_at_top_.insert(name).second && branch_depth_ == 0)
    program_.set_first.push_back(name);
}

void ParserBase::fail_unknown(std::size_t since) const {
  if (unknown_.size() <= since) return;
  fail(ErrorCode::InvalidFile, "chat template line {}: {}", unknown_[since].line,
       unknown_[since].what);
}

ExpressionPtr ExpressionParser::parse_expression(bool with_conditional) {
  const DepthGuard guard(*this);
  const std::size_t unknown = unknown_.size();
  ExpressionPtr value = parse_or();
  if (!with_conditional || !current().is_name("if")) return value;
  const int line = take().line;
  ConditionalNode node;
  node.then = std::move(value);
  node.condition = parse_or();
  if (skip_name("else")) node.otherwise = parse_expression();
  if (current().is_name("if"))
    fail_parse(ErrorCode::Unsupported, "expected 'else' between two ifs, got 'if'");
  unknown_.resize(unknown);
  return make(line, std::move(node));
}

ExpressionPtr ExpressionParser::parse_tuple(bool with_conditional, bool in_parentheses) {
  const int line = current().line;
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  while (true) {
    const Token& token = current();
    if (token.is(TokenKind::VariableEnd) || token.is(TokenKind::BlockEnd) || token.is_operator(")"))
      break;
    items.push_back(parse_expression(with_conditional));
    if (!skip_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items[0]);
  if (!is_tuple && !in_parentheses) fail_expected("an expression");
  return make(line, SequenceNode{Kind::Tuple, std::move(items)});
}

ExpressionPtr ExpressionParser::parse_or() {
  const int line = current().line;
  ExpressionPtr first = parse_and();
  if (!current().is_name("or")) return first;
  LogicNode node{true, {}};
  node.operands.push_back(std::move(first));
  while (skip_name("or")) node.operands.push_back(parse_and());
  return make(line, std::move(node));
}

ExpressionPtr ExpressionParser::parse_and() {
  const int line = current().line;
  ExpressionPtr first = parse_not();
  if (!current().is_name("and")) return first;
  LogicNode node{false, {}};
  node.operands.push_back(std::move(first));
  while (skip_name("and")) node.operands.push_back(parse_not());
  return make(line, std::move(node));
}

ExpressionPtr ExpressionParser::parse_not() {
  if (!current().is_name("not")) return parse_comparison();
  const DepthGuard guard(*this);
  const int line = take().line;
  return make(line, UnaryNode{UnaryNode::Operator::Not, parse_not()});
}

ExpressionPtr ExpressionParser::parse_comparison() {
  static constexpr std::pair<std::string_view, Comparison> kSigns[] = {
      {"==", Comparison::Equal},     {"!=", Comparison::NotEqual}, {"<", Comparison::Less},
      {"<=", Comparison::LessEqual}, {">", Comparison::Greater},   {">=", Comparison::GreaterEqual},
  };
  const int line = current().line;
  CompareNode node;
  node.first = parse_sum();
  while (true) {
    const auto* const sign = std::find_if(
        std::begin(kSigns), std::end(kSigns),
        [this](const auto& candidate) { return current().is_operator(candidate.first); });
    if (sign != std::end(kSigns)) {
      take();
      node.rest.emplace_back(sign->second, parse_sum());
    } else if (skip_name("in")) {
      node.rest.emplace_back(Comparison::In, parse_sum());
    } else if (current().is_name("not") && following().is_name("in")) {
      take();
      take();
      node.rest.emplace_back(Comparison::NotIn, parse_sum());
    } else {
      break;
    }
  }
  if (node.rest.empty()) return std::move(node.first);
  return make(line, std::move(node));
}

ExpressionPtr ExpressionParser::parse_arithmetic(
    ExpressionPtr (ExpressionParser::*operand)(),
    std::span<const std::pair<std::string_view, Arithmetic>> signs) {
  const int line = current().line;
  ArithmeticNode node;
  node.first = (this->*operand)();
  while (true) {
    const auto sign = std::find_if(signs.begin(), signs.end(), [this](const auto& candidate) {
      return current().is_operator(candidate.first);
    });
    if (sign == signs.end()) break;
    take();
    node.rest.emplace_back(sign->second, (this->*operand)());
  }
  if (node.rest.empty()) return std::move(node.first);
  return make(line, std::move(node));
}

ExpressionPtr ExpressionParser::parse_sum() {
  static constexpr std::pair<std::string_view, Arithmetic> kSigns[] = {{"+", Arithmetic::Add},
                                                                       {"-", Arithmetic::Subtract}};
  return parse_arithmetic(&ExpressionParser::parse_concat, kSigns);
}

ExpressionPtr ExpressionParser::parse_concat() {
  const int line = current().line;
  ExpressionPtr first = parse_product();
  if (!current().is_operator("~")) return first;
  ConcatNode node;
  node.operands.push_back(std::move(first));
  while (skip_operator("~")) node.operands.push_back(parse_product());
  return make(line, std::move(node));
}

ExpressionPtr ExpressionParser::parse_product() {
  static constexpr std::pair<std::string_view, Arithmetic> kSigns[] = {
      {"*", Arithmetic::Multiply},
      {"/", Arithmetic::Divide},
      {"//", Arithmetic::FloorDivide},
      {"%", Arithmetic::Modulo}};
  return parse_arithmetic(&ExpressionParser::parse_power, kSigns);
}

ExpressionPtr ExpressionParser::parse_power() {
  static constexpr std::pair<std::string_view, Arithmetic> kSigns[] = {{"**", Arithmetic::Power}};
  return parse_arithmetic(&ExpressionParser::parse_operand, kSigns);
}

ExpressionPtr ExpressionParser::parse_unary(bool with_filters) {
  const DepthGuard guard(*this);
  const int line = current().line;
  ChainNode chain;
  if (skip_operator("-")) {
    chain.first = make(line, UnaryNode{UnaryNode::Operator::Minus, parse_unary(false)});
  } else if (skip_operator("+")) {
    chain.first = make(line, UnaryNode{UnaryNode::Operator::Plus, parse_unary(false)});
  } else {
    chain.first = parse_primary();
  }
  parse_postfix(chain);
  if (with_filters) parse_filters_and_tests(chain);
  if (chain.links.empty()) return std::move(chain.first);
  return make(line, std::move(chain));
}

ExpressionPtr ExpressionParser::parse_primary() {
  const Token token = current();
  if (token.is(TokenKind::Integer) || token.is(TokenKind::Float)) return parse_number();
  if (token.is_operator("[")) return parse_list();
  if (token.is_operator("{")) return parse_dict();
  if (token.is_operator("(")) {
    take();
    ExpressionPtr inner = parse_tuple(true, true);
    expect_operator(")");
    return inner;
  }
  if (token.is(TokenKind::String)) {
    std::string text;
    while (current().is(TokenKind::String)) text += take().text;
    program_.literals.push_back(keep(std::move(text)));
    return make(token.line, ConstantNode{Value::string(program_.literals.back())});
  }
  if (!token.is(TokenKind::Name)) fail_expected("an expression");
  take();
  if (token.text == "true" || token.text == "True")
    return make(token.line, ConstantNode{Value::boolean(true)});
  if (token.text == "false" || token.text == "False")
    return make(token.line, ConstantNode{Value::boolean(false)});
  if (token.text == "none" || token.text == "None")
    return make(token.line, ConstantNode{Value::none()});
  if (token.text == "self" || (is_unsupported_function(token.text) && current().is_operator("(")))
    fail_parse(ErrorCode::Unsupported, "expected a supported function or variable, got '{}'",
               token.text);
  const NameId name = name_id(token.text);
  note_load(name);
  return make(token.line, NameNode{name});
}

ExpressionPtr ExpressionParser::parse_number() {
  const Token token = take();
  std::string digits = token.text;
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  if (token.is(TokenKind::Float))
    return make(token.line, ConstantNode{Value::real(std::strtod(digits.c_str(), nullptr))});
  std::int64_t number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (parsed.ec != std::errc())
    fail_parse(ErrorCode::Unsupported, "expected an integer of 64 bits, got {}", digits);
  return make(token.line, ConstantNode{Value::integer(number)});
}

ExpressionPtr ExpressionParser::parse_list() {
  const int line = take().line;
  SequenceNode node{Kind::List, {}};
  while (!current().is_operator("]")) {
    node.items.push_back(parse_expression());
    if (!skip_operator(",")) break;
  }
  expect_operator("]");
  return make(line, std::move(node));
}

ExpressionPtr ExpressionParser::parse_dict() {
  const int line = take().line;
  DictNode node;
  while (!current().is_operator("}")) {
    ExpressionPtr key = parse_expression();
    expect_operator(":");
    ExpressionPtr value = parse_expression();
    node.entries.emplace_back(std::move(key), std::move(value));
    if (!skip_operator(",")) break;
  }
  expect_operator("}");
  return make(line, std::move(node));
}

}  // namespace emlx::jinja
