// Helpers of tests: bytes, folders, and what an error says.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace emlx {

inline std::span<const std::byte> raw_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// A fresh empty folder of the running test, removed at the end of its scope.
class TestFolder {
 public:
  TestFolder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(testing::TempDir()) /
            fmt::format("emlx-{}-{}-{}", test->test_suite_name(), test->name(), ::getpid());
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }

 private:
  std::filesystem::path path_;
};

// Expects `action` to throw Error of this code with `part` in its message, on one line.
template <typename Action>
void expect_error(ErrorCode code, std::string_view part, Action action) {
  try {
    action();
    ADD_FAILURE() << "no error; expected one with: " << part;
  } catch (const Error& error) {
    const std::string_view message = error.what();
    EXPECT_EQ(to_string(error.code()), std::string(to_string(code))) << message;
    EXPECT_NE(message.find(part), std::string_view::npos)
        << "got: " << message << "\nexpected: " << part;
    EXPECT_EQ(message.find('\n'), std::string_view::npos) << message;
  }
}

}  // namespace emlx
