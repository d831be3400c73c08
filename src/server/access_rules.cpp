#include "server/access_rules.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>

#include "base/quote.h"

namespace emlx {
namespace {

using boost::beast::iequals;

// "[::1]:8080" and "localhost:8080" without port and brackets.
std::string_view name_of(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

bool is_loopback(std::string_view name) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(name, error);
  return iequals(name, "localhost") || (!error && address.is_loopback());
}

bool is_origin_of(std::string_view origin, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (origin.starts_with(scheme) && iequals(origin.substr(scheme.size()), host)) return true;
  return false;
}

ApiError forbidden(std::string message, std::string code) {
  return {403, std::move(message), "invalid_request_error", "", std::move(code)};
}

}  // namespace

AccessRules::AccessRules(const ServerOptions& options, bool loopback)
    : any_host_(!loopback || options.allow_origin == "*"),
      bound_(options.host),
      hosts_(options.allow_hosts),
      origin_(options.allow_origin) {}

// By name alone: a tunnel's port is not ours.
bool AccessRules::is_known(std::string_view host) const {
  const std::string_view name = name_of(host);
  return is_loopback(name) || iequals(name, bound_) || is_origin_of(origin_, host) ||
         std::any_of(hosts_.begin(), hosts_.end(), [&](const std::string& allowed) {
           return iequals(name, allowed) || allowed == "*";
         });
}

std::optional<ApiError> AccessRules::refusal(std::string_view method, std::string_view host,
                                             std::string_view origin) const {
  if (!any_host_ && !host.empty() && !is_known(host))
    return forbidden("expected a Host of this machine, got " + quote(host) +
                         "; --allow-host lets other names call",
                     "host_not_allowed");
  const bool foreign =
      !origin.empty() && origin_ != "*" && origin != origin_ && !is_origin_of(origin, host);
  if (method == "POST" && foreign)
    return forbidden(
        "expected no web page to call, got one of " + quote(origin) + "; --allow-origin lets it",
        "origin_not_allowed");
  return std::nullopt;
}

}  // namespace emlx
