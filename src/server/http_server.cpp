#include "server/http_server.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "server/api.h"
#include "server/http_connection.h"

namespace emlx {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds kAcceptPause{100};

}  // namespace

struct HttpServer::Impl {
  Impl(const TextModel& text, Engine& engine, const ServerOptions& server_options)
      : options(server_options), api(text, engine, options.sampling) {}

  void listen();
  void run() noexcept;
  asio::awaitable<void> accept();
  void admit(tcp::socket socket);

  const ServerOptions options;
  const Api api;
  asio::io_context io;
  tcp::acceptor acceptor{asio::make_strand(io)};
  std::uint16_t port = 0;

  std::mutex mutex;
  std::condition_variable one_closed;
  std::unordered_map<std::uint64_t, std::shared_ptr<HttpConnection>>
      connections;            // guarded by mutex
  std::uint64_t next_id = 0;  // guarded by mutex
  bool stopping = false;      // guarded by mutex

  std::vector<std::thread> threads;
};

HttpServer::HttpServer(const TextModel& text, Engine& engine, const ServerOptions& options)
    : impl_(std::make_unique<Impl>(text, engine, options)) {
  impl_->listen();
  asio::co_spawn(
      impl_->acceptor.get_executor(), [impl = impl_.get()] { return impl->accept(); },
      asio::detached);
  for (int i = 0; i < options.threads; ++i)
    impl_->threads.emplace_back([impl = impl_.get()] { impl->run(); });
}

HttpServer::~HttpServer() {
  stop();
}

std::uint16_t HttpServer::port() const noexcept {
  return impl_->port;
}

void HttpServer::stop() {
  asio::post(impl_->acceptor.get_executor(), [impl = impl_.get()] {
    error_code ignored;
    impl->acceptor.close(ignored);
  });
  {
    std::unique_lock lock(impl_->mutex);
    impl_->stopping = true;
    for (const auto& [id, connection] : impl_->connections) connection->shut_down();
    impl_->one_closed.wait_for(lock, impl_->options.shutdown_grace,
                               [this] { return impl_->connections.empty(); });
    for (const auto& [id, connection] : impl_->connections) connection->abort();
  }
  for (std::thread& thread : impl_->threads) thread.join();
  impl_->threads.clear();
}

void HttpServer::Impl::listen() {
  try {
    tcp::resolver resolver(io);
    const tcp::endpoint endpoint =
        *resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive)
             .begin();
    acceptor.open(endpoint.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    acceptor.bind(endpoint);
    acceptor.listen();
    port = acceptor.local_endpoint().port();
  } catch (const boost::system::system_error& error) {
    fail(ErrorCode::InvalidArgument, "cannot listen on {}:{}: {}", options.host, options.port,
         error.code().message());
  }
}

void HttpServer::Impl::run() noexcept {
  while (true) {
    try {
      io.run();
      return;
    } catch (const std::exception& error) {  // of one handler; the others go on
      log_line(LogLevel::Error, error.what());
    }
  }
}

asio::awaitable<void> HttpServer::Impl::accept() {
  asio::steady_timer pause(acceptor.get_executor());
  while (acceptor.is_open()) {
    auto [error, socket] =
        co_await acceptor.async_accept(asio::any_io_executor(asio::make_strand(io)), kTuple);
    if (!error) {
      admit(std::move(socket));
    } else if (acceptor.is_open()) {  // out of descriptors, perhaps: not at once again
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(kTuple);
    }
  }
}

void HttpServer::Impl::admit(tcp::socket socket) {
  error_code error;
  socket.non_blocking(true, error);
  socket.set_option(tcp::no_delay(true), error);  // each token goes out at once
  std::uint64_t id = 0;
  std::shared_ptr<HttpConnection> connection;
  {
    const std::scoped_lock lock(mutex);
    if (stopping) return;
    if (connections.size() >= static_cast<std::size_t>(options.max_connections)) {
      constexpr std::string_view kFull =
          "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
      socket.write_some(asio::buffer(kFull.data(), kFull.size()), error);  // does not block
      return;
    }
    id = next_id++;
    connection = make_connection(std::move(socket), options, api);
    connections.emplace(id, connection);
  }
  connection->start([this, id] {
    const std::scoped_lock lock(mutex);
    connections.erase(id);
    one_closed.notify_all();
  });
}

}  // namespace emlx
