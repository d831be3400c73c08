#include "server/openai_parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/quote.h"
#include "server/api_error.h"

namespace emlx {
namespace {

// What clients may send in fields that are not built: values that ask for nothing.
constexpr std::string_view kNeutralValues = R"({
  "n": [1], "best_of": [1], "n_predict": [-1], "use_beam_search": [false],
  "tools": [[]], "tool_choice": ["none", "auto"], "functions": [[]], "function_call": ["none", "auto"],
  "response_format": [{"type": "text"}], "modalities": [["text"]], "audio": [], "verbosity": ["medium"],
  "logprobs": [false], "top_logprobs": [0], "prompt_logprobs": [], "n_probs": [0],
  "logit_bias": [{}], "bad_words": [[]], "allowed_token_ids": [],
  "presence_penalty": [0], "frequency_penalty": [0], "repetition_penalty": [1], "repeat_penalty": [1],
  "min_tokens": [0], "stop_token_ids": [[]], "include_stop_str_in_output": [false],
  "typical_p": [1], "xtc_probability": [0], "mirostat": [0], "dry_multiplier": [0],
  "dynatemp_range": [0], "top_n_sigma": [-1, 0], "samplers": [],
  "grammar": [""], "json_schema": [], "guided_json": [], "guided_regex": [], "guided_choice": [],
  "guided_grammar": [], "structured_outputs": [],
  "chat_template": [], "documents": [[]], "continue_final_message": [false],
  "add_generation_prompt": [true], "add_special_tokens": [false], "truncate_prompt_tokens": [],
  "echo": [false], "return_token_ids": [false], "return_tokens": [false],
  "thinking": [], "thinking_token_budget": [], "reasoning_budget": [-1],
  "adapters": [], "lora": [[]], "web_search_options": []
})";

// As JSON means it: 1 and 1.0 are the same number.
bool same(const JsonValue& a, const JsonValue& b) {
  if (a.is_number() && b.is_number()) return a.to_number<double>() == b.to_number<double>();
  return a == b;
}

// A value in a message: short whatever the client sent.
std::string describe(const JsonValue& value) {
  switch (value.kind()) {
    case boost::json::kind::string:
      return quote(value.get_string(), 40);
    case boost::json::kind::array:
      return "an array";
    case boost::json::kind::object:
      return "an object";
    default:
      return to_json(value);
  }
}

[[noreturn]] void invalid(std::string param, std::string_view expected, const JsonValue& got) {
  throw RequestError(ErrorCode::InvalidArgument, std::move(param),
                     fmt::format("expected {}, got {}", expected, describe(got)));
}

// An object's fields by name; null is the same as absent.
class Fields {
 public:
  explicit Fields(const JsonObject& object, std::string prefix = "")
      : object_(object), prefix_(std::move(prefix)) {}

  const JsonValue* find(std::string_view name) const {
    const JsonValue* value = object_.if_contains(name);
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  std::optional<bool> boolean(std::string_view name) const {
    const JsonValue* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_bool()) invalid(param(name), "true or false", *value);
    return value->get_bool();
  }

  std::optional<std::string> string(std::string_view name) const {
    const JsonValue* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) invalid(param(name), "a string", *value);
    return std::string(value->get_string());
  }

  // `expected` says what the range is. `above`: the lower bound itself is out.
  std::optional<float> number(std::string_view name, double low, double high,
                              std::string_view expected, bool above = false) const {
    const JsonValue* value = find(name);
    if (value == nullptr) return std::nullopt;
    const double got = value->is_number() ? value->to_number<double>() : std::nan("");
    if (!(got >= low && got <= high) || (above && got == low))
      invalid(param(name), expected, *value);
    return static_cast<float>(got);
  }

  // A whole number >= low; what an int cannot hold becomes its largest value. Clients send 1e3 too.
  std::optional<int> count(std::string_view name, int low) const {
    const JsonValue* value = find(name);
    if (value == nullptr) return std::nullopt;
    const double got = value->is_number() ? value->to_number<double>() : std::nan("");
    if (!(got >= low) || got != std::floor(got))
      invalid(param(name), fmt::format("an integer >= {}", low), *value);
    return static_cast<int>(std::min(got, double{std::numeric_limits<int>::max()}));
  }

  const JsonObject* object(std::string_view name) const {
    const JsonValue* value = find(name);
    if (value == nullptr) return nullptr;
    if (!value->is_object()) invalid(param(name), "an object", *value);
    return &value->get_object();
  }

 private:
  std::string param(std::string_view name) const { return prefix_ + std::string(name); }

  const JsonObject& object_;
  std::string prefix_;
};

void refuse_unbuilt(const Fields& fields) {
  static const JsonValue table = parse_json(kNeutralValues, "neutral values");
  for (const auto& [name, neutral] : table.get_object()) {
    const JsonValue* value = fields.find(name);
    if (value == nullptr) continue;
    const JsonArray& allowed = neutral.get_array();
    const auto asks_for_nothing = [&](const JsonValue& each) { return same(each, *value); };
    if (std::any_of(allowed.begin(), allowed.end(), asks_for_nothing)) continue;
    throw RequestError(
        ErrorCode::Unsupported, std::string(name),
        "not supported yet; leave it out" +
            (allowed.empty() ? std::string() : " or send " + to_json(allowed.front())));
  }
}

// Any integer of 64 bits; a negative one is a seed of its own.
std::optional<std::uint64_t> parse_seed(const Fields& fields) {
  const JsonValue* value = fields.find("seed");
  if (value == nullptr) return std::nullopt;
  if (value->is_uint64()) return value->get_uint64();
  if (!value->is_int64()) invalid("seed", "an integer of 64 bits", *value);
  return static_cast<std::uint64_t>(value->get_int64());
}

SamplingParams parse_sampling(const Fields& fields, const SamplingParams& defaults) {
  SamplingParams params = defaults;
  const auto take = [](auto& field, const auto& value) {
    if (value) field = *value;
  };
  take(params.temperature, fields.number("temperature", 0.0, 2.0, "a number from 0 to 2"));
  take(params.top_p,
       fields.number("top_p", 0.0, 1.0, "a number above 0 and up to 1", /*above=*/true));
  take(params.min_p, fields.number("min_p", 0.0, 1.0, "a number from 0 to 1"));
  if (const auto top_k = fields.count("top_k", -1)) params.top_k = std::max(*top_k, 0);  // -1: off
  if (const auto seed = parse_seed(fields)) params.seed = seed;
  return params;
}

// A string or a list of them. Some clients send [""] for "none".
std::vector<std::string> parse_stop(const Fields& fields) {
  const JsonValue* value = fields.find("stop");
  if (value == nullptr) return {};
  if (!value->is_string() && !value->is_array())
    invalid("stop", "a string or an array of strings", *value);
  const JsonArray items = value->is_array() ? value->get_array() : JsonArray{*value};
  std::vector<std::string> stops;
  for (const JsonValue& item : items) {
    if (!item.is_string()) invalid("stop", "an array of strings", item);
    const auto& text = item.get_string();
    if (text.size() > kMaxStopBytes)
      throw RequestError(ErrorCode::InvalidArgument, "stop",
                         fmt::format("expected strings of at most {} bytes, got one of {}",
                                     kMaxStopBytes, text.size()));
    if (!text.empty()) stops.emplace_back(text);
  }
  if (stops.size() > kMaxStops)
    throw RequestError(ErrorCode::InvalidArgument, "stop",
                       fmt::format("expected at most {} strings, got {}", kMaxStops, stops.size()));
  return stops;
}

JsonArray parse_messages(const Fields& fields) {
  const JsonValue* value = fields.find("messages");
  if (value == nullptr)
    throw RequestError(ErrorCode::InvalidArgument, "messages", "expected an array, got none");
  if (!value->is_array()) invalid("messages", "an array", *value);
  if (value->get_array().empty())
    throw RequestError(ErrorCode::InvalidArgument, "messages",
                       "expected at least one message, got an empty array");
  return value->get_array();
}

ChatOptions parse_chat_options(const Fields& fields) {
  ChatOptions options;
  if (const JsonObject* kwargs = fields.object("chat_template_kwargs"))
    options.template_kwargs = *kwargs;
  if (const auto thinking = fields.boolean("enable_thinking"))
    options.template_kwargs["enable_thinking"] = *thinking;
  if (const auto effort = fields.string("reasoning_effort")) {
    options.template_kwargs.emplace("reasoning_effort", *effort);
    if (*effort == "none") options.template_kwargs.emplace("enable_thinking", false);
  }
  return options;
}

}  // namespace

ChatRequest parse_chat_request(std::string_view body, const SamplingParams& defaults) {
  JsonLimits limits;
  limits.unique_keys = true;
  const JsonValue json = parse_json(body, "request body", limits);
  if (!json.is_object())
    fail(ErrorCode::InvalidArgument, "request body: expected a JSON object, got {}",
         describe(json));
  const Fields fields(json.get_object());
  refuse_unbuilt(fields);

  ChatRequest request;
  request.model = fields.string("model").value_or("");
  request.messages = parse_messages(fields);
  request.chat = parse_chat_options(fields);
  request.stream = fields.boolean("stream").value_or(false);
  if (const JsonObject* options = fields.object("stream_options"))
    request.include_usage =
        Fields(*options, "stream_options.").boolean("include_usage").value_or(false);
  GenerationRequest& generation = request.generation;
  generation.sampling = parse_sampling(fields, defaults);
  generation.max_tokens = fields.count("max_tokens", 1);
  if (const auto newer = fields.count("max_completion_tokens", 1)) generation.max_tokens = newer;
  generation.stop = parse_stop(fields);
  generation.skip_special_tokens = fields.boolean("skip_special_tokens").value_or(true);
  generation.ignore_eos = fields.boolean("ignore_eos").value_or(false);
  return request;
}

}  // namespace emlx
