// Which callers the server answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"
#include "server/http_server.h"

namespace emlx {

// Keeps web pages away. A page can make its reader's browser call a server on the reader's own
// machine: under a name of its own that it has pointed there (DNS rebinding, seen in Host), or
// across origins (seen in Origin). What is no browser passes.
class AccessRules {
 public:
  // `loopback`: whether the server listens on loopback addresses only. Others have names we cannot
  // know, so there any Host passes.
  AccessRules(const ServerOptions& options, bool loopback);

  // Why a request may not pass; nothing if it may. `host` and `origin`: those headers, empty if
  // missing.
  std::optional<ApiError> refusal(std::string_view method, std::string_view host,
                                  std::string_view origin) const;

 private:
  bool is_known(std::string_view host) const;

  const bool any_host_;
  const std::string bound_;
  const std::vector<std::string> hosts_;
  const std::string origin_;
};

}  // namespace emlx
