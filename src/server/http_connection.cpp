#include "server/http_connection.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/log.h"
#include "base/quote.h"
#include "server/sse.h"

namespace emlx {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using Milliseconds = std::chrono::milliseconds;

// co_await gives (error_code, ...) instead of throwing.
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

// Bytes read and not yet parsed, which bounds chunk sizes, extensions and trailers. Beast's parser
// throws at fields of more than 64 KiB; none gets there.
constexpr std::size_t kMaxBuffered = 48 * 1024;
constexpr std::size_t kMaxPipelined = 32 * 1024;  // bytes a client may send ahead
constexpr std::size_t kReadAhead = 4 * 1024;
static_assert(kMaxPipelined + kReadAhead <= kMaxBuffered);
constexpr Milliseconds kLinger{1'000};

// What an ill-formed request deserves; nothing if there is nobody to tell.
std::optional<ApiError> describe(const error_code& error, const ServerOptions& options) {
  constexpr const char* kType = "invalid_request_error";
  if (error == http::error::header_limit)
    return ApiError{431, fmt::format("expected a header of at most {} bytes", options.max_header),
                    kType, "", "header_too_large"};
  if (error == http::error::buffer_overflow)
    return ApiError{
        431, fmt::format("expected chunk lines and trailers of at most {} bytes", kMaxBuffered),
        kType, "", "header_too_large"};
  if (error == http::error::body_limit)
    return ApiError{413, fmt::format("expected a body of at most {} bytes", options.max_body),
                    kType, "", "body_too_large"};
  const bool gone = error == http::error::end_of_stream || error == http::error::partial_message;
  if (gone || error.category() != make_error_code(http::error::bad_method).category())
    return std::nullopt;
  return ApiError{400, "expected HTTP/1.1, got a malformed request: " + error.message(), kType, "",
                  "malformed_request"};
}

// A request's target (RFC 9112, section 3.2): proxies' clients send a whole URL.
struct Target {
  std::string_view authority;  // "127.0.0.1:8080"; empty: none
  std::string_view path;       // and query
};

Target split_target(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!beast::iequals(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const std::size_t end = std::min(target.find_first_of("/?"), target.size());
    return {target.substr(0, end), target.substr(end)};
  }
  return {"", target};
}

class Connection final : public HttpConnection, public std::enable_shared_from_this<Connection> {
 public:
  Connection(asio::ip::tcp::socket socket, const ServerOptions& options, const Api& api,
             const AccessRules& access)
      : options_(options),
        api_(api),
        access_(access),
        stream_(std::move(socket)),
        wakeup_(stream_.get_executor()) {}

  void start(std::shared_ptr<void> slot, std::optional<ApiError> refusal) override {
    asio::co_spawn(
        stream_.get_executor(),
        [self = shared_from_this(), slot = std::move(slot),
         refusal = std::move(refusal)]() mutable {
          return self->run(std::move(slot), std::move(refusal));
        },
        asio::detached);
  }

  void shut_down() override {
    asio::post(stream_.get_executor(), [self = shared_from_this()] {
      self->stopping_ = true;
      if (self->reading_) self->close();
      self->wakeup_.cancel();
    });
  }

  void abort() override {
    asio::post(stream_.get_executor(), [self = shared_from_this()] {
      self->stopping_ = true;
      self->close();
      self->wakeup_.cancel();
    });
  }

 private:
  using Request = http::request<http::string_body>;
  using Parser = http::request_parser<http::string_body>;

  asio::awaitable<void> run(std::shared_ptr<void> slot, std::optional<ApiError> refusal);
  asio::awaitable<bool> read(std::optional<Parser>& parser);
  asio::awaitable<bool> respond(Request request);
  asio::awaitable<bool> stream_answer(ChatCall& call, const Request& request);
  asio::awaitable<bool> wait_for_answer(ChatCall& call);
  asio::awaitable<bool> send(HttpReply reply, const Request& request, bool keep_alive);
  asio::awaitable<bool> send_events(const std::string& events, bool chunked);
  asio::awaitable<bool> wait(Milliseconds longest);
  asio::awaitable<void> hang_up();

  void reset(std::optional<Parser>& parser) const;
  bool skip_empty_line();
  std::optional<ApiError> objection(const Request& request) const;
  template <typename Response>
  void set_headers(Response& response, bool keep_alive) const;
  void watch_peer();
  void read_ahead();
  void stop_watching();
  void close() {
    error_code ignored;
    stream_.socket().close(ignored);
  }

  const ServerOptions& options_;
  const Api& api_;
  const AccessRules& access_;

  // Only on the strand.
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kMaxBuffered};  // read and not yet parsed
  asio::steady_timer wakeup_;                // cancelled when whoever waits should look again
  bool reading_ = false;                     // between answers
  bool stopping_ = false;
  bool peer_gone_ = false;
  unsigned watch_ = 0;  // which watch is on; a handler of an earlier one does nothing
};

// A handler that throws below us, inside Asio or Beast, destroys this coroutine where it waits:
// what must happen at the end is in destructors.
asio::awaitable<void> Connection::run(std::shared_ptr<void> slot, std::optional<ApiError> refusal) {
  struct Ending {
    Connection& connection;
    std::shared_ptr<void> slot;
    ~Ending() { connection.close(); }
  };
  const Ending ending{*this, std::move(slot)};
  try {
    bool more = !refusal;
    if (refusal) co_await send(error_reply(*refusal), Request(), false);
    while (more && !stopping_) {
      std::optional<Parser> parser;
      more = co_await read(parser) && co_await respond(parser->release());
    }
    co_await hang_up();
  } catch (const std::exception& error) {
    log_line(LogLevel::Warning, error.what());
  }
}

// Reads one request; false if there is none, or it was refused.
asio::awaitable<bool> Connection::read(std::optional<Parser>& parser) {
  reading_ = true;
  stream_.expires_after(options_.read_timeout);
  reset(parser);
  auto [error, size] = co_await http::async_read_header(stream_, buffer_, *parser, kTuple);
  if (error == http::error::bad_method && skip_empty_line()) {
    reset(parser);
    std::tie(error, size) = co_await http::async_read_header(stream_, buffer_, *parser, kTuple);
  }
  std::optional<ApiError> refused;
  if (!error) refused = objection(parser->get());
  if (!error && !refused && !parser->is_done()) {
    stream_.expires_after(options_.read_timeout);
    if (parser->get().count(http::field::expect) > 0) {
      constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      std::tie(error, size) = co_await asio::async_write(
          stream_, asio::buffer(kContinue.data(), kContinue.size()), kTuple);
    }
    if (!error)
      std::tie(error, size) = co_await http::async_read(stream_, buffer_, *parser, kTuple);
  }
  reading_ = false;
  if (error) refused = describe(error, options_);
  if (refused) co_await send(error_reply(*refused), parser->get(), false);
  co_return !error && !refused;
}

void Connection::reset(std::optional<Parser>& parser) const {
  parser.emplace();
  parser->header_limit(options_.max_header);
  parser->body_limit(options_.max_body);
}

// Some clients end a body with one (RFC 9112, section 2.2).
bool Connection::skip_empty_line() {
  const auto data = buffer_.data();
  if (!std::string_view(static_cast<const char*>(data.data()), data.size()).starts_with("\r\n"))
    return false;
  buffer_.consume(2);
  return true;
}

// What is wrong with a request by its header; nothing if it may pass.
std::optional<ApiError> Connection::objection(const Request& request) const {
  constexpr const char* kType = "invalid_request_error";
  const std::string_view expect = request[http::field::expect];
  if (!expect.empty() && !beast::iequals(expect, "100-continue"))
    return ApiError{417, "Expect: expected 100-continue, got " + quote(expect), kType, "",
                    "expectation_failed"};
  const std::string_view coding = request[http::field::transfer_encoding];
  if (!coding.empty() && !beast::iequals(coding, "chunked"))
    return ApiError{501, "Transfer-Encoding: expected chunked, got " + quote(coding), kType, "",
                    "unsupported"};
  const std::string_view authority = split_target(request.target()).authority;
  return access_.refusal(
      request.method_string(),
      authority.empty() ? std::string_view(request[http::field::host]) : authority,
      request[http::field::origin]);
}

// Answers one request; false if the connection is to end.
asio::awaitable<bool> Connection::respond(Request request) {
  const HttpRequest route{std::string(request.method_string()),
                          std::string(split_target(request.target()).path)};
  std::unique_ptr<ChatCall> call;
  HttpReply reply;
  try {
    if (Api::is_chat(route)) {
      const std::string body = std::exchange(request.body(), {});  // not kept while we answer
      call = api_.chat(body, options_.max_buffered, [self = shared_from_this()] {
        asio::post(self->stream_.get_executor(), [self] { self->wakeup_.cancel(); });
      });
    } else {
      reply = api_.answer(route);
    }
  } catch (const std::exception& error) {
    const ApiError described = to_api_error(error);
    if (described.status >= 500) log(LogLevel::Error, "{}: {}", route.target, error.what());
    reply = error_reply(described);
  }
  if (call && call->stream()) co_return co_await stream_answer(*call, request);
  if (call) {
    if (!co_await wait_for_answer(*call)) co_return false;
    reply = call->reply();
  }
  if (request.method() == http::verb::options && !options_.allow_origin.empty()) {
    reply.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, OPTIONS");
    reply.headers.emplace_back("Access-Control-Allow-Headers",
                               request[http::field::access_control_request_headers]);
    reply.headers.emplace_back("Access-Control-Max-Age", "86400");
  }
  co_return co_await send(std::move(reply), request, request.keep_alive() && !stopping_);
}

// Sends an answer as server-sent events while it is generated.
asio::awaitable<bool> Connection::stream_answer(ChatCall& call, const Request& request) {
  const bool chunked = request.version() >= 11;  // HTTP/1.0 reads until the connection ends
  http::response<http::empty_body> response(http::status::ok, request.version());
  response.set(http::field::content_type, "text/event-stream");
  response.set(http::field::cache_control, "no-cache");
  response.chunked(chunked);
  set_headers(response, chunked && request.keep_alive());
  http::response_serializer<http::empty_body> serializer(response);
  stream_.expires_after(options_.write_timeout);
  const auto [error, size] = co_await http::async_write_header(stream_, serializer, kTuple);
  if (error) co_return false;

  watch_peer();
  std::string events = call.begin();
  while (true) {
    events += call.poll();
    if (peer_gone_ || call.broken()) co_return false;
    if (!events.empty()) {
      if (!co_await send_events(events, chunked)) co_return false;
      events.clear();
    } else if (call.done()) {
      break;
    } else if (stopping_) {
      call.stop(stopping_error());
    } else if (!co_await wait(options_.keepalive_interval)) {
      events = kSseKeepAlive;
    }
  }
  stop_watching();
  if (!chunked) co_return false;
  stream_.expires_after(options_.write_timeout);
  const auto [end_error, end_size] =
      co_await asio::async_write(stream_, http::make_chunk_last(), kTuple);
  co_return !end_error && response.keep_alive() && !stopping_;
}

// Waits for a whole answer; false if its client left.
asio::awaitable<bool> Connection::wait_for_answer(ChatCall& call) {
  watch_peer();
  while (call.poll(), !call.done()) {
    if (peer_gone_) co_return false;
    if (stopping_) {
      call.stop(stopping_error());
    } else {
      co_await wait(options_.keepalive_interval);
    }
  }
  stop_watching();
  co_return true;
}

asio::awaitable<bool> Connection::send(HttpReply reply, const Request& request, bool keep_alive) {
  http::response<http::string_body> response(static_cast<http::status>(reply.status),
                                             request.version());
  if (reply.status != 204) {
    response.set(http::field::content_type, "application/json");
    response.content_length(reply.body.size());
  }
  set_headers(response, keep_alive);
  for (const auto& [name, value] : reply.headers) response.set(name, value);
  response.body() = std::move(reply.body);
  http::response_serializer<http::string_body> serializer(response);
  stream_.expires_after(options_.write_timeout);
  error_code error;
  std::size_t size = 0;
  if (request.method() == http::verb::head) {
    std::tie(error, size) = co_await http::async_write_header(stream_, serializer, kTuple);
  } else {
    std::tie(error, size) = co_await http::async_write(stream_, serializer, kTuple);
  }
  co_return !error && keep_alive;
}

asio::awaitable<bool> Connection::send_events(const std::string& events, bool chunked) {
  stream_.expires_after(options_.write_timeout);
  error_code error;
  std::size_t size = 0;
  if (chunked) {
    std::tie(error, size) =
        co_await asio::async_write(stream_, http::make_chunk(asio::buffer(events)), kTuple);
  } else {
    std::tie(error, size) = co_await asio::async_write(stream_, asio::buffer(events), kTuple);
  }
  co_return !error;
}

// Sleeps until something may have changed; false if `longest` passed first.
asio::awaitable<bool> Connection::wait(Milliseconds longest) {
  wakeup_.expires_after(longest);
  const auto [error] = co_await wakeup_.async_wait(kTuple);
  co_return error == asio::error::operation_aborted;
}

// Half-closes and reads what still comes, so that the client sees the end of the answer and not a
// reset.
asio::awaitable<void> Connection::hang_up() {
  stop_watching();
  error_code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.expires_after(kLinger);
  std::array<char, 4096> scratch;
  while (true) {
    const auto [error, size] = co_await stream_.async_read_some(asio::buffer(scratch), kTuple);
    if (error) break;
  }
}

template <typename Response>
void Connection::set_headers(Response& response, bool keep_alive) const {
  response.set(http::field::server, "engine-mlx");
  response.set(http::field::date,
               fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(std::time(nullptr))));
  response.keep_alive(keep_alive);
  if (options_.allow_origin.empty()) return;
  response.set(http::field::access_control_allow_origin, options_.allow_origin);
  if (options_.allow_origin != "*") response.set(http::field::vary, "Origin");
}

// While an answer is in the making, notices that the client has left. Waiting for the socket to be
// readable takes nothing off it, so stopping the watch loses nothing; what a client sends ahead
// goes to buffer_, where the next read finds it.
void Connection::watch_peer() {
  stream_.socket().async_wait(asio::ip::tcp::socket::wait_read,
                              [self = shared_from_this(), turn = watch_](const error_code& error) {
                                if (!error && turn == self->watch_) self->read_ahead();
                              });
}

void Connection::read_ahead() {
  error_code error;
  if (buffer_.size() <= kMaxPipelined)
    buffer_.commit(stream_.socket().read_some(buffer_.prepare(kReadAhead), error));
  if ((error && error != asio::error::would_block) || buffer_.size() > kMaxPipelined) {
    peer_gone_ = true;
    wakeup_.cancel();
  } else {
    watch_peer();
  }
}

void Connection::stop_watching() {
  ++watch_;
  error_code ignored;
  stream_.socket().cancel(ignored);
}

}  // namespace

std::shared_ptr<HttpConnection> make_connection(asio::ip::tcp::socket socket,
                                                const ServerOptions& options, const Api& api,
                                                const AccessRules& access) {
  return std::make_shared<Connection>(std::move(socket), options, api, access);
}

}  // namespace emlx
