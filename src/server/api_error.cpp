#include "server/api_error.h"

#include <cstddef>
#include <string_view>

#include "base/utf8.h"

namespace emlx {
namespace {

constexpr const char* kInvalidRequest = "invalid_request_error";

constexpr std::size_t kMaxMessage = 500;  // bytes; a message may quote what the client sent

// One line of whole characters.
std::string shorten(std::string_view message) {
  const std::string_view line = message.substr(0, message.find('\n'));
  if (line.size() <= kMaxMessage) return std::string(line);
  std::string_view head = line.substr(0, kMaxMessage);
  head.remove_suffix(incomplete_utf8_tail(head));
  return std::string(head) + "...";
}

ApiError internal_error() {
  return {500, "the server failed to answer; its log says why", "server_error", "",
          "internal_error"};
}

ApiError describe(const Error& error) {
  const std::string message = shorten(error.what());
  switch (error.code()) {
    case ErrorCode::InvalidArgument:
      return {400, message, kInvalidRequest, "", "invalid_value"};
    case ErrorCode::ContextLength:
      return {400, message, kInvalidRequest, "messages", "context_length_exceeded"};
    case ErrorCode::Unsupported:
      return {400, message, kInvalidRequest, "", "unsupported"};
    case ErrorCode::NotFound:
      return {404, message, kInvalidRequest, "", "not_found"};
    case ErrorCode::Busy:
      return {429, message, "rate_limit_error", "", "server_busy"};
    case ErrorCode::InvalidFile:
    case ErrorCode::Internal:
      break;
  }
  return internal_error();
}

}  // namespace

ApiError to_api_error(const std::exception& failure) {
  const auto* error = dynamic_cast<const Error*>(&failure);
  if (error == nullptr) return internal_error();
  ApiError described = describe(*error);
  if (const auto* request_error = dynamic_cast<const RequestError*>(error)) {
    described.param = request_error->param();
    if (error->code() == ErrorCode::NotFound) described.code = described.param + "_not_found";
  }
  return described;
}

ApiError stopping_error() {
  return {503, "the server is stopping", "server_error", "", "server_stopping"};
}

}  // namespace emlx
