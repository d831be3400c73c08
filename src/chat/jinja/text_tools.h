// What the str methods and the text filters share.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "chat/jinja/runtime.h"

namespace emlx::jinja {

enum class Side : std::uint8_t { Left, Right, Both };

// Without the characters in `chars` (None or Missing: white space) at its ends.
std::string_view strip_text(Runtime& runtime, std::string_view text, const Value& chars, Side side);

// str.split and str.rsplit; `separator` None or Missing: runs of white space. `limit` < 0: no
// limit.
std::vector<Value> split_text(Runtime& runtime, std::string_view text, const Value& separator,
                              std::int64_t limit);
std::vector<Value> rsplit_text(Runtime& runtime, std::string_view text, const Value& separator,
                               std::int64_t limit);
std::vector<Value> split_lines(Runtime& runtime, std::string_view text, bool keep_ends);

// The first `limit` occurrences replaced (< 0: all).
Value replace_text(Runtime& runtime, std::string_view text, std::string_view old,
                   std::string_view replacement, std::int64_t limit);

// Padded with `fill`, as str.ljust, str.rjust and str.center do. `side`: where the text goes.
Value pad_text(Runtime& runtime, std::string_view text, std::int64_t width, std::string_view fill,
               Side side);

bool is_lowercase_text(std::string_view text);  // str.islower
bool is_uppercase_text(std::string_view text);  // str.isupper

}  // namespace emlx::jinja
