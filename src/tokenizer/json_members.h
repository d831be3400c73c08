// Typed access to parsed tokenizer.json, with messages that name the place.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/token_id.h"

namespace emlx {

// `what` names the value in messages, e.g. "model.vocab". All throw Error(InvalidFile):
// "tokenizer: expected <what> to be <kind>, got <kind>".
const JsonObject& as_object(const JsonValue& value, std::string_view what);
const JsonArray& as_array(const JsonValue& value, std::string_view what);
std::string_view as_string(const JsonValue& value, std::string_view what);
TokenId as_token_id(const JsonValue& value, std::string_view what);

// The member `key` of `object`, a part of the file named `what`; missing is an error.
const JsonValue& required_member(const JsonObject& object, std::string_view key,
                                 std::string_view what);

// The member `key`, or a null value if it is missing.
const JsonValue& optional_member(const JsonObject& object, std::string_view key);

// A boolean member; missing or null means `fallback`.
bool bool_member(const JsonObject& object, std::string_view key, bool fallback,
                 std::string_view what);

// The member "type".
std::string_view type_of(const JsonObject& object, std::string_view what);

}  // namespace emlx
