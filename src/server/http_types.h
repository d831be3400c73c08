// HTTP as the routes see it: no sockets, no library.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace emlx {

// Its body travels apart: only chat has one.
struct HttpRequest {
  std::string method;  // "GET"
  std::string target;  // as it came: path and query
};

struct HttpReply {
  int status = 200;
  std::string body;                                          // JSON, or nothing with 204
  std::vector<std::pair<std::string, std::string>> headers;  // beside Content-Type and -Length
};

}  // namespace emlx
