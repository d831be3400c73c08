// Templates as tokens, with jinja2's rules for white space (trim_blocks and lstrip_blocks on).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emlx::jinja {

enum class TokenKind : std::uint8_t {
  Text,           // outside of all tags
  VariableBegin,  // {{
  VariableEnd,
  BlockBegin,  // {%
  BlockEnd,
  Name,
  String,  // `text` is its value
  Integer,
  Float,
  Operator,
  End,
};

struct Token {
  TokenKind kind;
  int line;
  std::string text;

  bool is(TokenKind wanted) const { return kind == wanted; }
  bool is(TokenKind wanted, std::string_view what) const { return kind == wanted && text == what; }
  bool is_name(std::string_view name) const { return is(TokenKind::Name, name); }
  bool is_operator(std::string_view sign) const { return is(TokenKind::Operator, sign); }
};

// Ends with an End token. Throws Error(InvalidFile or Unsupported): "chat template line N: ...".
std::vector<Token> tokenize(std::string_view source);

}  // namespace emlx::jinja
