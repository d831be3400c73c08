#include "tokenizer/json_members.h"

#include <cstdint>
#include <limits>

#include "base/error.h"

namespace emlx {
namespace {

[[noreturn]] void fail_kind(std::string_view what, const char* expected, const JsonValue& value) {
  fail(ErrorCode::InvalidFile, "tokenizer: expected {} to be {}, got {}", what, expected,
       json_kind(value));
}

}  // namespace

const JsonObject& as_object(const JsonValue& value, std::string_view what) {
  if (!value.is_object()) fail_kind(what, "an object", value);
  return value.get_object();
}

const JsonArray& as_array(const JsonValue& value, std::string_view what) {
  if (!value.is_array()) fail_kind(what, "an array", value);
  return value.get_array();
}

std::string_view as_string(const JsonValue& value, std::string_view what) {
  if (!value.is_string()) fail_kind(what, "a string", value);
  return value.get_string();
}

TokenId as_token_id(const JsonValue& value, std::string_view what) {
  if (value.is_uint64())  // Boost.JSON uses it only for what an int64 cannot hold
    fail(ErrorCode::InvalidFile, "tokenizer: expected {} to be a token id, got {}", what,
         value.get_uint64());
  if (!value.is_int64()) fail_kind(what, "a token id", value);
  const std::int64_t id = value.get_int64();
  if (id < 0 || id > std::numeric_limits<TokenId>::max())
    fail(ErrorCode::InvalidFile, "tokenizer: expected {} to be a token id, got {}", what, id);
  return static_cast<TokenId>(id);
}

const JsonValue& required_member(const JsonObject& object, std::string_view key,
                                 std::string_view what) {
  const JsonValue* value = object.if_contains(key);
  if (value == nullptr)
    fail(ErrorCode::InvalidFile, "tokenizer: expected {} to have '{}', got none", what, key);
  return *value;
}

const JsonValue& optional_member(const JsonObject& object, std::string_view key) {
  static const JsonValue null;
  const JsonValue* value = object.if_contains(key);
  return value == nullptr ? null : *value;
}

bool bool_member(const JsonObject& object, std::string_view key, bool fallback,
                 std::string_view what) {
  const JsonValue& value = optional_member(object, key);
  if (value.is_null()) return fallback;
  if (!value.is_bool())
    fail(ErrorCode::InvalidFile, "tokenizer: expected '{}' of {} to be a boolean, got {}", key,
         what, json_kind(value));
  return value.get_bool();
}

std::string_view type_of(const JsonObject& object, std::string_view what) {
  return as_string(required_member(object, "type", what), what);
}

}  // namespace emlx
