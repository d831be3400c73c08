#include "tokenizer/pre_tokenizer.h"

#include "base/error.h"
#include "base/quote.h"
#include "tokenizer/json_members.h"

namespace emlx {
namespace {

constexpr std::size_t kMaxQuotedPattern = 300;

Splitter splitter_of(const JsonObject& split) {
  const JsonObject& pattern =
      as_object(required_member(split, "pattern", "a Split"), "the pattern of a Split");
  const JsonValue* regex = pattern.if_contains("Regex");
  if (regex == nullptr)
    fail(ErrorCode::Unsupported, "tokenizer: expected a Split by Regex, got {}",
         quote(to_json(pattern)));
  const std::string_view text = as_string(*regex, "the Regex of a Split");
  const std::string_view behavior =
      as_string(required_member(split, "behavior", "a Split"), "the behavior of a Split");
  if (behavior != "Isolated" || bool_member(split, "invert", false, "a Split"))
    fail(ErrorCode::Unsupported,
         "tokenizer: expected a Split with behavior Isolated, not inverted, got {}{}",
         quote(behavior), bool_member(split, "invert", false, "a Split") ? ", inverted" : "");
  const Splitter splitter = find_splitter(text);
  if (splitter == nullptr)
    fail(ErrorCode::Unsupported, "tokenizer: expected a known Split pattern, got {}",
         quote(text, kMaxQuotedPattern));
  return splitter;
}

}  // namespace

PreTokenizer::PreTokenizer(const JsonValue& value) {
  add_steps(value);
}

// Recurses as deep as the JSON parser lets a file nest.
void PreTokenizer::add_steps(const JsonValue& value) {
  if (value.is_null()) return;
  const JsonObject& object = as_object(value, "pre_tokenizer");
  const std::string_view type = type_of(object, "pre_tokenizer");
  if (type == "Sequence") {
    const JsonValue& list = required_member(object, "pretokenizers", "a pre_tokenizer Sequence");
    for (const JsonValue& step : as_array(list, "pretokenizers")) add_steps(step);
    return;
  }
  if (byte_level_)
    fail(ErrorCode::Unsupported, "tokenizer: expected ByteLevel as the last pre-tokenizer, got {}",
         quote(type));
  if (type == "Split") {
    steps_.push_back({splitter_of(object), false});
  } else if (type == "Digits") {
    const bool individual = bool_member(object, "individual_digits", false, "Digits");
    steps_.push_back({individual ? split_single_digits : split_digit_runs, false});
  } else if (type == "ByteLevel") {
    const bool use_regex = bool_member(object, "use_regex", true, "ByteLevel");
    const bool add_prefix_space = bool_member(object, "add_prefix_space", true, "ByteLevel");
    byte_level_ = true;
    if (use_regex || add_prefix_space)
      steps_.push_back({use_regex ? split_gpt2 : nullptr, add_prefix_space});
  } else {
    fail(ErrorCode::Unsupported,
         "tokenizer: expected a pre-tokenizer out of Sequence, Split, Digits, ByteLevel, got {}",
         quote(type));
  }
}

void PreTokenizer::split(std::string_view text, Pieces& pieces) const {
  pieces.views.clear();
  pieces.owned.clear();
  if (text.empty()) return;
  pieces.views.push_back(text);
  std::vector<std::string_view> words;
  for (const Step& step : steps_) {
    words.clear();
    words.swap(pieces.views);
    for (std::string_view word : words) {
      if (step.add_prefix_space && word[0] != ' ') {
        pieces.owned.push_back(' ' + std::string(word));
        word = pieces.owned.back();
      }
      if (step.splitter == nullptr) {
        pieces.views.push_back(word);
      } else {
        step.splitter(word, pieces.views);
      }
    }
  }
}

}  // namespace emlx
