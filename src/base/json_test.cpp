#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace emlx {
namespace {

std::string round_trip(std::string_view text) {
  return to_json(parse_json(text, "test"));
}

TEST(Json, KeepsTheOrderOfKeysAndTheLastOfEqualOnes) {
  EXPECT_EQ(round_trip(R"({"b":1,"a":2})"), R"({"b":1,"a":2})");
  EXPECT_EQ(round_trip(R"({"a":1,"a":2})"), R"({"a":2})");
}

TEST(Json, PrintsFloatsAsPythonDoes) {
  EXPECT_EQ(round_trip("[0.1,1.0,1e3,1e22,-0.0,1e-5,0.0001,1e16,123456789012345680.0,0.3,5e-324]"),
            "[0.1,1.0,1000.0,1e+22,-0.0,1e-05,0.0001,1e+16,1.2345678901234568e+17,0.3,5e-324]");
}

TEST(Json, ReadsDoublesThatNeedCorrectRounding) {
  EXPECT_EQ(parse_json("3.14159265358979", "test").as_double(), 3.14159265358979);
  EXPECT_EQ(parse_json("0.000001", "test").as_double(), 1e-6);
  EXPECT_EQ(parse_json("0.84551240822557006", "test").as_double(), 0.84551240822557006);
  EXPECT_EQ(parse_json("[2.2250738585072011e-308]", "test").as_array()[0].as_double(),
            2.2250738585072011e-308);
}

TEST(Json, KeepsWholeNumbersWhole) {
  EXPECT_EQ(round_trip("[9007199254740993,-5,18446744073709551615]"),
            "[9007199254740993,-5,18446744073709551615]");
}

TEST(Json, EscapesControlCharactersOnly) {
  EXPECT_EQ(to_json(JsonValue("a\"\\\n\x01/\x7f\xc3\xa9")), "\"a\\\"\\\\\\n\\u0001/\x7f\xc3\xa9\"");
}

TEST(Json, WritesNumbersJsonLacksAsNull) {
  EXPECT_EQ(to_json(JsonValue(std::numeric_limits<double>::infinity())), "null");
  EXPECT_EQ(to_json(JsonValue(std::nan(""))), "null");
}

TEST(Json, PythonStyleHasSpacesAndIndents) {
  const JsonValue value = parse_json(R"({"b":[1,{}],"a":{"c":[]}})", "test");
  EXPECT_EQ(to_json(value, JsonStyle::Python), R"({"b": [1, {}], "a": {"c": []}})");
  EXPECT_EQ(to_json(value, JsonStyle::Python, 2),
            "{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": {\n    \"c\": []\n  }\n}");
}

void expect_rejected(std::string_view text, std::string_view part, const JsonLimits& limits = {}) {
  try {
    parse_json(text, "test", limits);
    ADD_FAILURE() << "accepted: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Json, RejectsWhatIsNotOneJsonValue) {
  expect_rejected("", "incomplete");
  expect_rejected("   ", "incomplete");
  expect_rejected("{", "incomplete");
  expect_rejected("{} x", "extra data at byte 3");
  expect_rejected("nan", "at byte");
  expect_rejected("\"\\ud800\"", "at byte");
  expect_rejected("\"\xff\"", "at byte");
  expect_rejected("1e400", "1e400");
}

TEST(Json, HoldsItsLimits) {
  expect_rejected(std::string(100, '[') + std::string(100, ']'), "at byte");
  expect_rejected("[1,2,3,4]", "at most 4 bytes", {.max_bytes = 4});
  EXPECT_NO_THROW(parse_json(std::string(60, '[') + std::string(60, ']'), "test"));
}

TEST(Json, RefusesRepeatedKeysOnDemand) {
  const JsonLimits unique{.unique_keys = true};
  expect_rejected(R"({"a":1,"b":{"k":1},"a":2})", R"("a" again)", unique);
  expect_rejected(R"([{"b":{"k\u0041":1,"kA":2}}])", R"("kA" again)", unique);
  expect_rejected(R"({"":1,"":2})", R"("" again)", unique);
  EXPECT_NO_THROW(parse_json(R"({"a":{"a":1},"b":{"a":1}})", "test", unique));
}

TEST(Json, NamesKindsForMessages) {
  for (const auto& [text, kind] :
       std::vector<std::pair<std::string, std::string>>{{"null", "null"},
                                                        {"true", "a boolean"},
                                                        {"1", "a number"},
                                                        {"1e99", "a number"},
                                                        {"18446744073709551615", "a number"},
                                                        {"\"\"", "a string"},
                                                        {"[]", "an array"},
                                                        {"{}", "an object"}})
    EXPECT_EQ(json_kind(parse_json(text, "text")), kind) << text;
}

}  // namespace
}  // namespace emlx
