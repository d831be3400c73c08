#include "chat/prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "chat/test_support.h"

namespace emlx {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string qwen3(std::string_view messages, const ChatOptions& options = {}) {
  return render_chat(ChatTemplate::parse(fixture("chat/qwen3.jinja")), array(messages), options,
                     {});
}

// Every message as the template sees it.
std::string seen(std::string_view messages) {
  return render_chat(ChatTemplate::parse("{{ messages|tojson }}"), array(messages), {}, {});
}

std::string error(std::string_view messages, const ChatOptions& options = {}) {
  return error_of([&] { qwen3(messages, options); });
}

TEST(RenderChat, JoinsTextPartsToOneString) {
  const std::string parts = R"([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])";
  for (const char* const role : {"system", "user", "assistant", "tool"}) {
    const std::string start =
        R"([{"role": "user", "content": "q"}, {"role": ")" + std::string(role);
    EXPECT_EQ(qwen3(start + R"(", "content": )" + parts + "}]"),
              qwen3(start + R"(", "content": "ab"}])"));
  }
  EXPECT_EQ(qwen3(R"([{"role": "user", "content": []}])"),
            qwen3(R"([{"role": "user", "content": ""}])"));
}

TEST(RenderChat, NamesThePartItCannotTake) {
  EXPECT_EQ(error(R"([{"role": "user", "content": "x"}, {"role": "user", "content": [
                     {"type": "text", "text": "a"}, {"type": "image_url"}]}])"),
            "invalid_argument: messages[1].content[1].type: expected \"text\", got \"image_url\"");
  EXPECT_EQ(error(R"([{"role": "user", "content": [{"type": "text"}]}])"),
            "invalid_argument: messages[0].content[0].text: expected a string, got nothing");
  EXPECT_EQ(error(R"([{"role": "user", "content": [{"text": "a"}]}])"),
            "invalid_argument: messages[0].content[0].type: expected a string, got nothing");
  EXPECT_EQ(error(R"([{"role": "user", "content": ["a"]}])"),
            "invalid_argument: messages[0].content[0]: expected an object, got a string");
}

TEST(RenderChat, TakesAnAssistantWithoutContent) {
  const std::string call =
      R"("tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}}]}, )"
      R"({"role": "tool", "content": "ok"}])";
  const std::string start = R"([{"role": "user", "content": "hi"}, {"role": "assistant", )";
  const std::string expected =
      "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n<tool_call>\n"
      "{\"name\": \"f\", \"arguments\": {\"x\": 1}}\n</tool_call><|im_end|>\n<|im_start|>user\n"
      "<tool_response>\nok\n</tool_response><|im_end|>\n<|im_start|>assistant\n";
  const std::string prompt = qwen3(start + R"("content": null, )" + call);
  EXPECT_EQ(prompt, qwen3(start + R"("content": "", )" + call));
  EXPECT_EQ(prompt, qwen3(start + call));
  EXPECT_THAT(prompt, HasSubstr("{\"name\": \"f\", \"arguments\": {\"x\": 1}}"));
  EXPECT_THAT(prompt, Not(HasSubstr("None")));
}

TEST(RenderChat, WantsContentFromEverybodyElse) {
  EXPECT_EQ(error(R"([{"role": "user"}])"),
            "invalid_argument: messages[0].content: expected a string or a list of text parts, got "
            "nothing");
  EXPECT_EQ(error(R"([{"role": "system", "content": null}])"),
            "invalid_argument: messages[0].content: expected a string or a list of text parts, got "
            "null");
  EXPECT_EQ(error(R"([{"role": "assistant", "content": 5}])"),
            "invalid_argument: messages[0].content: expected a string or a list of text parts, got "
            "a number");
}

TEST(RenderChat, DecodesTheArgumentsOfToolCalls) {
  const auto arguments = [](const std::string& json) {
    return render_chat(
        ChatTemplate::parse("{{ messages[0].tool_calls[0].function.arguments|tojson }}"),
        array(R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f")" + json +
              "}}]}]"),
        {}, {});
  };
  EXPECT_EQ(arguments(R"(, "arguments": "{\"x\":1,\"y\":\"é<b>\"}")"), R"({"x": 1, "y": "é<b>"})");
  EXPECT_EQ(arguments(R"(, "arguments": {"x": 1.0})"), R"({"x": 1.0})");
  for (const char* const nothing : {R"(, "arguments": "")", R"(, "arguments": null)",
                                    R"(, "arguments": "null")", R"(, "arguments": "{}")", ""})
    EXPECT_EQ(arguments(nothing), "{}") << nothing;
}

TEST(RenderChat, NamesTheToolCallItCannotTake) {
  const auto call_error = [](const std::string& calls) {
    return error(R"([{"role": "user", "content": ""}, {"role": "assistant", "tool_calls": )" +
                 calls + "}]");
  };
  EXPECT_THAT(call_error(R"([{"function": {"name": "f", "arguments": "{x"}}])"),
              HasSubstr("messages[1].tool_calls[0].function.arguments: expected JSON, got "));
  EXPECT_EQ(
      call_error(R"([{"function": {"name": "f", "arguments": "[1]"}}])"),
      "invalid_argument: messages[1].tool_calls[0].function.arguments: expected a JSON object, "
      "got an array");
  EXPECT_EQ(
      call_error(R"([{"function": {"name": "f", "arguments": 5}}])"),
      "invalid_argument: messages[1].tool_calls[0].function.arguments: expected a string, got "
      "a number");
  EXPECT_EQ(call_error(R"([{"function": {}}])"),
            "invalid_argument: messages[1].tool_calls[0].function.name: expected a string, got "
            "nothing");
  EXPECT_EQ(
      call_error(R"([{}])"),
      "invalid_argument: messages[1].tool_calls[0].function: expected an object, got nothing");
  EXPECT_EQ(call_error("{}"),
            "invalid_argument: messages[1].tool_calls: expected an array, got an object");
}

TEST(RenderChat, LeavesOutWhatIsNull) {
  EXPECT_EQ(seen(R"([{"role": "assistant", "content": "a", "tool_calls": null, "refusal": null}])"),
            R"([{"role": "assistant", "content": "a"}])");
}

TEST(RenderChat, KnowsReasoningByAllItsNames) {
  for (const char* const name : {"reasoning_content", "reasoning", "thinking"})
    EXPECT_EQ(render_chat(ChatTemplate::parse("{% set m = messages[0] %}{{ m.reasoning_content }},"
                                              "{{ m.thinking }}"),
                          array(R"([{"role": "assistant", ")" + std::string(name) + R"(": "r"}])"),
                          {}, {}),
              "r,r");
  EXPECT_EQ(seen(R"([{"role": "user", "content": "a"}])"), R"([{"role": "user", "content": "a"}])");
}

TEST(RenderChat, TakesADeveloperForTheSystemUnlessTheTemplateKnowsTheRole) {
  const auto conversation = [](const std::string& role) {
    return R"([{"role": ")" + role + R"(", "content": "Reply only BANANA"},
               {"role": "user", "content": "capital of France?"}])";
  };
  EXPECT_EQ(qwen3(conversation("developer")), qwen3(conversation("system")));
  const auto role = [](std::string_view source) {
    return render_chat(ChatTemplate::parse(source),
                       array(R"([{"role": "developer", "content": ""}])"), {}, {});
  };
  EXPECT_EQ(role("{{ messages[0].role }}"), "system");
  EXPECT_EQ(role("{{ messages[0].role }}{% if messages[0].role == 'developer' %}!{% endif %}"),
            "developer!");
}

TEST(RenderChat, RefusesMessagesThatAreNone) {
  EXPECT_EQ(error("[]"), "invalid_argument: messages: expected at least one message, got none");
  EXPECT_EQ(error("[5]"), "invalid_argument: messages[0]: expected an object, got a number");
  EXPECT_EQ(error(R"([{"content": ""}])"),
            "invalid_argument: messages[0].role: expected a string, got nothing");
  EXPECT_EQ(error(R"([{"role": "banana", "content": ""}])"),
            "invalid_argument: messages[0].role: expected system, developer, user, assistant or "
            "tool, got \"banana\"");
}

TEST(RenderChat, PutsConsecutiveToolResultsTogether) {
  EXPECT_THAT(qwen3(R"([{"role": "user", "content": "q"},
      {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
      {"role": "tool", "content": "r1"}, {"role": "tool", "content": "r2"},
      {"role": "user", "content": "next"}])"),
              HasSubstr("<|im_start|>user\n<tool_response>\nr1\n</tool_response>\n<tool_response>\n"
                        "r2\n</tool_response><|im_end|>\n<|im_start|>user\nnext<|im_end|>"));
}

TEST(RenderChat, AnEmptyListOfToolsIsNone) {
  const auto tools = [](std::string_view list) {
    return render_chat(ChatTemplate::parse("{{ tools }}{{ tools is defined }}"),
                       array(R"([{"role": "user", "content": ""}])"), {true, array(list), {}}, {});
  };
  EXPECT_EQ(tools("[]"), "NoneTrue");
  EXPECT_EQ(tools(R"([{"a": 1}])"), "[{'a': 1}]True");
  EXPECT_EQ(error_of([&] { tools("[5]"); }),
            "invalid_argument: tools[0]: expected an object, got a number");
}

TEST(RenderChat, GivesTemplatesTheirOptions) {
  const ChatTemplate shown = ChatTemplate::parse(
      "{{ add_generation_prompt }}{{ bos_token }}{{ bos_token is defined }}{{ eos_token is defined "
      "}}"
      "{{ x }}{{ documents }}");
  const JsonArray messages = array(R"([{"role": "user", "content": ""}])");
  EXPECT_EQ(render_chat(shown, messages, {false, {}, {{"x", 1}}}, {{"bos_token", "<s>"}}),
            "False<s>TrueFalse1None");
  EXPECT_EQ(render_chat(shown, messages, {}, {}),
            "TrueFalseFalseNone");  // nothing of the call before
  EXPECT_EQ(render_chat(shown, messages, {true, {}, {{"bos_token", "B"}}},
                        {{"bos_token", "<s>"}, {"eos_token", "</s>"}}),
            "TrueBTrueTrueNone");
  EXPECT_EQ(error_of([&] {
              render_chat(shown, messages, {true, {}, {{"messages", 1}}}, {});
            }),
            "invalid_argument: chat_template_kwargs.messages: expected another name");
}

TEST(RenderChat, ThinkingOfOneRequestIsNotThatOfTheNext) {
  const char* const messages = R"([{"role": "user", "content": "hi"}])";
  const std::string usual = qwen3(messages);
  EXPECT_EQ(qwen3(messages, {true, {}, {{"enable_thinking", false}}}),
            usual + "<think>\n\n</think>\n\n");
  EXPECT_EQ(qwen3(messages), usual);
  EXPECT_EQ(qwen3(messages, {true, {}, {{"enable_thinking", true}}}), usual);
}

TEST(RenderChat, WhatATemplateRaisesIsTheWholeMessage) {
  const ChatTemplate strict = ChatTemplate::parse(
      "{% if messages|length > 1 %}{{ raise_exception('roles must alternate') }}{% endif %}");
  EXPECT_EQ(error_of([&] {
              render_chat(strict, array(R"([{"role": "user", "content": "a"},
                                            {"role": "user", "content": "b"}])"),
                          {}, {});
            }),
            "invalid_argument: roles must alternate");
}

}  // namespace
}  // namespace emlx
