// Foreign text in messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace emlx {

// `bytes` in double quotes as a JSON string, so that it stays on one line, is valid UTF-8
// (ill-formed sequences become U+FFFD) and steers no terminal (\u escapes for all controls, line
// separators and changes of direction); cut to about `max_bytes`, with "..." in place of the rest.
std::string quote(std::string_view bytes, std::size_t max_bytes = 80);

}  // namespace emlx
