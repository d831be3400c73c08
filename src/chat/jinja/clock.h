// Dates as Python's datetime.strftime writes them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace emlx::jinja {

// `time` in the local time zone. Names of months and days are English whatever the locale; time
// zones (%z, %Z) are empty, as for Python's datetime.now(). Throws Error(InvalidArgument) if the
// result would be longer than 4096 bytes.
std::string format_time(std::string_view format, std::chrono::system_clock::time_point time);

}  // namespace emlx::jinja
