#include "chat/jinja/clock.h"

#include <fmt/format.h>
#include <locale.h>
#include <time.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include <array>

#include "base/error.h"

namespace emlx::jinja {
namespace {

constexpr std::size_t kMaxTime = 4096;

[[noreturn]] void fail_too_long() {
  fail(ErrorCode::InvalidArgument, "strftime_now: expected a date of at most {} bytes, got more",
       kMaxTime);
}

// The directives that C's strftime lacks, or answers from the time zone, replaced.
std::string expand(std::string_view format, int microseconds) {
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    const char directive = format[++i];
    if (directive == 'f') {
      out += fmt::format("{:06}", microseconds);
    } else if (directive != 'z' && directive != 'Z') {
      out += {'%', directive};
    }
  }
  return out;
}

}  // namespace

std::string format_time(std::string_view format, std::chrono::system_clock::time_point time) {
  if (format.size() > kMaxTime) fail_too_long();
  if (format.find('\0') != std::string_view::npos)
    fail(ErrorCode::InvalidArgument, "strftime_now: expected a text, got a NUL in it");
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(time - seconds);
  const time_t since_epoch = std::chrono::system_clock::to_time_t(seconds);
  tm fields{};
  if (localtime_r(&since_epoch, &fields) == nullptr)
    fail(ErrorCode::Internal, "expected a local time, got none");
  // The space tells an empty result from one that did not fit.
  const std::string padded = expand(format, static_cast<int>(microseconds.count())) + ' ';
  std::array<char, kMaxTime + 1> buffer;
  const std::size_t size =
      strftime_l(buffer.data(), buffer.size(), padded.c_str(), &fields, c_locale);
  if (size == 0) fail_too_long();
  return {buffer.data(), size - 1};
}

}  // namespace emlx::jinja
