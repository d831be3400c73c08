// One client's connection. Part of http_server.cpp's inside.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>

#include "server/api.h"
#include "server/http_server.h"

namespace emlx {

// Thread-safe.
class HttpConnection {
 public:
  virtual ~HttpConnection() = default;

  // Starts serving; `closed` is called once, on a network thread, when the client is done with or
  // lost.
  virtual void start(std::function<void()> closed) = 0;

  // Ends politely: a running answer is cancelled and says so; an idle connection closes.
  virtual void shut_down() = 0;

  // Ends at once.
  virtual void abort() = 0;
};

// `socket`'s executor must be a strand. `options` and `api` must outlive the connection.
std::shared_ptr<HttpConnection> make_connection(boost::asio::ip::tcp::socket socket,
                                                const ServerOptions& options, const Api& api);

}  // namespace emlx
