// HTTP itself, over real sockets.
#include "server/http_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <filesystem>
#include <thread>

#include "server/test_client.h"
#include "server/test_support.h"

namespace emlx {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr const char* kChat = "/v1/chat/completions";

class HttpConnectionTest : public testing::Test {
 protected:
  void start() {
    options_.port = 0;
    server_ = std::make_unique<HttpServer>(service_.text, service_.engine, options_);
  }
  std::uint16_t port() const { return server_->port(); }

  // What the server says to these bytes; it must then close the connection.
  TestReply refused(const std::string& bytes) {
    TestClient client(port());
    client.send(bytes);
    TestReply reply = client.reply();
    EXPECT_EQ(reply.headers["connection"], "close");
    EXPECT_TRUE(client.at_end());
    return reply;
  }
  // refused(), as soon as there is a place: the connections before may still be closing.
  TestReply refused_in_time(const std::string& bytes) {
    TestReply reply;
    for (int i = 0; i < 400; ++i) {
      try {
        TestClient client(port());
        client.send(bytes);
        reply = client.reply();
        if (reply.status != 503) break;
      } catch (const std::runtime_error&) {  // turned away before it could ask
      }
      std::this_thread::sleep_for(milliseconds(5));
    }
    return reply;
  }
  void expect_healthy() {
    TestClient client(port());
    client.request("GET", "/health");
    EXPECT_EQ(client.reply().status, 200);
  }

  TinyService service_{tiny_model(script("ok"))};
  ServerOptions options_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpConnectionTest, StaysOpenBetweenRequests) {
  start();
  TestClient client(port());
  for (int i = 0; i < 3; ++i) {
    client.request("POST", kChat, chat_body(i == 1 ? R"("stream":true)" : ""));
    EXPECT_THAT(client.reply().body, HasSubstr(R"("finish_reason":"stop")")) << i;
    client.request("POST", kChat, "{");
    EXPECT_EQ(client.reply().status, 400);  // a bad request is no reason to leave
  }
  client.request("GET", "/health", "", "Connection: close\r\n");
  EXPECT_EQ(client.reply().headers["connection"], "close");
  EXPECT_TRUE(client.at_end());
}

TEST_F(HttpConnectionTest, AnswersPipelinedRequestsInOrder) {
  start();
  service_.probe->submit = [this](int, const Row&) { service_.probe->gate.pass(); };
  TestClient client(port());
  client.request("POST", kChat, chat_body(R"("stream":true)"));
  client.reply_head();
  client.chunk();  // the first is at work
  client.request("GET", "/v1/models");
  client.request("POST", kChat, chat_body());
  client.request("GET", "/nowhere");
  std::this_thread::sleep_for(milliseconds(50));  // they arrive meanwhile
  service_.probe->gate.open();
  client.rest_of_chunks();
  EXPECT_THAT(client.reply().body, HasSubstr("tiny-model"));
  EXPECT_THAT(client.reply().body, HasSubstr("chat.completion"));
  EXPECT_EQ(client.reply().status, 404);
}

TEST_F(HttpConnectionTest, ServesHttp10UntilTheConnectionEnds) {
  start();
  for (const char* fields : {R"("stream":true)", R"("stream":false)"}) {
    TestClient client(port());
    const std::string body = chat_body(fields);
    client.send("POST /v1/chat/completions HTTP/1.0\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
    const TestReply reply = client.reply();
    EXPECT_EQ(reply.status, 200);
    EXPECT_FALSE(reply.headers.contains("transfer-encoding"));
    EXPECT_THAT(reply.body, HasSubstr("\"finish_reason\":\"stop\""));
    EXPECT_TRUE(client.at_end());
  }
}

TEST_F(HttpConnectionTest, TakesChunkedBodies) {
  start();
  TestClient client(port());
  const std::string body = chat_body();
  client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
      "chunked\r\n\r\n");
  for (const char c : body) client.send("1\r\n" + std::string(1, c) + "\r\n");
  client.send("0\r\n\r\n");
  EXPECT_EQ(client.reply().status, 200);
}

TEST_F(HttpConnectionTest, SaysContinueToThoseWhoAsk) {
  start();
  TestClient client(port());
  const std::string body = chat_body();
  client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n");
  EXPECT_EQ(client.reply().status, 100);
  client.send(body);
  EXPECT_EQ(client.reply().status, 200);
}

TEST_F(HttpConnectionTest, AHalfClosedClientGetsWhatNeedsNoGeneration) {
  start();
  for (const auto& [method, target, status] :
       {std::tuple("GET", "/health", 200), std::tuple("POST", kChat, 400)}) {
    TestClient client(port());
    client.request(method, target, "{");
    client.half_close();
    EXPECT_EQ(client.reply().status, status);
    EXPECT_TRUE(client.at_end());
  }
}

TEST_F(HttpConnectionTest, HeadHasTheLengthButNoBody) {
  start();
  TestClient client(port());
  client.request("GET", "/v1/models");
  const TestReply get = client.reply();
  client.request("HEAD", "/v1/models");
  const TestReply head = client.reply(/*head=*/true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), get.headers.at("content-length"));
  client.request("HEAD", "/health");
  EXPECT_EQ(client.reply(/*head=*/true).status, 200);  // nothing lay in between
}

TEST_F(HttpConnectionTest, RefusesWhatIsNoHttp) {
  start();
  for (const char* bytes :
       {"hello\r\n\r\n", "GET /health\r\n\r\n", "GET /health HTTP/2.0\r\n\r\n",
        "GET  /health HTTP/1.1\r\n\r\n", "GET /health HTTP/1.1\r\nbad header\r\n\r\n",
        "POST /v1/chat/completions HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "POST /v1/chat/completions HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        "POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"}) {
    const TestReply reply = refused(bytes);
    EXPECT_EQ(reply.status, 400) << bytes;
    EXPECT_THAT(reply.body, HasSubstr("malformed_request"));
  }
  expect_healthy();
}

TEST_F(HttpConnectionTest, RefusesLongHeadersAndBodies) {
  options_.max_body = 1000;
  start();
  EXPECT_EQ(refused("GET /health HTTP/1.1\r\nX: " + std::string(17'000, 'x')).status, 431);
  EXPECT_EQ(refused("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 1001\r\n\r\n").status,
            413);
  EXPECT_EQ(
      refused("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 10000000000\r\n\r\n").status,
      413);
  EXPECT_EQ(refused("POST /v1/chat/completions HTTP/1.1\r\nExpect: 100-continue\r\n"
                    "Content-Length: 1001\r\n\r\n")
                .status,
            413);
  EXPECT_EQ(refused("POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "400\r\n" +
                    std::string(1024, 'x') + "\r\n")
                .status,
            413);
  expect_healthy();
}

TEST_F(HttpConnectionTest, BoundsWhatSurroundsAChunk) {
  options_.max_connections = 2;  // two places lost would show
  start();
  const std::string head =
      "POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string fields;
  while (fields.size() < 70'000) fields += "T: b\r\n";
  const std::string flood(70'000, '0');
  for (const std::string& bytes : {"2\r\n{}\r\n0\r\nT: " + flood + "\r\n\r\n",
                                   "2\r\n{}\r\n0\r\n" + fields, "2;a=" + flood, flood}) {
    const TestReply reply = refused_in_time(head + bytes);
    EXPECT_EQ(reply.status, 431) << bytes.substr(0, 20);
    EXPECT_THAT(reply.body, HasSubstr("header_too_large"));
  }
}

TEST_F(HttpConnectionTest, AConnectionThatIsNeverResumedFreesItsPlace) {
  using boost::asio::ip::tcp;
  const Api api(service_.text, service_.engine, SamplingParams{});
  const AccessRules access(options_, true);
  bool free = false;
  std::weak_ptr<HttpConnection> left;
  {
    boost::asio::io_context io;
    tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
    TestClient client(acceptor.local_endpoint().port());
    const auto connection = make_connection(
        tcp::socket(acceptor.accept(boost::asio::any_io_executor(boost::asio::make_strand(io)))),
        options_, api, access);
    left = connection;
    connection->start(std::shared_ptr<void>(nullptr, [&](void*) { free = true; }), std::nullopt);
    io.poll();  // now it waits for a request
    EXPECT_FALSE(free);
  }
  EXPECT_TRUE(free);
  EXPECT_TRUE(left.expired());
}

TEST_F(HttpConnectionTest, ALongQueueOfRequestsIsSendingTooFarAhead) {
  start();
  service_.probe->submit = [this](int, const Row&) { service_.probe->gate.pass(); };
  TestClient client(port());
  std::string ahead;
  while (ahead.size() < 47'000) ahead += "GET /health HTTP/1.1\r\n\r\n";
  const std::string body = chat_body();
  client.send("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n" + body + ahead);
  std::this_thread::sleep_for(milliseconds(50));
  client.send("GET");
  EXPECT_TRUE(client.at_end());
  service_.probe->gate.open();
  EXPECT_TRUE(service_.idle());
}

TEST_F(HttpConnectionTest, TakesAWholeUrlAndItsHost) {
  start();
  TestClient client(port());
  for (const auto& [target, status] :
       {std::pair("http://127.0.0.1:1/health", 200), std::pair("HTTP://localhost/v1/models?x", 200),
        std::pair("http://localhost", 404)}) {
    client.request("GET", target);
    EXPECT_EQ(client.reply().status, status) << target;
  }
  EXPECT_EQ(refused("GET http://page.example/health HTTP/1.1\r\nHost: localhost\r\n\r\n").status,
            403);
}

TEST_F(HttpConnectionTest, AnEmptyLineMayComeBeforeARequest) {
  start();
  TestClient client(port());
  for (int i = 0; i < 2; ++i) {
    client.send("\r\nGET /health HTTP/1.1\r\n\r\n");
    EXPECT_EQ(client.reply().status, 200);
  }
  EXPECT_EQ(refused("\r\n\r\nGET /health HTTP/1.1\r\n\r\n").status, 400);
}

TEST_F(HttpConnectionTest, RefusesExpectationsAndCodingsItDoesNotKnow) {
  start();
  for (const auto& [field, status] :
       {std::pair("Expect: foo", 417), std::pair("Transfer-Encoding: gzip", 501),
        std::pair("Transfer-Encoding: gzip, chunked", 501),
        std::pair("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", 501)})
    EXPECT_EQ(
        refused("POST /v1/chat/completions HTTP/1.1\r\n" + std::string(field) + "\r\n\r\n0\r\n\r\n")
            .status,
        status)
        << field;
}

TEST_F(HttpConnectionTest, ARefusalReachesAClientThatIsStillSending) {
  options_.max_body = 1000;
  start();
  TestClient client(port());
  client.request("POST", kChat, std::string(16'000'000, 'x'));  // more than the kernel holds
  EXPECT_EQ(client.reply().status, 413);
}

TEST_F(HttpConnectionTest, SlowClientsAreCutOff) {
  options_.read_timeout = milliseconds(150);
  start();
  std::vector<std::unique_ptr<TestClient>> slow;
  for (int i = 0; i < 50; ++i) slow.push_back(std::make_unique<TestClient>(port()));
  const auto start_time = std::chrono::steady_clock::now();
  bool all_gone = false;
  while (!all_gone && std::chrono::steady_clock::now() - start_time < std::chrono::seconds(10)) {
    all_gone = true;
    for (auto& client : slow) {
      if (client->readable(0)) continue;  // the end: nothing is ever sent to them
      all_gone = false;
      client->send("P");  // one byte at a time does not help
    }
    expect_healthy();
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_TRUE(all_gone);
  TestClient in_body(port());
  in_body.send("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\n{");
  EXPECT_TRUE(in_body.at_end());
}

TEST_F(HttpConnectionTest, MoreConnectionsThanAllowedAreTurnedAway) {
  options_.max_connections = 2;
  start();
  auto first = std::make_unique<TestClient>(port());
  TestClient second(port());
  for (TestClient* client : {first.get(), &second}) {
    client->request("GET", "/health");
    EXPECT_EQ(client->reply().status, 200);
  }
  TestClient third(port());
  third.request("POST", kChat, std::string(2'000'000, 'x'));  // not read, and yet answered
  const TestReply refused = third.reply();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("connection"), "close");
  EXPECT_EQ(parse_json(refused.body, "reply").at("error").at("code").as_string(), "server_busy");
  first.reset();
  int status = 0;
  for (int i = 0; i < 400 && status != 200; ++i) {
    try {
      TestClient next(port());
      next.request("GET", "/health");
      status = next.reply().status;
    } catch (const std::runtime_error&) {  // turned away before it could ask
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_EQ(status, 200);
}

TEST_F(HttpConnectionTest, ThoseTurnedAwayAreBoundedToo) {
  options_.max_connections = 2;
  start();
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(std::make_unique<TestClient>(port()));
  int told = 0, dropped = 0;
  for (std::size_t i = 2; i < clients.size(); ++i) (clients[i]->at_end() ? dropped : told) += 1;
  EXPECT_EQ(told, 2);
  EXPECT_EQ(dropped, 4);
}

TEST_F(HttpConnectionTest, ClientsThatVanishLeaveNothingBehind) {
  start();
  expect_healthy();
  const auto open_files = [] {
    const std::filesystem::path folder = "/proc/self/fd";  // only Linux tells
    if (!std::filesystem::exists(folder)) return std::ptrdiff_t{0};
    return std::distance(std::filesystem::directory_iterator(folder), {});
  };
  const auto before = open_files();
  for (int i = 0; i < 50; ++i) {
    TestClient client(port());
    client.request("POST", kChat, chat_body(R"("stream":true)"));
    client.reply_head();
    client.chunk();
    client.reset();
  }
  EXPECT_TRUE(service_.idle());
  for (int i = 0; i < 400 && open_files() > before; ++i)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_LE(open_files(), before);
  expect_healthy();
}

TEST_F(HttpConnectionTest, RefusesPagesAndTheirNames) {
  start();
  for (const char* fields : {"Host: page.example\r\n", "Host: localhost\r\nOrigin: http://p\r\n"}) {
    const TestReply reply = refused("POST /v1/chat/completions HTTP/1.1\r\n" + std::string(fields) +
                                    "Content-Length: 1000000\r\n\r\n");
    EXPECT_EQ(reply.status, 403) << fields;
    EXPECT_THAT(reply.body, HasSubstr("not_allowed"));
  }
  EXPECT_TRUE(server_->is_loopback());
  ServerOptions options;
  options.host = "0.0.0.0";
  options.port = 0;
  const HttpServer open(service_.text, service_.engine, options);
  EXPECT_FALSE(open.is_loopback());
  TestClient client(open.port());
  client.send("GET /health HTTP/1.1\r\nHost: my-box\r\n\r\n");
  EXPECT_EQ(client.reply().status, 200);
}

TEST_F(HttpConnectionTest, PagesMayCallOnlyIfAllowed) {
  start();
  TestClient client(port());
  client.request("OPTIONS", kChat, "", "Origin: http://page\r\n");
  TestReply reply = client.reply();
  EXPECT_EQ(reply.status, 204);
  EXPECT_FALSE(reply.headers.contains("access-control-allow-origin"));
  EXPECT_FALSE(reply.headers.contains("access-control-allow-methods"));
}

TEST_F(HttpConnectionTest, AllowedPagesSeeEveryReply) {
  options_.allow_origin = "http://page";
  start();
  TestClient client(port());
  client.request("OPTIONS", kChat, "",
                 "Origin: http://page\r\nAccess-Control-Request-Method: POST\r\n"
                 "Access-Control-Request-Headers: authorization,content-type,x-stainless-os\r\n");
  const TestReply preflight = client.reply();
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.headers.at("access-control-allow-headers"),
            "authorization,content-type,x-stainless-os");
  EXPECT_THAT(preflight.headers.at("access-control-allow-methods"), HasSubstr("POST"));
  for (const char* fields : {R"("stream":true)", R"("temperature":9)", ""}) {
    client.request("POST", kChat, chat_body(fields), "Origin: http://page\r\n");
    const TestReply reply = client.reply();
    EXPECT_EQ(reply.headers.at("access-control-allow-origin"), "http://page") << fields;
    EXPECT_EQ(reply.headers.at("vary"), "Origin");
  }
}

TEST_F(HttpConnectionTest, ListensOnEveryAddressOfItsName) {
  options_.host = "localhost";
  start();
  boost::asio::io_context io;
  using boost::asio::ip::tcp;
  int tried = 0;
  for (const tcp::endpoint endpoint : tcp::resolver(io).resolve("localhost", "0")) {
    boost::system::error_code missing, error;
    tcp::socket socket(io, endpoint.protocol());
    if (socket.bind(endpoint, missing)) continue;  // the name has it, this machine does not
    socket.connect({endpoint.address(), port()}, error);
    EXPECT_FALSE(error) << endpoint;
    ++tried;
  }
  EXPECT_GT(tried, 0);
}

TEST_F(HttpConnectionTest, AnAddressInUseIsAnError) {
  start();
  ServerOptions taken;
  taken.port = port();
  try {
    const HttpServer second(service_.text, service_.engine, taken);
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("127.0.0.1:" + std::to_string(port())));
  }
}

}  // namespace
}  // namespace emlx
