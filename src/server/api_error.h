// Errors as HTTP clients see them.
#pragma once

#include <exception>
#include <string>

#include "base/error.h"

namespace emlx {

// A request's fault in one of its fields.
class RequestError : public Error {
 public:
  // `param`: the field, as the client wrote it ("messages[0].content").
  RequestError(ErrorCode code, std::string param, const std::string& message)
      : Error(code, param + ": " + message), param_(std::move(param)) {}
  const std::string& param() const noexcept { return param_; }

 private:
  std::string param_;
};

// OpenAI's error object and the status it goes out with. Empty param or code: null.
struct ApiError {
  int status = 500;
  std::string message, type, param, code;
};

// The one place where failures become HTTP. Holds no detail of what is not the client's fault.
ApiError to_api_error(const std::exception& failure);

// A request cut short because the server or its engine is stopping.
ApiError stopping_error();

}  // namespace emlx
