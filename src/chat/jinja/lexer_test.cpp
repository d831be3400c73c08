#include "chat/jinja/lexer.h"

#include <gtest/gtest.h>

#include <string>

#include "chat/test_support.h"

namespace emlx::jinja {
namespace {

// Texts in brackets, everything else as it is written.
std::string lex(std::string_view source) {
  std::string out;
  for (const Token& token : tokenize(source)) {
    switch (token.kind) {
      case TokenKind::Text:
      case TokenKind::String:
        out += "[" + token.text + "]";
        break;
      case TokenKind::VariableBegin:
        out += "{{";
        break;
      case TokenKind::VariableEnd:
        out += "}}";
        break;
      case TokenKind::BlockBegin:
        out += "{%";
        break;
      case TokenKind::BlockEnd:
        out += "%}";
        break;
      case TokenKind::End:
        break;
      default:
        out += " " + token.text;
    }
  }
  return out;
}

TEST(Lexer, TakesOneLineEndBehindABlockAndTheSpaceBeforeIt) {
  EXPECT_EQ(lex("a\n  {% x %}\n\nb"), "[a\n]{% x%}[\nb]");
  EXPECT_EQ(lex("a {% x %} b"), "[a ]{% x%}[ b]");
  EXPECT_EQ(lex("  {% x %}\n  {% y %}\n"), "{% x%}{% y%}");
  EXPECT_EQ(lex("  {{ x }}\nb"), "[  ]{{ x}}[\nb]");
  EXPECT_EQ(lex("  {# c #}\nb"), "[b]");
}

TEST(Lexer, ObeysTheSignsOfTags) {
  EXPECT_EQ(lex("a \n {%- x -%} \n b"), "[a]{% x%}[b]");
  EXPECT_EQ(lex("a \n {%+ x +%}\nb"), "[a \n ]{% x%}[\nb]");
  EXPECT_EQ(lex("a {{- x -}} b"), "[a]{{ x}}[b]");
  EXPECT_EQ(lex("a \n{#- c -#}\n b"), "[a][b]");
}

TEST(Lexer, LeavesRawTextAlone) {
  EXPECT_EQ(lex("{% raw %}\n{{ x }} {% y %}{% endraw %}\nz"), "[\n{{ x }} {% y %}][z]");
  EXPECT_EQ(lex("{%- raw -%} a {%- endraw -%} b"), "[a][b]");
}

TEST(Lexer, NormalizesLineEndsAndDropsTheLast) {
  EXPECT_EQ(lex("a\r\nb\rc\n"), "[a\nb\nc]");
  EXPECT_EQ(lex("a\n\n"), "[a\n]");
}

TEST(Lexer, EndsATagOnlyOutsideOfBracketsAndStrings) {
  EXPECT_EQ(lex("{{ {'a': {}} }}"), "{{ {[a] : { } }}}");
  EXPECT_EQ(lex("{{ '}}' }}"), "{{[}}]}}");
  EXPECT_EQ(error_of([] { tokenize("a\n{{ (b }}"); }),
            "invalid_file: chat template line 2: expected ')', got '}'");
}

TEST(Lexer, CutsNumbersAndOperatorsAsLongAsTheyGo) {
  EXPECT_EQ(lex("{{ 1.5e3**2//x.0.1!=a }}"), "{{ 1.5e3 ** 2 // x . 0 . 1 != a}}");
  EXPECT_EQ(lex("{{ 1_000 1.a }}"), "{{ 1_000 1 . a}}");
}

TEST(Lexer, ReadsTheEscapesOfStrings) {
  EXPECT_EQ(lex(R"({{ '\n\x41\u00e9\U0001F600\101\'\q\
' }})"),
            "{{[\nAé😀A'\\q]}}");
}

TEST(Lexer, CountsLines) {
  const std::vector<Token> tokens = tokenize("a\n{%- x\n\ny -%}\n\n{{ '\n' z }}");
  ASSERT_EQ(tokens.size(), 10u);
  EXPECT_EQ(tokens[0].line, 1);
  EXPECT_EQ(tokens[2].line, 2);  // x
  EXPECT_EQ(tokens[3].line, 4);  // y
  EXPECT_EQ(tokens[6].line, 6);
  EXPECT_EQ(tokens[7].line, 7);  // z
}

}  // namespace
}  // namespace emlx::jinja
