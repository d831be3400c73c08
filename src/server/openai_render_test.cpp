#include "server/openai_render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <string>

namespace emlx {
namespace {

AnswerHead head(bool include_usage = false) {
  return {"chatcmpl-1", "m", 1700000000, include_usage};
}

FinishEvent end(FinishReason reason) {
  FinishEvent event;
  event.reason = reason;
  event.prompt_tokens = 7;
  event.completion_tokens = 3;
  return event;
}

TEST(OpenAiRender, WholeAnswer) {
  EXPECT_EQ(render_completion(head(), "a\"\xc3\xa9\n", end(FinishReason::Length)),
            R"({"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"m",)"
            R"("system_fingerprint":null,"choices":[{"index":0,"message":{"role":"assistant",)"
            "\"content\":\"a\\\"\xc3\xa9\\n\"},\"logprobs\":null,\"finish_reason\":\"length\"}],"
            R"("usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}})");
  EXPECT_THAT(render_completion(head(), "", end(FinishReason::Stop)),
              testing::HasSubstr(R"("finish_reason":"stop")"));
}

TEST(OpenAiRender, Chunks) {
  const std::string start =
      R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m",)"
      R"("system_fingerprint":null,"choices":[)";
  EXPECT_EQ(render_role_chunk(head()),
            start + R"({"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,)"
                    R"("finish_reason":null}]})");
  EXPECT_EQ(render_text_chunk(head(), "hi"),
            start + R"({"index":0,"delta":{"content":"hi"},"logprobs":null,)"
                    R"("finish_reason":null}]})");
  EXPECT_EQ(render_finish_chunk(head(), FinishReason::Stop),
            start + R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]})");
}

TEST(OpenAiRender, UsageIsInChunksOnlyWhenAskedFor) {
  EXPECT_THAT(render_text_chunk(head(), "x"), testing::Not(testing::HasSubstr("usage")));
  EXPECT_THAT(render_text_chunk(head(true), "x"), testing::EndsWith(R"(],"usage":null})"));
  EXPECT_THAT(render_usage_chunk(head(true), end(FinishReason::Stop)),
              testing::EndsWith(R"("choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,)"
                                R"("total_tokens":10}})"));
}

TEST(OpenAiRender, ErrorsHaveAllFourFields) {
  EXPECT_EQ(render_error({400, "bad \"x\"", "t", "p", "c"}),
            R"({"error":{"message":"bad \"x\"","type":"t","param":"p","code":"c"}})");
  EXPECT_EQ(render_error({500, "m", "t", "", ""}),
            R"({"error":{"message":"m","type":"t","param":null,"code":null}})");
}

TEST(OpenAiRender, Models) {
  EXPECT_EQ(render_models("m", 5),
            R"({"object":"list","data":[{"id":"m","object":"model","created":5,)"
            R"("owned_by":"engine-mlx"}]})");
}

TEST(OpenAiRender, HeadsAreFreshAndDated) {
  const AnswerHead first = make_answer_head("m", false), second = make_answer_head("m", true);
  EXPECT_THAT(first.id, testing::MatchesRegex("chatcmpl-[0-9A-Za-z]+"));
  EXPECT_EQ(first.id.size(), 33U);
  EXPECT_NE(first.id, second.id);
  EXPECT_NEAR(static_cast<double>(first.created), static_cast<double>(std::time(nullptr)), 5.0);
  EXPECT_TRUE(second.include_usage);
}

}  // namespace
}  // namespace emlx
