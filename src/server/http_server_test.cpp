#include "server/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "server/test_client.h"
#include "server/test_support.h"

namespace emlx {
namespace {

using std::chrono::milliseconds;
using testing::EndsWith;
using testing::HasSubstr;

constexpr const char* kChat = "/v1/chat/completions";

class HttpServerTest : public testing::Test {
 protected:
  void start(const ScriptedOptions& script, std::size_t queue = 64) {
    service_ = std::make_unique<TinyService>(script, queue);
    options_.port = 0;
    server_ = std::make_unique<HttpServer>(service_->text, service_->engine, options_);
  }
  void start(const std::string& text) { start(tiny_model(script(text))); }
  // A model that does not stop by itself for a good while.
  void start_endless() {
    ScriptedOptions model = tiny_model(std::vector<TokenId>(100'000, 'x'));
    model.context = 100'000;
    model.step_tokens = 16;
    model.delay = std::chrono::microseconds(20);
    start(model);
  }

  TestReply ask(const std::string& method, const std::string& target, const std::string& body = "",
                const std::string& headers = "") {
    TestClient client(server_->port());
    client.request(method, target, body, headers);
    return client.reply(method == "HEAD");
  }
  TestReply chat(const std::string& fields) { return ask("POST", kChat, chat_body(fields)); }

  void expect_healthy() { EXPECT_EQ(ask("GET", "/health").status, 200); }

  // The JSON objects of a stream's events, having checked its framing.
  static std::vector<JsonValue> events_of(const std::string& body) {
    std::vector<JsonValue> events;
    std::string_view rest = body;
    while (rest != "data: [DONE]\n\n") {
      const std::size_t end = rest.find("\n\n");
      if (end == std::string_view::npos) {
        ADD_FAILURE() << "no [DONE] at the end of " << body;
        break;
      }
      if (rest.starts_with("data: "))
        events.push_back(parse_json(rest.substr(6, end - 6), "event"));
      rest.remove_prefix(end + 2);
    }
    return events;
  }
  static std::string text_of(const std::vector<JsonValue>& events) {
    std::string text;
    for (const JsonValue& event : events)
      for (const JsonValue& choice : event.at("choices").as_array())
        if (const JsonValue* content = choice.at("delta").as_object().if_contains("content"))
          text += std::string_view(content->as_string());
    return text;
  }

  ServerOptions options_;
  std::unique_ptr<TinyService> service_;
  std::unique_ptr<HttpServer> server_;
};

// ---- answers

TEST_F(HttpServerTest, AnswersWhole) {
  start("x \xc4\x8f\xc3\xa1!");
  const TestReply reply = chat("");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-type"), "application/json");
  EXPECT_THAT(reply.headers.at("date"), EndsWith(" GMT"));
  const JsonValue answer = parse_json(reply.body, "reply");
  EXPECT_EQ(answer.at("model").as_string(), "tiny-model");
  EXPECT_EQ(answer.at("choices").at(0).at("message"),
            (JsonObject{{"role", "assistant"}, {"content", "x \xc4\x8f\xc3\xa1!"}}));
  EXPECT_EQ(answer.at("choices").at(0).at("finish_reason").as_string(), "stop");
  EXPECT_EQ(answer.at("usage"),
            (JsonObject{{"prompt_tokens", 2}, {"completion_tokens", 8}, {"total_tokens", 10}}));
}

TEST_F(HttpServerTest, StreamsExactlyTheseEvents) {
  start("ab");
  const TestReply reply = chat(R"("stream":true)");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-type"), "text/event-stream");
  EXPECT_EQ(reply.headers.at("cache-control"), "no-cache");
  EXPECT_EQ(reply.headers.at("transfer-encoding"), "chunked");
  const JsonValue first = events_of(reply.body).at(0);
  const std::string start = "data: {\"id\":" + to_json(first.at("id")) +
                            R"(,"object":"chat.completion.chunk","created":)" +
                            to_json(first.at("created")) +
                            R"(,"model":"tiny-model","system_fingerprint":null,"choices":[)"
                            R"({"index":0,"delta":)";
  EXPECT_EQ(reply.body,
            start +
                R"({"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]})"
                "\n\n" +
                start +
                R"({"content":"a"},"logprobs":null,"finish_reason":null}]})"
                "\n\n" +
                start +
                R"({"content":"b"},"logprobs":null,"finish_reason":null}]})"
                "\n\n" +
                start +
                R"({},"logprobs":null,"finish_reason":"stop"}]})"
                "\n\ndata: [DONE]\n\n");
}

TEST_F(HttpServerTest, StreamedAndWholeAnswersAgree) {
  start("x \xc4\x8f\xc3\xa1 and a stop!ped tail");
  for (const char* fields : {"", R"("max_tokens":3)", R"("stop":"stop!")", R"("max_tokens":1)"}) {
    const std::string more = *fields == '\0' ? "" : std::string(",") + fields;
    const JsonValue whole = parse_json(chat(R"("stream":false)" + more).body, "reply");
    const auto events =
        events_of(chat(R"("stream":true,"stream_options":{"include_usage":true})" + more).body);
    EXPECT_EQ(text_of(events), whole.at("choices").at(0).at("message").at("content").as_string());
    EXPECT_EQ(events.back().at("usage"), whole.at("usage"));
    EXPECT_TRUE(events.back().at("choices").as_array().empty());
    int reasons = 0;
    for (std::size_t i = 0; i + 1 < events.size(); ++i) {
      EXPECT_TRUE(events[i].at("usage").is_null());
      const JsonValue& reason = events[i].at("choices").at(0).at("finish_reason");
      if (reason.is_null()) continue;
      EXPECT_EQ(reason, whole.at("choices").at(0).at("finish_reason"));
      ++reasons;
    }
    EXPECT_EQ(reasons, 1);
  }
}

TEST_F(HttpServerTest, UsageComesOnlyWhenAskedFor) {
  start("ab");
  for (const char* fields : {R"("stream":true)", R"("stream":true,"stream_options":{})"})
    for (const JsonValue& event : events_of(chat(fields).body)) {
      EXPECT_FALSE(event.as_object().contains("usage"));
      EXPECT_EQ(event.at("choices").as_array().size(), 1U);
    }
}

TEST_F(HttpServerTest, EachTokenGoesOutAtOnce) {
  start("abc");
  service_->probe->collect = [probe = service_->probe.get()](int n) {
    if (n == 3) probe->gate.pass();  // the prompt took one step, the first token one
  };
  TestClient client(server_->port());
  client.request("POST", kChat, chat_body(R"("stream":true)"));
  EXPECT_EQ(client.reply_head().status, 200);
  std::string first;  // the role and the text may share a chunk
  for (int i = 0; i < 2 && first.find(R"("content":"a")") == std::string::npos; ++i)
    first += client.chunk();
  EXPECT_THAT(first, HasSubstr(R"("content":"a")"));
  EXPECT_THAT(first, HasSubstr(R"("role":"assistant")"));
  service_->probe->gate.open();
  EXPECT_THAT(client.rest_of_chunks(), HasSubstr(R"("content":"b")"));
  EXPECT_TRUE(service_->idle());
}

TEST_F(HttpServerTest, ASilentStreamSendsComments) {
  options_.keepalive_interval = milliseconds(20);
  start("a");
  service_->probe->submit = [probe = service_->probe.get()](int, const Row&) {
    probe->gate.pass();
  };
  TestClient client(server_->port());
  client.request("POST", kChat, chat_body(R"("stream":true)"));
  client.reply_head();
  client.chunk();
  EXPECT_EQ(client.chunk(), ": keepalive\n\n");
  EXPECT_EQ(client.chunk(), ": keepalive\n\n");
  service_->probe->gate.open();
  EXPECT_EQ(text_of(events_of(client.rest_of_chunks())), "a");
}

TEST_F(HttpServerTest, ParallelClientsGetTheirOwnAnswers) {
  ScriptedOptions model = tiny_model({});
  model.script = [](int n) { return script("answer " + std::to_string(n)); };
  start(model);
  std::mutex mutex;
  std::map<std::string, int> answers;
  std::vector<std::thread> clients;
  for (int i = 0; i < 16; ++i)
    clients.emplace_back([&, i] {
      for (int round = 0; round < 5; ++round) {
        const TestReply reply = chat(i % 2 == 0 ? R"("stream":true)" : "");
        const std::string text = i % 2 == 0 ? text_of(events_of(reply.body))
                                            : std::string(parse_json(reply.body, "reply")
                                                              .at("choices")
                                                              .at(0)
                                                              .at("message")
                                                              .at("content")
                                                              .as_string());
        const std::scoped_lock lock(mutex);
        ++answers[text];
      }
    });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answers.size(), 80U);  // each once
  for (int n = 0; n < 80; ++n) EXPECT_EQ(answers.count("answer " + std::to_string(n)), 1U) << n;
}

// ---- errors

TEST_F(HttpServerTest, ErrorsAreOpenAiObjects) {
  start("ok");
  for (const auto& [body, status] : std::vector<std::pair<std::string, int>>{
           {"{", 400},
           {"[]", 400},
           {"{}", 400},
           {chat_body(R"("model":"other")"), 404},
           {chat_body(R"("temperature":3,"stream":true)"), 400}}) {
    const TestReply reply = ask("POST", kChat, body);
    EXPECT_EQ(reply.status, status) << body;
    EXPECT_EQ(reply.headers.at("content-type"), "application/json");
    const JsonObject error = parse_json(reply.body, "reply").at("error").as_object();
    for (const char* field : {"message", "type", "param", "code"})
      EXPECT_TRUE(error.contains(field)) << field;
  }
  EXPECT_EQ(ask("GET", "/nowhere").status, 404);
  EXPECT_EQ(ask("GET", kChat).headers.at("allow"), "POST, OPTIONS");
}

TEST_F(HttpServerTest, AFullQueueSaysWhenToTryAgain) {
  ScriptedOptions model = tiny_model(script("ok"));
  start(model, /*queue=*/1);
  service_->probe->submit = [probe = service_->probe.get()](int, const Row&) {
    probe->reached.open();
    probe->gate.pass();
  };
  TestClient first(server_->port()), second(server_->port());
  first.request("POST", kChat, chat_body());
  service_->probe->reached.pass();
  second.request("POST", kChat, chat_body());
  while (service_->engine.status().queued == 0) std::this_thread::yield();
  const TestReply busy = chat(R"("stream":true)");
  EXPECT_EQ(busy.status, 429);
  EXPECT_EQ(busy.headers.at("retry-after"), "1");
  EXPECT_THAT(busy.body, HasSubstr("server_busy"));
  service_->probe->gate.open();
  EXPECT_EQ(first.reply().status, 200);
  EXPECT_EQ(second.reply().status, 200);
}

TEST_F(HttpServerTest, AnErrorInAStreamIsItsLastEvent) {
  start(tiny_model({'a', kFailure}));
  const TestReply reply = chat(R"("stream":true)");
  EXPECT_EQ(reply.status, 200);
  const auto events = events_of(reply.body);
  EXPECT_EQ(events.back().at("error").at("code").as_string(), "internal_error");
  EXPECT_THAT(reply.body, HasSubstr(R"("content":"a")"));
  const TestReply whole = chat("");
  EXPECT_EQ(whole.status, 500);
  EXPECT_THAT(whole.body, HasSubstr("internal_error"));
  expect_healthy();
}

// ---- clients that leave, or do not read

TEST_F(HttpServerTest, LeavingCancelsWhateverTheRequestIsDoing) {
  start_endless();
  const std::string long_prompt =
      R"({"messages":[{"role":"user","content":")" + std::string(90'000, 'p') + R"("}],"stream":)";
  for (const bool hard : {false, true})
    for (const std::string& body : {chat_body(R"("stream":true)"), chat_body(),
                                    long_prompt + "true}", long_prompt + "false}"}) {
      auto active = std::make_unique<TestClient>(server_->port());
      active->request("POST", kChat, body);
      while (service_->engine.status().active == 0) std::this_thread::yield();
      auto queued = std::make_unique<TestClient>(server_->port());
      queued->request("POST", kChat, body);
      while (service_->engine.status().queued == 0) std::this_thread::yield();
      if (hard) queued->reset();
      queued.reset();
      for (int i = 0; i < 2000 && service_->engine.status().queued > 0; ++i)
        std::this_thread::sleep_for(milliseconds(5));
      EXPECT_EQ(service_->engine.status().queued, 0U);
      EXPECT_EQ(service_->engine.status().active, 1);  // the other one is not touched
      if (hard) active->reset();
      active.reset();
      EXPECT_TRUE(service_->idle());
    }
  expect_healthy();
}

TEST_F(HttpServerTest, AHalfCloseCancelsAndSoDoesSendingTooFarAhead) {
  start_endless();
  for (const bool half_close : {false, true})
    for (const char* fields : {R"("stream":true)", ""}) {
      const std::size_t before = service_->probe->seen().size();
      TestClient client(server_->port());
      client.request("POST", kChat, chat_body(fields));
      while (service_->engine.status().active == 0) std::this_thread::yield();
      if (half_close) {
        client.half_close();
      } else {
        client.send(std::string(32 * 1024, 'x'));
        std::this_thread::sleep_for(milliseconds(50));
        EXPECT_EQ(service_->engine.status().active, 1);  // so far it is patient
        client.send(std::string(16 * 1024, 'x'));
      }
      EXPECT_TRUE(service_->idle());
      EXPECT_LT(service_->probe->seen().size() - before, 90'000U);  // not by itself
    }
}

TEST_F(HttpServerTest, AReaderThatFallsBehindLosesItsStreamOnly) {
  options_.max_buffered = 10'000;
  start_endless();
  TestClient slow(server_->port(), /*receive_buffer=*/65536);
  slow.request("POST", kChat, chat_body(R"("stream":true)"));
  EXPECT_EQ(slow.reply_head().status, 200);
  EXPECT_TRUE(service_->idle());                            // although nobody reads
  EXPECT_THROW(slow.rest_of_chunks(), std::runtime_error);  // no clean end
  EXPECT_EQ(chat(R"("max_tokens":3)").status, 200);
}

TEST_F(HttpServerTest, AWriteThatDoesNotMoveEndsTheConnection) {
  options_.write_timeout = milliseconds(100);
  options_.max_buffered = std::size_t{1} << 30;
  start_endless();
  TestClient slow(server_->port(), /*receive_buffer=*/4096);
  slow.request("POST", kChat, chat_body(R"("stream":true)"));
  EXPECT_EQ(slow.reply_head().status, 200);
  EXPECT_TRUE(service_->idle());
  EXPECT_LT(service_->probe->seen().size(), 90'000U);
  expect_healthy();
}

TEST_F(HttpServerTest, ShutdownTellsRunningStreamsAndClosesIdleConnections) {
  options_.shutdown_grace = std::chrono::minutes(2);
  start_endless();
  TestClient streaming(server_->port()), waiting(server_->port()), idle(server_->port());
  idle.request("GET", "/health");
  idle.reply();
  streaming.request("POST", kChat, chat_body(R"("stream":true)"));
  streaming.reply_head();
  streaming.chunk();
  while (service_->engine.status().active == 0) std::this_thread::yield();
  waiting.request("POST", kChat, chat_body());
  while (service_->engine.status().queued == 0) std::this_thread::yield();
  const auto before = std::chrono::steady_clock::now();
  server_->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(20));
  const std::string all = streaming.rest_of_chunks();
  EXPECT_THAT(all, HasSubstr("server_stopping"));
  EXPECT_THAT(all, EndsWith("data: [DONE]\n\n"));
  EXPECT_EQ(waiting.reply().status, 503);
  EXPECT_TRUE(idle.at_end());
  EXPECT_TRUE(service_->idle());
  EXPECT_THROW(TestClient(server_->port()), std::runtime_error);
}

}  // namespace
}  // namespace emlx
