#include "formats/json_fields.h"

#include <cstdint>
#include <limits>

#include "base/error.h"
#include "base/quote.h"

namespace emlx {

const JsonValue* JsonFields::find(std::string_view name) const {
  const JsonValue* value = object_.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

void JsonFields::fail_missing(std::string_view name) const {
  fail(ErrorCode::InvalidFile, "{}: {} is missing", what_, name);
}

void JsonFields::fail_kind(std::string_view name, const JsonValue& value,
                           const std::string& expected) const {
  fail(ErrorCode::InvalidFile, "{}: {}: expected {}, got {}", what_, name, expected,
       quote(to_json(value)));
}

std::optional<int> JsonFields::integer(std::string_view name, int min, int max) const {
  const JsonValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  const std::int64_t* integer = value->if_int64();
  if (integer == nullptr || *integer < min || *integer > max)
    fail_kind(name, *value, fmt::format("an integer of {} to {}", min, max));
  return static_cast<int>(*integer);
}

std::optional<double> JsonFields::number(std::string_view name, double min, double max) const {
  const JsonValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  const double number =
      value->is_number() ? value->to_number<double>() : std::numeric_limits<double>::quiet_NaN();
  if (!(number >= min && number <= max))
    fail_kind(name, *value, fmt::format("a number of {} to {}", min, max));
  return number;
}

std::optional<bool> JsonFields::boolean(std::string_view name) const {
  const JsonValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_bool()) fail_kind(name, *value, "true or false");
  return value->get_bool();
}

std::optional<std::string> JsonFields::text(std::string_view name) const {
  const JsonValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) fail_kind(name, *value, "text");
  return std::string(value->get_string());
}

std::optional<std::vector<std::string>> JsonFields::texts(std::string_view name) const {
  const JsonValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) fail_kind(name, *value, "a list of texts");
  std::vector<std::string> texts;
  for (const JsonValue& item : value->get_array()) {
    if (!item.is_string()) fail_kind(name, *value, "a list of texts");
    texts.emplace_back(item.get_string());
  }
  return texts;
}

std::optional<JsonFields> JsonFields::object(std::string_view name) const {
  const JsonValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) fail_kind(name, *value, "an object");
  return JsonFields(value->get_object(), fmt::format("{}: {}", what_, name));
}

std::vector<TokenId> JsonFields::token_ids(std::string_view name) const {
  const JsonValue* value = find(name);
  if (value == nullptr) return {};
  std::vector<TokenId> ids;
  const auto add = [&](const JsonValue& item) {
    const std::int64_t* id = item.if_int64();
    if (id == nullptr || *id < 0 || *id > std::numeric_limits<TokenId>::max())
      fail_kind(name, *value, "a token id or a list of them");
    ids.push_back(static_cast<TokenId>(*id));
  };
  if (const JsonArray* list = value->if_array()) {
    for (const JsonValue& item : *list) add(item);
  } else {
    add(*value);
  }
  return ids;
}

}  // namespace emlx
