#include "base/quote.h"

#include "base/json.h"
#include "base/utf8.h"

namespace emlx {

std::string quote(std::string_view bytes, std::size_t max_bytes) {
  const bool cut = bytes.size() > max_bytes;
  if (cut) {
    bytes = bytes.substr(0, max_bytes);
    bytes.remove_suffix(incomplete_utf8_tail(bytes));
  }
  std::string out;
  append_json_string(out, replace_invalid_utf8(bytes) + (cut ? "..." : ""));
  return out;
}

}  // namespace emlx
