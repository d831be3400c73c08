#include "engine/stop_checker.h"

#include <algorithm>
#include <utility>

namespace emlx {

StopChecker::Pattern::Pattern(std::string stop)
    : text(std::move(stop)), border(text.size() + 1, 0) {
  for (std::size_t end = 1, k = 0; end < text.size(); ++end) {
    while (k > 0 && text[k] != text[end]) k = border[k];
    if (text[k] == text[end]) ++k;
    border[end + 1] = k;
  }
}

void StopChecker::Pattern::feed(char next) {
  while (length > 0 && text[length] != next) length = border[length];
  if (text[length] == next) ++length;
}

StopChecker::StopChecker(const std::vector<std::string>& stops) {
  for (const std::string& stop : stops) patterns_.emplace_back(stop);
}

std::string StopChecker::append(std::string_view piece) {
  if (matched_) return {};
  if (patterns_.empty()) return std::string(piece);
  std::string text = std::exchange(held_, {});
  std::size_t open = text.size();  // the longest beginning of a stop string that ends the text
  for (const char next : piece) {
    text += next;
    open = 0;
    std::size_t complete = 0;
    for (Pattern& pattern : patterns_) {
      pattern.feed(next);
      open = std::max(open, pattern.length);
      if (pattern.length == pattern.text.size()) complete = std::max(complete, pattern.length);
    }
    if (complete > 0) {
      matched_ = true;
      text.resize(text.size() - complete);
      return text;
    }
  }
  held_ = text.substr(text.size() - open);
  text.resize(text.size() - open);
  return text;
}

std::string StopChecker::finish() {
  return std::exchange(held_, {});
}

}  // namespace emlx
