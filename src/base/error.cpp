#include "base/error.h"

namespace emlx {

const char* to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return "invalid_argument";
    case ErrorCode::NotFound:
      return "not_found";
    case ErrorCode::InvalidFile:
      return "invalid_file";
    case ErrorCode::Unsupported:
      return "unsupported";
    case ErrorCode::ContextLength:
      return "context_length";
    case ErrorCode::Busy:
      return "busy";
    case ErrorCode::Internal:
      return "internal";
  }
  return "unknown";
}

}  // namespace emlx
