// Stop strings over text that arrives in pieces.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace emlx {

// Passes text through up to a stop string and holds back what may be the beginning of one. The
// first stop string to be complete ends the text; of several that end at the same byte, the
// longest. So the result does not depend on how the text was cut into pieces. Time is linear in the
// text for each stop string. Not thread-safe.
class StopChecker {
 public:
  // `stops`: non-empty UTF-8 strings.
  explicit StopChecker(const std::vector<std::string>& stops);

  // Takes the next piece (whole UTF-8 characters) and returns what is now certain to belong to the
  // text, whole characters too. Returns nothing once matched.
  std::string append(std::string_view piece);

  // The text has ended: returns what was held back.
  std::string finish();

  bool matched() const noexcept { return matched_; }

 private:
  // Knuth-Morris-Pratt: the longest beginning of one stop string that ends the text so far.
  struct Pattern {
    std::string text;
    std::vector<std::size_t> border;  // [length + 1], of each beginning's longest proper border
    std::size_t length = 0;           // bytes of it that end the text now

    explicit Pattern(std::string stop);
    void feed(char next);
  };

  std::vector<Pattern> patterns_;
  std::string held_;  // the longest beginning of any stop string that ends the text
  bool matched_ = false;
};

}  // namespace emlx
