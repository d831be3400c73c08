// Server-sent events (WHATWG HTML, section 9.2).
#pragma once

#include <string>
#include <string_view>

namespace emlx {

inline constexpr std::string_view kSseDone = "data: [DONE]\n\n";
inline constexpr std::string_view kSseKeepAlive = ": keepalive\n\n";  // a comment; clients skip it

// `data`: one line, as compact JSON always is.
inline std::string sse_event(std::string_view data) {
  std::string event;
  event.reserve(data.size() + 8);
  event += "data: ";
  event += data;
  event += "\n\n";
  return event;
}

}  // namespace emlx
