#include "chat/jinja/clock.h"

#include <gtest/gtest.h>
#include <locale.h>
#include <time.h>

#include <chrono>

#include "chat/test_support.h"

namespace emlx::jinja {
namespace {

// 2024-07-05 09:08:07.000042, local time.
std::chrono::system_clock::time_point summer() {
  tm fields{};
  fields.tm_year = 124;
  fields.tm_mon = 6;
  fields.tm_mday = 5;
  fields.tm_hour = 9;
  fields.tm_min = 8;
  fields.tm_sec = 7;
  fields.tm_isdst = -1;
  return std::chrono::system_clock::from_time_t(mktime(&fields)) + std::chrono::microseconds(42);
}

TEST(FormatTime, WritesDatesAsPythonDoes) {
  EXPECT_EQ(format_time("%d %b %Y, %B %A %a", summer()), "05 Jul 2024, July Friday Fri");
  EXPECT_EQ(format_time("%H:%M:%S.%f %I%p %j", summer()), "09:08:07.000042 09AM 187");
  EXPECT_EQ(format_time("%Y-%m-%dT%H%z%Z!", summer()), "2024-07-05T09!");
  EXPECT_EQ(format_time("", summer()), "");
  EXPECT_EQ(format_time("é %% 100%", summer()), "é % 100%");
}

TEST(FormatTime, IsEnglishWhateverTheLocale) {
  const std::string before = setlocale(LC_ALL, nullptr);
  const bool changed = setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
  EXPECT_EQ(format_time("%B", summer()), "July") << (changed ? "German" : "no German locale here");
  setlocale(LC_ALL, before.c_str());
}

TEST(FormatTime, RefusesWhatGrowsTooLong) {
  EXPECT_NE(error_of([] { format_time(std::string(5000, 'x'), summer()); }), "");
  EXPECT_NE(error_of([] { format_time(std::string("a\0b", 3), summer()); }), "");
}

}  // namespace
}  // namespace emlx::jinja
