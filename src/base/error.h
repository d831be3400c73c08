// The one exception type of the project.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace emlx {

// What went wrong, as far as a caller may want to react to it. The server maps each to an HTTP
// status.
enum class ErrorCode {
  InvalidArgument,  // the caller asked for something that makes no sense
  NotFound,         // a named thing (model, route, file) does not exist
  InvalidFile,      // a file is missing, damaged or of a foreign kind
  Unsupported,      // well-formed, but not something this build does
  ContextLength,    // the prompt does not fit the context
  Busy,             // a bounded resource is full; try again later
  Internal,         // a defect of ours, or of a library below us
};

// Returns the enumerator's name in snake_case, for logs and JSON.
const char* to_string(ErrorCode code) noexcept;

// Thrown for failures. The message is one line, says what was expected and what came, and may be
// shown to a user; messages made for HTTP responses hold no file path.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

// Throws Error with a formatted message.
template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace emlx
