#include "server/http_server.h"

#include <fmt/format.h>

#include <algorithm>
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
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "server/access_rules.h"
#include "server/api.h"
#include "server/http_connection.h"

namespace emlx {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds kAcceptPause{100};

// An address this machine does not have: names may come with an IPv6 one where there is no IPv6.
bool is_missing(const error_code& error) {
  return error == asio::error::address_family_not_supported ||
         error == boost::system::errc::address_not_available;
}

}  // namespace

struct HttpServer::Impl {
  Impl(const TextModel& text, Engine& engine, const ServerOptions& server_options)
      : options(server_options), api(text, engine, options.sampling) {}

  void listen();
  bool is_loopback() const;
  void run() noexcept;
  asio::awaitable<void> accept(tcp::acceptor& acceptor);
  void admit(tcp::socket socket);

  const ServerOptions options;
  const Api api;
  asio::io_context io;
  std::vector<tcp::acceptor> acceptors;  // one an address, all of the same port
  std::uint16_t port = 0;
  std::optional<AccessRules> access;  // once it is known where we listen

  std::mutex mutex;
  std::condition_variable one_closed;
  std::unordered_map<std::uint64_t, std::shared_ptr<HttpConnection>>
      connections;              // guarded by mutex
  std::size_t turned_away = 0;  // of those, sockets that are only told so; guarded by mutex
  std::uint64_t next_id = 0;    // guarded by mutex
  bool stopping = false;        // guarded by mutex

  std::vector<std::thread> threads;
};

HttpServer::HttpServer(const TextModel& text, Engine& engine, const ServerOptions& options)
    : impl_(std::make_unique<Impl>(text, engine, options)) {
  impl_->listen();
  impl_->access.emplace(options, impl_->is_loopback());
  for (tcp::acceptor& acceptor : impl_->acceptors)
    asio::co_spawn(
        acceptor.get_executor(), [impl = impl_.get(), &acceptor] { return impl->accept(acceptor); },
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

bool HttpServer::is_loopback() const {
  return impl_->is_loopback();
}

void HttpServer::stop() {
  for (tcp::acceptor& acceptor : impl_->acceptors)
    asio::post(acceptor.get_executor(), [&acceptor] {
      error_code ignored;
      acceptor.close(ignored);
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
    const auto resolved = tcp::resolver(io).resolve(options.host, std::to_string(options.port),
                                                    tcp::resolver::passive);
    port = options.port;
    error_code missing;
    for (tcp::endpoint endpoint : std::set<tcp::endpoint>(resolved.begin(), resolved.end())) {
      endpoint.port(port);
      try {
        port = acceptors.emplace_back(asio::make_strand(io), endpoint).local_endpoint().port();
      } catch (const boost::system::system_error& error) {
        if (!is_missing(error.code())) throw;
        missing = error.code();
      }
    }
    if (acceptors.empty()) throw boost::system::system_error(missing);
  } catch (const boost::system::system_error& error) {
    fail(ErrorCode::InvalidArgument, "cannot listen on {}:{}: {}", options.host, options.port,
         error.code().message());
  }
}

bool HttpServer::Impl::is_loopback() const {
  return std::all_of(acceptors.begin(), acceptors.end(), [](const tcp::acceptor& acceptor) {
    return acceptor.local_endpoint().address().is_loopback();
  });
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

asio::awaitable<void> HttpServer::Impl::accept(tcp::acceptor& acceptor) {
  asio::steady_timer pause(acceptor.get_executor());
  while (acceptor.is_open()) {
    try {
      auto [error, socket] =
          co_await acceptor.async_accept(asio::any_io_executor(asio::make_strand(io)), kTuple);
      if (!error) {
        admit(std::move(socket));
        continue;
      }
    } catch (const std::exception& error) {
      log(LogLevel::Error, "lost a new connection: {}", error.what());
    }
    if (!acceptor.is_open()) break;
    pause.expires_after(kAcceptPause);  // out of descriptors, perhaps: not at once again
    co_await pause.async_wait(kTuple);
  }
}

void HttpServer::Impl::admit(tcp::socket socket) {
  error_code error;
  socket.non_blocking(true, error);
  socket.set_option(tcp::no_delay(true), error);  // each token goes out at once
  std::uint64_t id = 0;
  std::shared_ptr<HttpConnection> connection;
  bool full = false;
  {
    const std::scoped_lock lock(mutex);
    if (stopping) return;
    const auto most = static_cast<std::size_t>(options.max_connections);
    full = connections.size() - turned_away >= most;
    if (full && turned_away >= most) return;  // not even told why
    id = next_id++;
    connection = make_connection(std::move(socket), options, api, *access);
    connections.emplace(id, connection);
    if (full) ++turned_away;
  }
  // Lets go of the place, whatever becomes of the connection.
  const auto release = [this, id, full](void*) {
    const std::scoped_lock lock(mutex);
    connections.erase(id);
    if (full) --turned_away;
    one_closed.notify_all();
  };
  std::shared_ptr<void> slot(nullptr, release);
  std::optional<ApiError> refusal;
  if (full)
    refusal = ApiError{503, fmt::format("all {} connections are taken", options.max_connections),
                       "server_error", "", "server_busy"};
  connection->start(std::move(slot), std::move(refusal));
}

}  // namespace emlx
