#include "server/api_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

#include "base/utf8.h"

namespace emlx {
namespace {

TEST(ApiError, EveryCodeHasItsStatus) {
  struct Case {
    ErrorCode code;
    int status;
    const char* type;
    const char* name;
  };
  for (const Case& c :
       {Case{ErrorCode::InvalidArgument, 400, "invalid_request_error", "invalid_value"},
        {ErrorCode::ContextLength, 400, "invalid_request_error", "context_length_exceeded"},
        {ErrorCode::Unsupported, 400, "invalid_request_error", "unsupported"},
        {ErrorCode::NotFound, 404, "invalid_request_error", "not_found"},
        {ErrorCode::Busy, 429, "rate_limit_error", "server_busy"},
        {ErrorCode::InvalidFile, 500, "server_error", "internal_error"},
        {ErrorCode::Internal, 500, "server_error", "internal_error"}}) {
    const ApiError error = to_api_error(Error(c.code, "why"));
    EXPECT_EQ(error.status, c.status) << to_string(c.code);
    EXPECT_EQ(error.type, c.type) << to_string(c.code);
    EXPECT_EQ(error.code, c.name) << to_string(c.code);
  }
}

TEST(ApiError, ClientsFaultsAreExplainedAndOursAreNot) {
  EXPECT_EQ(to_api_error(Error(ErrorCode::InvalidArgument, "top_k: no")).message, "top_k: no");
  for (const ApiError& error :
       {to_api_error(Error(ErrorCode::Internal, "/home/me/x.cpp:3: std::bad_thing")),
        to_api_error(Error(ErrorCode::InvalidFile, "/home/me/model")),
        to_api_error(std::runtime_error("/home/me")), to_api_error(std::bad_alloc())}) {
    EXPECT_EQ(error.status, 500);
    EXPECT_THAT(error.message, testing::Not(testing::AnyOf(testing::HasSubstr("/home"),
                                                           testing::HasSubstr("std::"))));
  }
}

TEST(ApiError, MessagesAreOneShortLine) {
  const std::string euros = [] {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += "\xe2\x82\xac";
    return text;
  }();
  const auto message = [](const std::string& text) {
    return to_api_error(Error(ErrorCode::InvalidArgument, text)).message;
  };
  EXPECT_EQ(message("one\ntwo"), "one");
  EXPECT_LE(message(euros).size(), 503U);
  EXPECT_TRUE(is_valid_utf8(message(euros)));
  EXPECT_EQ(message(std::string(500, 'x')), std::string(500, 'x'));
}

TEST(ApiError, RequestErrorsNameTheirField) {
  const ApiError error = to_api_error(RequestError(ErrorCode::InvalidArgument, "stop", "no"));
  EXPECT_EQ(error.param, "stop");
  EXPECT_EQ(error.message, "stop: no");
  EXPECT_EQ(to_api_error(RequestError(ErrorCode::NotFound, "model", "no")).code, "model_not_found");
}

}  // namespace
}  // namespace emlx
