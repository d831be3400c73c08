// map, select, reject and their kin: generators, which do their work when walked.
#include <memory>
#include <optional>
#include <vector>

#include "base/quote.h"
#include "chat/jinja/access.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/iteration.h"
#include "chat/jinja/operators.h"

namespace emlx::jinja {
namespace {

// A call's arguments, kept for later.
struct KeptArguments {
  std::vector<Value> positional;
  std::vector<KeywordArgument> keywords;

  explicit KeptArguments(const Arguments& arguments)
      : positional(arguments.positional.begin(), arguments.positional.end()),
        keywords(arguments.keywords.begin(), arguments.keywords.end()) {}

  // All but the first `count`.
  Arguments after(std::size_t count) const {
    Arguments rest;
    rest.positional = std::span(positional).subspan(count);
    rest.keywords = keywords;
    return rest;
  }
};

class MapGenerator final : public Generator {
 public:
  MapGenerator(Runtime& runtime, const Value& source, const Arguments& arguments)
      : runtime_(runtime), source_(source), arguments_(arguments) {}

  bool next(Value& out) override {
    if (!truthy(source_)) return false;
    if (!iterator_) start();
    Value item;
    if (!iterator_->next(item)) return false;
    if (path_) {
      out = path_->get(runtime_, item, fallback_);
    } else {
      if (filter_ == nullptr) fail_name(arguments_.positional[0]);
      out = apply_filter(runtime_, *filter_, item, arguments_.after(1));
    }
    return true;
  }

 private:
  void start() {
    if (!arguments_.positional.empty()) {
      const Value& name = arguments_.positional[0];
      filter_ = name.is_string() ? find_filter(name.text()) : nullptr;
    } else {
      Value attribute;
      for (const KeywordArgument& keyword : arguments_.keywords) {
        if (keyword.name == "attribute") {
          attribute = keyword.value;
        } else if (keyword.name == "default") {
          fallback_ = keyword.value;
        } else {
          runtime_.fail("map: expected no keyword argument {}", quote(keyword.name));
        }
      }
      if (!attribute.given()) runtime_.fail("map: expected a filter or an attribute, got neither");
      path_.emplace(runtime_, attribute);
    }
    iterator_.emplace(runtime_, source_);
  }

  [[noreturn]] void fail_name(const Value& name) {
    if (name.is_string() && is_unsupported_filter(name.text()))
      runtime_.fail(ErrorCode::Unsupported, "map: expected another filter, got {}",
                    quote(name.text()));
    runtime_.fail("map: expected the name of a filter, got {}",
                  name.is_string() ? quote(name.text()) : std::string(type_name(name)));
  }

  Runtime& runtime_;
  Value source_;
  KeptArguments arguments_;
  const Builtin* filter_ = nullptr;
  std::optional<AttributePath> path_;
  Value fallback_;
  std::optional<Iterator> iterator_;
};

class SelectGenerator final : public Generator {
 public:
  // `of_attribute`: the first argument names an attribute, which is tested instead of the item.
  SelectGenerator(Runtime& runtime, const Value& source, const Arguments& arguments, bool wanted,
                  bool of_attribute)
      : runtime_(runtime),
        source_(source),
        arguments_(arguments),
        wanted_(wanted),
        of_attribute_(of_attribute) {}

  bool next(Value& out) override {
    if (!truthy(source_)) return false;
    if (!iterator_) start();
    while (iterator_->next(out))
      if (passes(path_ ? path_->get(runtime_, out) : out) == wanted_) return true;
    return false;
  }

 private:
  void start() {
    std::size_t used = 0;
    if (of_attribute_) {
      if (arguments_.positional.empty())
        runtime_.fail("expected the name of an attribute, got none");
      path_.emplace(runtime_, arguments_.positional[used++]);
    }
    if (arguments_.positional.size() > used) {
      name_ = arguments_.positional[used++];
      test_ = name_.is_string() ? find_test(name_.text()) : nullptr;
    }
    test_arguments_ = arguments_.after(used);
    iterator_.emplace(runtime_, source_);
  }

  bool passes(const Value& value) {
    if (!name_.given()) return truthy(value);
    if (test_ == nullptr)
      runtime_.fail("expected the name of a test, got {}",
                    name_.is_string() ? quote(name_.text()) : std::string(type_name(name_)));
    return truthy(call_builtin(runtime_, *test_, value, test_arguments_));
  }

  Runtime& runtime_;
  Value source_;
  KeptArguments arguments_;
  bool wanted_, of_attribute_;
  std::optional<AttributePath> path_;
  Value name_;  // Missing: the value itself decides
  const Builtin* test_ = nullptr;
  Arguments test_arguments_;
  std::optional<Iterator> iterator_;
};

Value map(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return runtime.generator(std::make_unique<MapGenerator>(runtime, value, arguments), value);
}

template <bool kWanted, bool kOfAttribute>
Value select(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return runtime.generator(
      std::make_unique<SelectGenerator>(runtime, value, arguments, kWanted, kOfAttribute), value);
}

constexpr Builtin kFilters[] = {
    {"map", "*", map},
    {"reject", "*", select<false, false>},
    {"rejectattr", "*", select<false, true>},
    {"select", "*", select<true, false>},
    {"selectattr", "*", select<true, true>},
};

}  // namespace

std::span<const Builtin> selection_filters() {
  return kFilters;
}

}  // namespace emlx::jinja
