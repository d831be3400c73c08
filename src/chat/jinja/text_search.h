// Searching in texts, with a bound on the work: a needle built to make a plain search quadratic
// runs into the step limit instead.
#pragma once

#include <cstddef>
#include <string_view>

#include "chat/jinja/runtime.h"

namespace emlx::jinja {

// Byte offset of the first (last) occurrence of `needle` at or after `from`, or npos.
std::size_t find_text(Runtime& runtime, std::string_view text, std::string_view needle,
                      std::size_t from = 0);
std::size_t rfind_text(Runtime& runtime, std::string_view text, std::string_view needle);

}  // namespace emlx::jinja
