#include "base/quote.h"

#include <fmt/format.h>

#include <iterator>

#include "base/json.h"
#include "base/utf8.h"

namespace emlx {
namespace {

// What JSON lets through but a terminal obeys: DEL and the C1 controls, line separators, and what
// turns the direction of the text after it.
bool steers_terminal(char32_t character) {
  return (character >= 0x7F && character <= 0x9F) || (character >= 0x2028 && character <= 0x202E) ||
         (character >= 0x2066 && character <= 0x2069);
}

}  // namespace

std::string quote(std::string_view bytes, std::size_t max_bytes) {
  const bool cut = bytes.size() > max_bytes;
  if (cut) {
    bytes = bytes.substr(0, max_bytes);
    bytes.remove_suffix(incomplete_utf8_tail(bytes));
  }
  std::string json, out;
  append_json_string(json, std::string(bytes) + (cut ? "..." : ""));
  for (std::string_view rest = json; !rest.empty();) {
    const DecodedChar decoded = decode_utf8(rest);
    if (steers_terminal(decoded.code_point)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}",
                     static_cast<unsigned>(decoded.code_point));
    } else {
      append_utf8(out, decoded.code_point);
    }
    rest.remove_prefix(static_cast<std::size_t>(decoded.length));
  }
  return out;
}

}  // namespace emlx
