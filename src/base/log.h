// Logging for every layer; only the app decides where lines go.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <utility>

namespace emlx {

enum class LogLevel { Debug, Info, Warning, Error };

// Receives whole lines without a newline. Called from any thread, one call at a time.
using LogSink = std::function<void(LogLevel, std::string_view)>;

// Replaces the sink (the default drops everything) and the lowest level that reaches it.
// Thread-safe.
void set_log_sink(LogLevel lowest, LogSink sink);

// Hands one line to the sink. Thread-safe; never throws: a failing sink loses the line.
void log_line(LogLevel level, std::string_view line) noexcept;

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace emlx
