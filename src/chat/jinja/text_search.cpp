#include "chat/jinja/text_search.h"

#include <algorithm>

namespace emlx::jinja {
namespace {

bool matches_at(Runtime& runtime, std::string_view text, std::string_view needle, std::size_t at) {
  const auto end =
      std::mismatch(needle.begin(), needle.end(), text.begin() + static_cast<std::ptrdiff_t>(at));
  runtime.step(1 + static_cast<std::size_t>(end.first - needle.begin()) / 16);
  return end.first == needle.end();
}

}  // namespace

std::size_t find_text(Runtime& runtime, std::string_view text, std::string_view needle,
                      std::size_t from) {
  if (from > text.size() || needle.size() > text.size() - from) return std::string_view::npos;
  if (needle.empty()) return from;
  const std::size_t last = text.size() - needle.size();
  while (true) {
    const std::size_t at = text.find(needle[0], from);
    runtime.read(text.substr(from, at - from));
    if (at > last) return std::string_view::npos;  // npos included
    if (matches_at(runtime, text, needle, at)) return at;
    from = at + 1;
  }
}

std::size_t rfind_text(Runtime& runtime, std::string_view text, std::string_view needle) {
  if (needle.size() > text.size()) return std::string_view::npos;
  for (std::size_t at = text.size() - needle.size() + 1; at-- > 0;)
    if (matches_at(runtime, text, needle, at)) return at;
  return std::string_view::npos;
}

}  // namespace emlx::jinja
