// What follows a value in an expression: attributes, subscripts, calls, filters and tests.
#include <algorithm>

#include "base/quote.h"
#include "chat/jinja/parser_base.h"

namespace emlx::jinja {

void ExpressionParser::parse_postfix(ChainNode& chain) {
  while (true) {
    if (current().is_operator(".")) {
      parse_attribute(chain);
    } else if (current().is_operator("[")) {
      parse_subscript(chain);
    } else if (current().is_operator("(")) {
      const int line = current().line;
      chain.links.push_back({line, CallLink{parse_call_arguments()}});
    } else {
      return;
    }
  }
}

void ExpressionParser::parse_filters_and_tests(ChainNode& chain) {
  while (true) {
    if (skip_operator("|")) {
      parse_filter(chain);
    } else if (current().is_name("is")) {
      parse_test(chain);
    } else if (current().is_operator("(")) {
      const int line = current().line;
      chain.links.push_back({line, CallLink{parse_call_arguments()}});
    } else {
      return;
    }
  }
}

void ExpressionParser::parse_attribute(ChainNode& chain) {
  const int line = take().line;
  if (current().is(TokenKind::Name)) {
    chain.links.push_back({line, AttributeLink{keep(take().text)}});
  } else if (current().is(TokenKind::Integer)) {
    chain.links.push_back({line, ItemLink{parse_number()}});
  } else {
    fail_expected("a name or number behind '.'");
  }
}

void ExpressionParser::parse_subscript(ChainNode& chain) {
  const int line = take().line;
  const auto at_end_of_part = [this] {
    return current().is_operator(":") || current().is_operator("]") || current().is_operator(",");
  };
  ExpressionPtr parts[3];
  bool is_slice = false;
  std::size_t part = 0;
  for (;; ++part) {
    if (!at_end_of_part()) parts[part] = parse_expression();
    if (part == 2 || !skip_operator(":")) break;
    is_slice = true;
  }
  if (!is_slice && current().is_operator(","))
    fail_parse(ErrorCode::Unsupported, "expected one subscript, got several");
  if (!is_slice && !parts[0]) fail_expected("a subscript");
  expect_operator("]");
  if (is_slice) {
    chain.links.push_back(
        {line, SliceLink{std::move(parts[0]), std::move(parts[1]), std::move(parts[2])}});
  } else {
    chain.links.push_back({line, ItemLink{std::move(parts[0])}});
  }
}

CallArguments ExpressionParser::parse_call_arguments() {
  CallArguments arguments;
  expect_operator("(");
  while (!current().is_operator(")")) {
    if (skip_operator("**")) {
      if (arguments.more_keywords) fail_expected("one '**' in a call");
      arguments.more_keywords = parse_expression();
    } else if (arguments.more_keywords) {
      fail_expected("nothing behind '**' in a call");
    } else if (current().is(TokenKind::Name) && following().is_operator("=")) {
      const std::string_view name = keep(take().text);
      take();
      const bool twice = std::any_of(arguments.keywords.begin(), arguments.keywords.end(),
                                     [name](const auto& keyword) { return keyword.first == name; });
      if (twice) fail_expected(fmt::format("one argument {}", quote(name)));
      arguments.keywords.emplace_back(name, parse_expression());
      limit_parameters(arguments.keywords.size());
    } else if (arguments.more_positional) {
      fail_expected("only keyword arguments behind '*' in a call");
    } else if (skip_operator("*")) {
      arguments.more_positional = parse_expression();
    } else if (!arguments.keywords.empty()) {
      fail_expected("only keyword arguments behind a keyword argument");
    } else {
      arguments.positional.push_back(parse_expression());
    }
    if (!skip_operator(",")) break;
  }
  expect_operator(")");
  return arguments;
}

void ExpressionParser::parse_filter(ChainNode& chain) {
  const Token name = expect(TokenKind::Name);
  if (is_unsupported_filter(name.text))
    fail_parse(ErrorCode::Unsupported, "expected a supported filter, got '{}'", name.text);
  FilterLink link{keep(name.text), find_filter(name.text), {}};
  if (link.filter == nullptr)
    unknown_.push_back({name.line, fmt::format("expected a filter, got {}", quote(name.text))});
  if (current().is_operator("(")) link.arguments = parse_call_arguments();
  chain.links.push_back({name.line, std::move(link)});
}

void ExpressionParser::parse_test(ChainNode& chain) {
  const int line = take().line;
  const bool negated = skip_name("not");
  const Token name = expect(TokenKind::Name);
  TestLink link{keep(name.text), find_test(name.text), negated, {}};
  if (link.test == nullptr)
    unknown_.push_back({name.line, fmt::format("expected a test, got {}", quote(name.text))});
  const Token& next = current();
  const bool has_argument =
      next.is(TokenKind::String) || next.is(TokenKind::Integer) || next.is(TokenKind::Float) ||
      next.is_operator("[") || next.is_operator("{") ||
      (next.is(TokenKind::Name) && next.text != "else" && next.text != "or" && next.text != "and");
  if (next.is_operator("(")) {
    link.arguments = parse_call_arguments();
  } else if (has_argument) {
    if (next.is_name("is")) fail_expected("one test");
    ChainNode argument;
    argument.first = parse_primary();
    parse_postfix(argument);
    link.arguments.positional.push_back(
        argument.links.empty()
            ? std::move(argument.first)
            : std::make_unique<const Expression>(Expression{line, std::move(argument)}));
  }
  chain.links.push_back({line, std::move(link)});
}

}  // namespace emlx::jinja
