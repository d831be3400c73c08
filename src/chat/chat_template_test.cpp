#include "chat/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "chat/test_support.h"

namespace emlx {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kMessages = R"({"messages": [
  {"role": "system", "content": "S"}, {"role": "user", "content": "U1"},
  {"role": "assistant", "content": "A"}, {"role": "user", "content": "U2"}]})";

std::string text(const JsonValue& value) {
  return {value.as_string().data(), value.as_string().size()};
}

std::string render_qwen3(std::string_view variables) {
  return render(fixture("chat/qwen3.jinja"), variables);
}

TEST(ChatTemplate, RendersTheCasesAsJinja2Does) {
  for (const auto& member : object(fixture("chat/jinja_expected.json"))) {
    const std::string source = text(member.value().at("template"));
    const JsonValue& expected = member.value().at("expected");
    if (expected.is_string()) {
      EXPECT_EQ(render(source, kMessages), text(expected)) << member.key();
    } else {
      EXPECT_EQ("TemplateError: " + render_error(source, kMessages).substr(18),
                text(expected.at("error")));
    }
  }
}

class Snippets : public testing::Test {
 protected:
  const JsonObject snippets_ = object(fixture("chat/snippets_expected.json"));
  const JsonObject& variables_ = snippets_.at("variables").as_object();

  std::string error_of_rendering(const JsonValue& source) {
    return error_of([&] { ChatTemplate::parse(text(source)).render(variables_); });
  }
};

TEST_F(Snippets, RenderAsJinja2RendersThem) {
  for (const JsonValue& snippet : snippets_.at("rendered").as_array()) {
    const std::string source = text(snippet.at(0));
    SCOPED_TRACE(source);
    try {
      EXPECT_EQ(ChatTemplate::parse(source).render(variables_), text(snippet.at(1)));
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST_F(Snippets, RaiseTheirOwnMessageAlone) {
  for (const JsonValue& snippet : snippets_.at("raised").as_array())
    EXPECT_EQ(error_of_rendering(snippet.at(0)), "invalid_argument: " + text(snippet.at(1)));
}

TEST_F(Snippets, FailOnParsingWithTheLine) {
  for (const JsonValue& source : snippets_.at("syntax_errors").as_array())
    EXPECT_THAT(error_of([&] { ChatTemplate::parse(text(source)); }),
                StartsWith("invalid_file: chat template line 1: expected "))
        << source;
}

TEST_F(Snippets, FailOnRenderingWithTheLine) {
  for (const JsonValue& source : snippets_.at("render_errors").as_array())
    EXPECT_THAT(error_of_rendering(source), StartsWith("invalid_argument: ")) << source;
}

TEST_F(Snippets, AreRefusedByNameWhenParsed) {
  for (const JsonValue& source : snippets_.at("unsupported").as_array())
    EXPECT_THAT(error_of([&] { ChatTemplate::parse(text(source)); }),
                StartsWith("unsupported: chat template line 1: expected "))
        << source;
}

TEST_F(Snippets, AreRefusedByNameWhenRendered) {
  for (const JsonValue& source : snippets_.at("unsupported_render").as_array())
    EXPECT_THAT(error_of_rendering(source), StartsWith("unsupported: chat template line 1: "))
        << source;
}

TEST(ChatTemplate, RendersTheStockQwen3Template) {
  EXPECT_EQ(render_qwen3(R"({"messages": [{"role": "user", "content": "hi"}],
                             "tools": null, "add_generation_prompt": true})"),
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
}

TEST(ChatTemplate, Qwen3StripsTheThinkingOfEarlierTurns) {
  EXPECT_EQ(render_qwen3(R"({"messages": [{"role": "user", "content": "hi"},
      {"role": "assistant", "content": "<think>\nabc\n</think>\n\nans"},
      {"role": "user", "content": "q2"}], "add_generation_prompt": true})"),
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nans<|im_end|>\n"
            "<|im_start|>user\nq2<|im_end|>\n<|im_start|>assistant\n");
}

TEST(ChatTemplate, Qwen3ThinksUnlessToldNotTo) {
  const auto prompt = [](const std::string& kwarg) {
    return render_qwen3(R"({"messages": [{"role": "user", "content": "hi"}],
                            "add_generation_prompt": true)" +
                        kwarg + "}");
  };
  EXPECT_THAT(prompt(""), EndsWith("<|im_end|>\n<|im_start|>assistant\n"));
  EXPECT_THAT(prompt(R"(, "enable_thinking": true)"),
              EndsWith("<|im_end|>\n<|im_start|>assistant\n"));
  EXPECT_THAT(prompt(R"(, "enable_thinking": false)"),
              EndsWith("<|im_start|>assistant\n<think>\n\n</think>\n\n"));
}

TEST(ChatTemplate, Qwen3PrintsToolsInTheirOrderWithPythonsSpacing) {
  const std::string prompt = render_qwen3(R"({"messages": [{"role": "user", "content": "hi"}],
      "tools": [{"type": "function", "function": {"name": "f", "description": "a/b <i>&'你",
        "parameters": {"properties": {"b": {"default": 1.0}, "a": {"maximum": 1e3}}}}}]})");
  EXPECT_THAT(prompt, HasSubstr(R"({"type": "function", "function": {"name": "f", )"
                                R"("description": "a/b <i>&'你", "parameters": {"properties": )"
                                R"({"b": {"default": 1.0}, "a": {"maximum": 1000.0}}}}})"));
}

TEST(ChatTemplate, RendersTheSmolLm2Template) {
  const std::string source = fixture("chat/smollm2.jinja");
  EXPECT_EQ(render(source, R"({"messages": [{"role": "user", "content": "hi"}],
                               "add_generation_prompt": true})"),
            "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
            "Face<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(render(source, R"({"messages": [{"role": "system", "content": "S"}],
                               "add_generation_prompt": false})"),
            "<|im_start|>system\nS<|im_end|>\n");
}

TEST(ChatTemplate, SaysWhatWasExpectedAndOnWhichLine) {
  EXPECT_EQ(render_error("a\n\n{% if x %}\n{{ 1 + }}\n{% endif %}"),
            "invalid_file: chat template line 4: expected an expression, got '}}'");
  EXPECT_EQ(render_error("{% for x in y %}\n"),
            "invalid_file: chat template line 1: expected 'endfor', got the end of the template");
  EXPECT_EQ(render_error("{{ 'a' }}\n{% if true %}\n{{ x|nope }}{% for i in x %}{{ i|nope }}"
                         "{% endfor %}{% endif %}"),
            "invalid_file: chat template line 3: expected a filter, got \"nope\"");
  EXPECT_EQ(render_error("\n{% include 'x' %}"),
            "unsupported: chat template line 2: expected a supported tag, got 'include'");
  EXPECT_EQ(render_error("{{ 1 }}\n{{ messages.x }}"),
            "invalid_argument: chat template line 2: expected a value, got undefined \"messages\"");
  EXPECT_EQ(render_error("{{ m['a\nb'].x }}", R"({"m": {}})"),
            "invalid_argument: chat template line 2: expected a value, got undefined \"a\\nb\"");
  EXPECT_EQ(
      render_error("{% macro f() %}\n{{ none + 1 }}{% endmacro %}\n\n{{ f() }}"),
      "invalid_argument: chat template line 2: +: expected operands that fit, got None and int");
}

TEST(ChatTemplate, RefusesWhatIsNoText) {
  EXPECT_EQ(render_error("a\n\xFF"),
            "invalid_file: chat template line 1: expected UTF-8, got other bytes");
  EXPECT_THAT(render_error(std::string(std::size_t{5} << 20, 'x')), HasSubstr("4194304 bytes"));
}

TEST(ChatTemplate, KnowsItsLiterals) {
  const ChatTemplate parsed = ChatTemplate::parse("developer {{ 'devel' 'oper' if x == 'a b' }}");
  EXPECT_TRUE(parsed.has_literal("developer"));
  EXPECT_TRUE(parsed.has_literal("a b"));
  EXPECT_FALSE(parsed.has_literal("a"));
  EXPECT_FALSE(ChatTemplate::parse("developer").has_literal("developer"));
}

// Each would take the machine's memory, its stack, or forever.
TEST(ChatTemplate, StopsTemplatesThatAskForTooMuch) {
  const auto repeat = [](const std::string& part, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += part;
    return out;
  };
  std::string many_names, many_arguments;
  for (int i = 0; i < 300; ++i) {
    many_names += "a" + std::to_string(i) + ",";
    many_arguments += "a" + std::to_string(i) + "=1,";
  }
  struct Hostile {
    std::string source;
    const char* limit;  // what the message names
  };
  const std::vector<Hostile> hostile = {
      {"{{ range(10 ** 9) }}", "range: expected at most 100000 items"},
      {"{{ 'a' * 10 ** 9 }}", "a text of at most 16777216 bytes"},
      {"{% for i in range(30) %}{% set x = 'a' * 10000000 %}{% endfor %}",
       "at most 268435456 bytes of values"},
      {"{% for i in range(20) %}{{ 'a' * 1000000 }}{% endfor %}",
       "a text of at most 16777216 bytes"},
      {"{{ 'a'.center(10 ** 12) }}", "a text of at most 16777216 bytes"},
      {"{{ ('a' * 100000).replace('a', 'b' * 100000) }}", "a text of at most 16777216 bytes"},
      {"{{ [1]|tojson(indent=10 ** 10) }}", "a text of at most 16777216 bytes"},
      {"{{ 9 ** 9 ** 9 }}", "a result of 64 bits"},
      {"{{ 9223372036854775807 + 1 }}", "a result of 64 bits"},
      {"{{ '%99999d' % 1 }}", "a width of at most 1000"},
      {"{{ strftime_now('%c' * 10000) }}", "a date of at most 4096 bytes"},
      {"{{ ('a' * 2000000).count('a' * 1000000 ~ 'b') }}", "at most 30000000 steps"},
      {"{% set path = 'a' * 16000000 %}{% for i in range(300) %}"
       "{% set x = []|sort(attribute=path) %}{% endfor %}",
       "at most 30000000 steps"},
      {"{% set end = 'a' * 16000000 %}{% for i in range(300) %}"
       "{% set x = 'x'|truncate(20000000, false, end) %}{% endfor %}",
       "at most 30000000 steps"},
      {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "calls nested at most 600 deep"},
      {"{% macro f(x=f()) %}{% endmacro %}{{ f() }}", "calls nested at most 600 deep"},
      {"{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns.x }}", "got one within itself"},
      {"{% set ns = namespace(x=[1]) %}{% for i in range(100) %}{% set ns.x = [ns.x, ns.x] %}"
       "{% endfor %}{{ ns.x == ns.x }}",
       "at most 30000000 steps"},
      {"{% set ns = namespace(x=[]) %}{% for i in range(999) %}{% set ns.x = [ns.x] %}{% endfor %}",
       "values nested at most 200 deep"},
      {"{% set ns = namespace(x=[1]) %}{% for i in range(999) %}{% set ns.x = ns.x|map('string') %}"
       "{% endfor %}{{ ns.x|list }}",
       "values nested at most 200 deep"},
      {"{{ " + repeat("(", 500) + "1" + repeat(")", 500) + " }}", "nesting of at most 100 levels"},
      {"{{ " + repeat("not ", 500) + "1 }}", "nesting of at most 100 levels"},
      {"{{ 1" + repeat(" if 1 else 1", 500) + " }}", "nesting of at most 100 levels"},
      {repeat("{% if 1 %}", 500) + repeat("{% endif %}", 500), "nesting of at most 100 levels"},
      {"{% macro f(" + many_names + ") %}{% endmacro %}", "at most 255 parameters"},
      {"{{ f(" + many_arguments + ") }}", "at most 255 parameters"},
      {"{% for " + repeat("(", 500) + "a" + repeat(")", 500) + " in x %}{% endfor %}",
       "nesting of at most 100 levels"},
  };
  for (const auto& [source, limit] : hostile)
    EXPECT_THAT(render_error(source), HasSubstr(limit)) << source.substr(0, 100);
}

TEST(ChatTemplate, RendersLongChainsWithoutDepth) {
  std::string sum = "{{ 1", filters = "{{ 'a'", branches = "{% if 0 %}";
  for (int i = 0; i < 20000; ++i) {
    sum += "+1";
    filters += "|trim";
    branches += "{% elif 0 %}";
  }
  EXPECT_EQ(render(sum + " }}"), "20001");
  EXPECT_EQ(render(filters + " }}"), "a");
  EXPECT_EQ(render(branches + "{% else %}b{% endif %}"), "b");
}

TEST(ChatTemplate, RecursesAsDeepAsNestedSchemasNeed) {
  EXPECT_EQ(render("{% macro f(n) %}{% if n %}{% for x in [n] %}{{ f(x - 1) }}{% endfor %}"
                   "{% else %}end{% endif %}{% endmacro %}{{ f(64) }}"),
            "end");
}

TEST(ChatTemplate, MayBeRenderedByManyThreads) {
  const ChatTemplate parsed = ChatTemplate::parse(fixture("chat/qwen3.jinja"));
  const JsonObject variables = object(kMessages);
  const std::string expected = parsed.render(variables);
  std::vector<std::string> rendered(4);
  std::vector<std::thread> threads;
  for (std::string& out : rendered)
    threads.emplace_back([&out, parsed, &variables] {
      for (int i = 0; i < 20; ++i) out = parsed.render(variables);
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& out : rendered) EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace emlx
