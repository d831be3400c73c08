// Typed, range-checked access to the members of a JSON object from a file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/token_id.h"

namespace emlx {

// Getters return nullopt for an absent or null member and throw Error(InvalidFile), naming file and
// member, for one of another type or outside its range (ends included).
class JsonFields {
 public:
  // Borrows `object`; `what` names it in messages.
  JsonFields(const JsonObject& object, std::string what)
      : object_(object), what_(std::move(what)) {}

  std::optional<int> integer(std::string_view name, int min, int max) const;
  std::optional<double> number(std::string_view name, double min, double max) const;
  std::optional<bool> boolean(std::string_view name) const;
  std::optional<std::string> text(std::string_view name) const;
  std::optional<std::vector<std::string>> texts(std::string_view name) const;
  std::optional<JsonFields> object(std::string_view name) const;
  // One id or a list of ids; empty if absent.
  std::vector<TokenId> token_ids(std::string_view name) const;

  // The member's value, which must be there.
  template <typename T>
  T require(std::string_view name, std::optional<T> value) const {
    if (!value) fail_missing(name);
    return std::move(*value);
  }

  const JsonObject& members() const noexcept { return object_; }
  const std::string& what() const noexcept { return what_; }

 private:
  const JsonValue* find(std::string_view name) const;
  [[noreturn]] void fail_missing(std::string_view name) const;
  [[noreturn]] void fail_kind(std::string_view name, const JsonValue& value,
                              const std::string& expected) const;

  const JsonObject& object_;
  std::string what_;
};

}  // namespace emlx
