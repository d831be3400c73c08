#include "models/families/family.h"

#include <fmt/ranges.h>

#include <vector>

#include "base/error.h"
#include "base/quote.h"

namespace emlx {
namespace {

// One line a family.
constexpr const Family* kFamilies[] = {
    &kLlama,
    &kQwen3,
};

}  // namespace

const Family& find_family(std::string_view name, const std::string& what) {
  std::vector<std::string_view> names;
  for (const Family* family : kFamilies) {
    if (family->name == name) return *family;
    names.push_back(family->name);
  }
  fail(ErrorCode::Unsupported, "{}: architecture {} is not supported (supported: {})", what,
       quote(name), fmt::join(names, ", "));
}

}  // namespace emlx
