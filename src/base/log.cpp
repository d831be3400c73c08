#include "base/log.h"

#include <mutex>

namespace emlx {
namespace {

struct Logger {
  std::mutex mutex;
  LogLevel lowest = LogLevel::Info;
  LogSink sink;
};

Logger& logger() {
  static Logger instance;
  return instance;
}

}  // namespace

void set_log_sink(LogLevel lowest, LogSink sink) {
  std::scoped_lock lock(logger().mutex);
  logger().lowest = lowest;
  logger().sink = std::move(sink);
}

void log_line(LogLevel level, std::string_view line) noexcept {
  try {
    std::scoped_lock lock(logger().mutex);
    if (logger().sink && level >= logger().lowest) logger().sink(level, line);
  } catch (...) {  // NOLINT(bugprone-empty-catch): a log line is never worth a failure
  }
}

}  // namespace emlx
