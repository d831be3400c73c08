#include "tokenizer/post_processor.h"

#include <string_view>

#include "base/error.h"
#include "base/quote.h"
#include "tokenizer/json_members.h"

namespace emlx {

PostProcessor::PostProcessor(const JsonValue& value) {
  add_steps(value);
}

// Recurses as deep as the JSON parser lets a file nest.
void PostProcessor::add_steps(const JsonValue& value) {
  if (value.is_null()) return;
  const JsonObject& object = as_object(value, "post_processor");
  const std::string_view type = type_of(object, "post_processor");
  if (type == "Sequence") {
    const JsonValue& list = required_member(object, "processors", "a post_processor Sequence");
    for (const JsonValue& step : as_array(list, "processors")) add_steps(step);
  } else if (type == "TemplateProcessing") {
    if (has_template_)
      fail(ErrorCode::Unsupported, "tokenizer: expected one TemplateProcessing, got more");
    has_template_ = true;
    read_template(object);
  } else if (type != "ByteLevel") {
    fail(ErrorCode::Unsupported,
         "tokenizer: expected a post-processor out of Sequence, TemplateProcessing, ByteLevel, "
         "got {}",
         quote(type));
  }
}

void PostProcessor::read_template(const JsonObject& object) {
  constexpr std::string_view kWhat = "TemplateProcessing";
  const JsonObject& specials = as_object(required_member(object, "special_tokens", kWhat),
                                         "the special_tokens of TemplateProcessing");
  const JsonArray& single =
      as_array(required_member(object, "single", kWhat), "the single template");
  int texts = 0;
  for (const JsonValue& item : single) {
    const JsonObject& piece = as_object(item, "a template piece");
    if (const JsonValue* sequence = piece.if_contains("Sequence")) {
      const JsonObject& fields = as_object(*sequence, "a template Sequence");
      const JsonValue& id = required_member(fields, "id", "a template Sequence");
      // Any other sequence is as wrong as a second A.
      texts += as_string(id, "the id of a Sequence") == "A" ? 1 : 2;
      continue;
    }
    const JsonObject& special = as_object(
        required_member(piece, "SpecialToken", "a template piece"), "a template SpecialToken");
    const std::string_view name = as_string(
        required_member(special, "id", "a template SpecialToken"), "the id of a SpecialToken");
    const JsonObject& entry =
        as_object(required_member(specials, name, "special_tokens"), "a special token");
    const JsonValue& ids = required_member(entry, "ids", "a special token");
    for (const JsonValue& id : as_array(ids, "the ids of a special token"))
      (texts > 0 ? suffix_ : prefix_).push_back(as_token_id(id, "the id of a special token"));
  }
  if (texts != 1)
    fail(ErrorCode::Unsupported,
         "tokenizer: expected the single template to hold sequence A once, got {}",
         quote(to_json(single)));
}

}  // namespace emlx
