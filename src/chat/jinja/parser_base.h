// The part of the parser that statements and expressions share; not for other files.
#pragma once

#include <fmt/format.h>

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "chat/jinja/ast.h"
#include "chat/jinja/lexer.h"

namespace emlx::jinja {

// Statements and expressions within each other, in the source. Deeper ones would need more stack
// than a thread is sure to have.
inline constexpr int kMaxParseDepth = 100;

// Parameters of a macro, and keyword arguments of a call.
inline constexpr std::size_t kMaxParameters = 255;

class ParserBase {
 protected:
  ParserBase(std::vector<Token> tokens, Program& program)
      : program_(program), tokens_(std::move(tokens)) {}

  class DepthGuard {
   public:
    explicit DepthGuard(ParserBase& parser) : parser_(parser) {
      if (++parser_.depth_ > kMaxParseDepth)
        parser_.fail_parse(ErrorCode::Unsupported,
                           "expected nesting of at most {} levels, got more", kMaxParseDepth);
    }
    ~DepthGuard() { --parser_.depth_; }
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;

   private:
    ParserBase& parser_;
  };

  template <typename... Args>
  [[noreturn]] void fail_parse(ErrorCode code, fmt::format_string<Args...> format,
                               Args&&... args) const {
    fail(code, "chat template line {}: {}", current().line,
         fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void fail_expected(std::string_view what) const;
  void limit_parameters(std::size_t count) const;

  const Token& current() const { return tokens_[at_]; }
  const Token& following() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token take();
  bool skip_name(std::string_view name);
  bool skip_operator(std::string_view sign);
  void expect_operator(std::string_view sign);
  void expect_name(std::string_view name);
  Token expect(TokenKind kind);

  std::string_view keep(std::string text);
  NameId name_id(const std::string& name);

  // Notes for what jinja2 decides about names before a template runs.
  void note_load(NameId name);
  void note_store(NameId name);

  // A filter or test nobody knows: an error unless an `if` leaves it to the rendering.
  struct Unknown {
    int line;
    std::string what;
  };
  void fail_unknown(std::size_t since) const;

  // An own set of variables begins: what stands in it is not at the top level, and not directly in
  // an `if` either.
  class FrameGuard {
   public:
    explicit FrameGuard(ParserBase& parser) : parser_(parser), unknown_(parser.unknown_.size()) {
      ++parser_.frame_depth_;
    }
    void close() const { parser_.fail_unknown(unknown_); }
    ~FrameGuard() { --parser_.frame_depth_; }
    FrameGuard(const FrameGuard&) = delete;
    FrameGuard& operator=(const FrameGuard&) = delete;

   private:
    ParserBase& parser_;
    std::size_t unknown_;
  };

  Program& program_;
  std::vector<Unknown> unknown_;
  int frame_depth_ = 0;
  int branch_depth_ = 0;                  // ifs around, at the top level
  std::vector<MacroDefinition*> macros_;  // those being parsed, innermost last

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::map<std::string, NameId, std::less<>> ids_;
  std::set<NameId> seen_at_top_;
};

class ExpressionParser : protected ParserBase {
 protected:
  using ParserBase::ParserBase;

  ExpressionPtr parse_expression(bool with_conditional = true);
  // One expression, or several with commas between them as a tuple.
  ExpressionPtr parse_tuple(bool with_conditional, bool in_parentheses = false);
  void parse_filter(ChainNode& chain);  // behind the '|'
  CallArguments parse_call_arguments();

 private:
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_comparison();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concat();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool with_filters = true);
  ExpressionPtr parse_primary();
  ExpressionPtr parse_number();
  ExpressionPtr parse_list();
  ExpressionPtr parse_dict();
  ExpressionPtr parse_operand() { return parse_unary(); }
  void parse_postfix(ChainNode& chain);
  void parse_filters_and_tests(ChainNode& chain);
  void parse_attribute(ChainNode& chain);
  void parse_subscript(ChainNode& chain);
  void parse_test(ChainNode& chain);
  ExpressionPtr parse_arithmetic(ExpressionPtr (ExpressionParser::*operand)(),
                                 std::span<const std::pair<std::string_view, Arithmetic>> signs);
};

}  // namespace emlx::jinja
