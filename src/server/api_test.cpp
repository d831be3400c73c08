#include "server/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "server/test_support.h"

namespace emlx {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ApiTest : public testing::Test {
 protected:
  HttpReply get(const std::string& target, const std::string& method = "GET") const {
    return api_.answer({method, target});
  }

  // A whole answer, or the error that came at once.
  HttpReply chat(const std::string& body) {
    std::unique_ptr<ChatCall> call;
    try {
      call = api_.chat(body, 1 << 20, [] {});
    } catch (const Error& error) {
      return error_reply(to_api_error(error));
    }
    while (call->poll(), !call->done()) std::this_thread::yield();
    return call->reply();
  }

  JsonObject error_of_chat(const std::string& body, int status) {
    const HttpReply reply = chat(body);
    EXPECT_EQ(reply.status, status) << body;
    const JsonValue json = parse_json(reply.body, "reply");
    EXPECT_TRUE(json.get_object().contains("error")) << reply.body;
    return json.at("error").as_object();
  }

  TinyService service_{[] {
    ScriptedOptions options = tiny_model(script("ok"));
    options.context = 64;
    return options;
  }()};
  Api api_{service_.text, service_.engine, SamplingParams{}};
};

TEST_F(ApiTest, HealthTellsWhatRuns) {
  const HttpReply reply = get("/health");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body,
            R"({"status":"ok","model":"tiny-model","backend":"scripted","device":"cpu",)"
            R"("dtype":"float32","mode":"exact","active":0,"queued":0})");
}

TEST_F(ApiTest, HealthFailsWithTheEngine) {
  service_.probe->close = [](int) { throw std::runtime_error("/home/me: gone"); };
  EXPECT_EQ(chat(chat_body()).status, 200);
  while (service_.engine.status().alive) std::this_thread::yield();
  const HttpReply reply = get("/health");
  EXPECT_EQ(reply.status, 503);
  EXPECT_THAT(reply.body, StartsWith(R"({"status":"error")"));
  const HttpReply refused = chat(chat_body());
  EXPECT_EQ(refused.status, 500);
  for (const std::string& body : {reply.body, refused.body})
    EXPECT_THAT(body, Not(HasSubstr("home")));
}

TEST_F(ApiTest, ModelsListsTheOneThatIsLoaded) {
  const JsonValue list = parse_json(get("/v1/models").body, "reply");
  ASSERT_EQ(list.at("data").as_array().size(), 1U);
  EXPECT_EQ(list.at("data").at(0).at("id").as_string(), "tiny-model");
  EXPECT_EQ(parse_json(get("/v1/models/tiny-model").body, "reply"), list.at("data").at(0));
  EXPECT_EQ(get("/v1/models/tiny%2Dmodel").status, 200);
  EXPECT_EQ(get("/v1/models/tiny%2").status, 404);
  EXPECT_EQ(get("/v1/models/other").status, 404);
  EXPECT_THAT(get("/v1/models/other").body, HasSubstr("model_not_found"));
}

TEST_F(ApiTest, PathsMayLackTheVersionAndHaveAQuery) {
  for (const char* target : {"/health", "/v1/health", "/health?x=/y", "/models", "/v1/models?a=b"})
    EXPECT_EQ(get(target).status, 200) << target;
  for (const char* target :
       {"/", "", "/v1", "/v1/", "/v1/v1/models", "/healthy", "/v1/models/", "*", "/../etc/passwd"})
    EXPECT_EQ(get(target).status, 404) << target;
  for (const char* target : {"/v1/chat/completions", "/chat/completions", "/v1/chat/completions?x"})
    EXPECT_TRUE(Api::is_chat({"POST", target})) << target;
  EXPECT_THAT(get("/v1/nowhere?x").body, HasSubstr(R"(\"/v1/nowhere\")"));
  EXPECT_THAT(get("/v1/models", "PUT").body, HasSubstr(R"(\"/v1/models\")"));
  EXPECT_FALSE(Api::is_chat({"GET", "/v1/chat/completions"}));
  EXPECT_FALSE(Api::is_chat({"POST", "/v1/models"}));
}

TEST_F(ApiTest, WrongMethodsLearnTheRightOnes) {
  const HttpReply chat_route = get("/v1/chat/completions");
  EXPECT_EQ(chat_route.status, 405);
  EXPECT_THAT(chat_route.headers, testing::Contains(testing::Pair("Allow", "POST, OPTIONS")));
  EXPECT_THAT(chat_route.body, HasSubstr("method_not_allowed"));
  EXPECT_EQ(get("/v1/models", "DELETE").status, 405);
  EXPECT_EQ(get("/health", "HEAD").status, 200);
  EXPECT_EQ(get("/v1/chat/completions", "OPTIONS").status, 204);
  EXPECT_EQ(get("/nowhere", "DELETE").status, 404);
}

TEST_F(ApiTest, AnswersUnderTheModelsNames) {
  for (const char* field :
       {"", R"("model":"tiny-model")", R"("model":"default")", R"("model":"")", R"("model":null)"})
    EXPECT_EQ(chat(chat_body(field)).status, 200) << field;
  for (const std::string& name : {std::string("nope"), std::string("../../etc/passwd"),
                                  std::string("/etc"), std::string(1'000'000, 'm')}) {
    const JsonObject error = error_of_chat(chat_body(R"("model":")" + name + "\""), 404);
    EXPECT_EQ(error.at("code").as_string(), "model_not_found");
    EXPECT_EQ(error.at("param").as_string(), "model");
    EXPECT_LT(error.at("message").as_string().size(), 300U);
  }
}

TEST_F(ApiTest, BadMessagesAreRefusedByField) {
  const auto param = [&](const std::string& messages) {
    return std::string(
        error_of_chat(R"({"messages":)" + messages + "}", 400).at("param").as_string());
  };
  EXPECT_EQ(param("[]"), "messages");
  EXPECT_THAT(param("[1]"), StartsWith("messages[0]"));
  EXPECT_THAT(param("[{}]"), StartsWith("messages[0]"));
  EXPECT_THAT(param(R"([{"role":"user"}])"), StartsWith("messages[0]"));
  EXPECT_THAT(param(R"([{"role":"user","content":"a"},{"role":1,"content":"x"}])"),
              StartsWith("messages[1]"));
  EXPECT_THAT(param(R"([{"role":"user","content":5}])"), StartsWith("messages[0].content"));
  EXPECT_THAT(param(R"([{"role":"banana","content":"x"}])"), StartsWith("messages[0].role"));
}

TEST_F(ApiTest, WhatATemplateRaisesIsTheClientsToRead) {
  const JsonObject error =
      error_of_chat(R"({"messages":[{"role":"user","content":"raise"}]})", 400);
  EXPECT_THAT(std::string(error.at("message").as_string()), HasSubstr("roles must alternate"));
  EXPECT_EQ(error.at("param").as_string(), "messages");
}

TEST_F(ApiTest, AnEmptyMessageIsFineAndAnEmptyPromptIsNot) {
  EXPECT_EQ(
      chat(R"({"messages":[{"role":"user","content":""},{"role":"user","content":"x"}]})").status,
      200);
  EXPECT_EQ(chat(R"({"messages":[{"role":"user","content":""}]})").status, 400);
  EXPECT_EQ(chat(chat_body()).status, 200);
}

TEST_F(ApiTest, APromptBeyondTheContextNamesBothNumbers) {
  const auto body = [](std::size_t length) {
    return R"({"messages":[{"role":"user","content":")" + std::string(length, 'p') + "\"}]}";
  };
  EXPECT_EQ(chat(body(63)).status, 200);
  for (const std::size_t length : {64U, 65U, 192U}) {
    const JsonObject error = error_of_chat(body(length), 400);
    EXPECT_EQ(error.at("code").as_string(), "context_length_exceeded");
    EXPECT_THAT(std::string(error.at("message").as_string()),
                testing::AllOf(HasSubstr(std::to_string(length)), HasSubstr("64")));
  }
  const JsonValue answer =
      parse_json(chat(R"({"messages":[{"role":"user","content":")" + std::string(54, 'p') +
                      R"("}],"max_tokens":100,"ignore_eos":true})")
                     .body,
                 "reply");
  EXPECT_EQ(answer.at("choices").at(0).at("finish_reason").as_string(), "length");
  EXPECT_EQ(answer.at("usage").at("completion_tokens").as_int64(), 10);
}

TEST_F(ApiTest, TextBeyondWhatTheContextHoldsIsRefusedUnrendered) {
  const auto body = [](const std::string& content) {  // the template raises
    return R"({"messages":[{"role":"user","content":"raise"},{"role":"user","content":)" + content +
           "}]}";
  };
  const auto text = [](std::size_t length) { return "\"" + std::string(length, 'p') + "\""; };
  constexpr std::size_t kMost = std::size_t{64} * 8 - 5;  // </think> is the longest token
  for (const std::string& content :
       {text(kMost + 1),
        R"([{"type":"text","text":"p"},{"type":"text","text":)" + text(kMost) + "}]"}) {
    const JsonObject error = error_of_chat(body(content), 400);
    EXPECT_EQ(error.at("code").as_string(), "context_length_exceeded");
    EXPECT_EQ(error.at("param").as_string(), "messages");
    EXPECT_THAT(std::string(error.at("message").as_string()), HasSubstr("513 bytes"));
  }
  EXPECT_THAT(std::string(error_of_chat(body(text(kMost)), 400).at("message").as_string()),
              HasSubstr("roles must alternate"));
}

}  // namespace
}  // namespace emlx
