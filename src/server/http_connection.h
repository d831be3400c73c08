// One client's connection. Part of http_server.cpp's inside.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <optional>

#include "server/access_rules.h"
#include "server/api.h"
#include "server/api_error.h"
#include "server/http_server.h"

namespace emlx {

// Thread-safe.
//
// A client that ends its side of the connection while its answer is generated counts as gone, as
// with nginx, Go and hyper: the request is cancelled. A close and a half-close look the same from
// here, and clients leave often and half-close hardly ever. What needs no generation is answered
// all the same. A client that sends more than 32 KiB ahead counts as gone too: its end could not be
// seen behind all that.
class HttpConnection {
 public:
  virtual ~HttpConnection() = default;

  // Starts serving; `slot` is let go, on a network thread, when the client is done with or lost,
  // however that came. A `refusal` is all that the client gets, whatever it asks for.
  virtual void start(std::shared_ptr<void> slot, std::optional<ApiError> refusal) = 0;

  // Ends politely: a running answer is cancelled and says so; an idle connection closes.
  virtual void shut_down() = 0;

  // Ends at once.
  virtual void abort() = 0;
};

// `socket`'s executor must be a strand. The others must outlive the connection.
std::shared_ptr<HttpConnection> make_connection(boost::asio::ip::tcp::socket socket,
                                                const ServerOptions& options, const Api& api,
                                                const AccessRules& access);

}  // namespace emlx
