// What the tests of all layers share: fixtures, and what an error says.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/mapped_file.h"

namespace emlx {

// The text of a file below tests/data, e.g. "chat/qwen3.jinja".
inline std::string fixture(const std::string& name) {
  return read_text_file(EMLX_TEST_DATA "/" + name, std::size_t{16} << 20);
}

// "code: message" of the Error that `action` throws; empty if it throws none.
template <typename Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return std::string(to_string(error.code())) + ": " + error.what();
  }
  return "";
}

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
