#include "server/openai_parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "server/api_error.h"

namespace emlx {
namespace {

// A request with one message and `fields` ("" or "\"a\":1,\"b\":2").
std::string body(const std::string& fields) {
  return R"({"messages":[{"role":"user","content":"hi"}])" + (fields.empty() ? "" : "," + fields) +
         "}";
}

ChatRequest parse(const std::string& fields) {
  return parse_chat_request(body(fields), SamplingParams{});
}

// The error a body gives; fails the test if it gives none.
ApiError error_of(const std::string& text) {
  try {
    parse_chat_request(text, SamplingParams{});
  } catch (const Error& error) {
    return to_api_error(error);
  }
  ADD_FAILURE() << "accepted: " << text.substr(0, 200);
  return {};
}

void expect_refused(const std::string& fields, const std::string& param,
                    const std::string& code = "invalid_value") {
  const ApiError error = error_of(body(fields));
  EXPECT_EQ(error.status, 400) << fields;
  EXPECT_EQ(error.type, "invalid_request_error") << fields;
  EXPECT_EQ(error.param, param) << fields;
  EXPECT_EQ(error.code, code) << fields;
  EXPECT_THAT(error.message, testing::StartsWith(param + ": ")) << fields;
  EXPECT_LT(error.message.size(), 200U) << fields;
}

TEST(OpenAiParse, DefaultsAreTheServersAndWhatTheEngineHas) {
  SamplingParams defaults;
  defaults.temperature = 0.7F;
  defaults.top_k = 20;
  const ChatRequest request = parse_chat_request(body(""), defaults);
  EXPECT_EQ(request.model, "");
  EXPECT_EQ(request.messages.size(), 1U);
  EXPECT_FALSE(request.stream);
  EXPECT_FALSE(request.include_usage);
  EXPECT_EQ(request.generation.sampling.temperature, 0.7F);
  EXPECT_EQ(request.generation.sampling.top_k, 20);
  EXPECT_EQ(request.generation.sampling.top_p, 1.0F);
  EXPECT_EQ(request.generation.sampling.seed, std::nullopt);
  EXPECT_EQ(request.generation.max_tokens, std::nullopt);
  EXPECT_TRUE(request.generation.stop.empty());
  EXPECT_TRUE(request.generation.prompt.empty());
  EXPECT_FALSE(request.generation.ignore_eos);
  EXPECT_TRUE(request.generation.skip_special_tokens);
}

TEST(OpenAiParse, TakesEveryFieldItKnows) {
  const ChatRequest request =
      parse(R"("model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":5,)"
            R"("temperature":1,"top_p":0.5,"top_k":3,"min_p":0.25,"seed":9,"stop":["a","b"],)"
            R"("ignore_eos":true,"skip_special_tokens":false)");
  EXPECT_EQ(request.model, "m");
  EXPECT_TRUE(request.stream);
  EXPECT_TRUE(request.include_usage);
  EXPECT_EQ(request.generation.max_tokens, 5);
  EXPECT_EQ(request.generation.sampling.temperature, 1.0F);
  EXPECT_EQ(request.generation.sampling.top_p, 0.5F);
  EXPECT_EQ(request.generation.sampling.top_k, 3);
  EXPECT_EQ(request.generation.sampling.min_p, 0.25F);
  EXPECT_EQ(request.generation.sampling.seed, 9U);
  EXPECT_EQ(request.generation.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(request.generation.ignore_eos);
  EXPECT_FALSE(request.generation.skip_special_tokens);
}

TEST(OpenAiParse, NullIsTheSameAsAbsent) {
  const ChatRequest request = parse(
      R"("model":null,"stream":null,"stream_options":null,"max_tokens":null,"temperature":null,)"
      R"("top_p":null,"top_k":null,"min_p":null,"seed":null,"stop":null,"tools":null,"n":null,)"
      R"("response_format":null,"logprobs":null,"chat_template_kwargs":null)");
  EXPECT_EQ(request.generation.max_tokens, std::nullopt);
  EXPECT_EQ(request.generation.sampling.top_p, 1.0F);
  EXPECT_TRUE(request.chat.template_kwargs.empty());
}

TEST(OpenAiParse, IgnoresFieldsThatDoNotChangeTheAnswer) {
  EXPECT_NO_THROW(
      parse(R"("user":"u","store":true,"metadata":{"a":"b"},"parallel_tool_calls":true,)"
            R"("service_tier":"auto","prediction":{"type":"content"},)"
            R"("safety_identifier":"x","foo":[1,{"bar":null}])"));
}

TEST(OpenAiParse, AcceptsUnbuiltFieldsThatAskForNothing) {
  EXPECT_NO_THROW(
      parse(R"("n":1,"tools":[],"tool_choice":"auto","response_format":{"type":"text"},)"
            R"("logprobs":false,"top_logprobs":0,"logit_bias":{},"presence_penalty":0.0,)"
            R"("frequency_penalty":0,"repetition_penalty":1.0,"modalities":["text"])"));
  EXPECT_NO_THROW(parse(R"("presence_penalty":-0.0,"tool_choice":"none","top_n_sigma":-1.0)"));
  EXPECT_NO_THROW(
      parse(R"("best_of":1,"echo":false,"return_token_ids":false,"bad_words":[],"documents":[],)"
            R"("include_stop_str_in_output":false,"dynatemp_range":0.0,"top_n_sigma":0)"));
}

TEST(OpenAiParse, NeutralNumbersMayBeWrittenEitherWay) {
  for (const char* field :
       {R"("n":1.0)", R"("top_logprobs":0.0)", R"("min_tokens":0e0)", R"("mirostat":0.0)",
        R"("repetition_penalty":1)", R"("repeat_penalty":1.0)", R"("typical_p":1)"})
    EXPECT_NO_THROW(parse(field)) << field;
}

TEST(OpenAiParse, RefusesUnbuiltFieldsByName) {
  for (const auto& [field, value] : std::vector<std::pair<std::string, std::string>>{
           {"n", "2"},
           {"n", "0"},
           {"tools", R"([{"type":"function","function":{"name":"f"}}])"},
           {"tool_choice", R"("required")"},
           {"tool_choice", R"({"type":"function","function":{"name":"f"}})"},
           {"functions", R"([{"name":"f"}])"},
           {"response_format", R"({"type":"json_object"})"},
           {"response_format", R"({"type":"json_schema","json_schema":{"schema":{}}})"},
           {"logprobs", "true"},
           {"top_logprobs", "3"},
           {"logit_bias", R"({"16":100})"},
           {"presence_penalty", "0.5"},
           {"frequency_penalty", "-1"},
           {"frequency_penalty", R"("high")"},
           {"repetition_penalty", "1.1"},
           {"modalities", R"(["text","audio"])"},
           {"audio", R"({"voice":"x"})"},
           {"guided_json", "{}"},
           {"min_tokens", "4"},
           {"stop_token_ids", "[1]"},
           {"n", "1.5"},
           {"n", "true"},
           {"best_of", "4"},
           {"n_predict", "16"},
           {"use_beam_search", "true"},
           {"verbosity", R"("low")"},
           {"prompt_logprobs", "1"},
           {"n_probs", "2"},
           {"bad_words", R"(["no"])"},
           {"allowed_token_ids", "[1]"},
           {"include_stop_str_in_output", "true"},
           {"dynatemp_range", "0.5"},
           {"top_n_sigma", "1.5"},
           {"samplers", R"(["top_k"])"},
           {"chat_template", R"("{{ messages }}")"},
           {"documents", R"([{"text":"a"}])"},
           {"truncate_prompt_tokens", "10"},
           {"add_special_tokens", "true"},
           {"echo", "true"},
           {"return_token_ids", "true"},
           {"return_tokens", "true"},
           {"thinking", R"({"type":"disabled"})"},
           {"thinking_token_budget", "100"},
           {"reasoning_budget", "0"},
           {"lora", R"([{"id":0}])"}})
    expect_refused("\"" + field + "\":" + value, field, "unsupported");
}

TEST(OpenAiParse, RefusesValuesOfTheWrongTypeOrRange) {
  for (const auto& [field, values] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"model", {"5", "[]", "true"}},
           {"stream", {"1", R"("true")", "{}"}},
           {"stream_options", {"true", "[]"}},
           {"temperature", {"-0.1", "2.1", R"("0.5")", "true", "[]", "1e300"}},
           {"top_p", {"0", "-1", "1.5", R"("1")"}},
           {"min_p", {"-0.5", "1.5", "{}"}},
           {"top_k", {"-2", "1.5", R"("4")", "false"}},
           {"seed", {"1.5", R"("7")", "[]", "1e3", "18446744073709551616"}},
           {"max_tokens", {"0", "-1", "-2147483649", "2.5", R"("10")", "true"}},
           {"max_completion_tokens", {"0", "-1", "2.5", "[]"}},
           {"stop", {"5", "{}", "[1]", R"(["a",null])", "true"}},
           {"ignore_eos", {"0", R"("no")"}},
           {"enable_thinking", {"1"}},
           {"reasoning_effort", {"1", "{}"}},
           {"skip_special_tokens", {"0", R"("no")"}},
           {"chat_template_kwargs", {"[]", R"("x")"}}})
    for (const std::string& value : values) expect_refused("\"" + field + "\":" + value, field);
  expect_refused(R"("stream_options":{"include_usage":1})", "stream_options.include_usage");
}

TEST(OpenAiParse, TokenLimitsTakeHugeAndIntegralNumbers) {
  EXPECT_EQ(parse(R"("max_tokens":1e18)").generation.max_tokens, std::numeric_limits<int>::max());
  EXPECT_EQ(parse(R"("max_tokens":9223372036854775807)").generation.max_tokens,
            std::numeric_limits<int>::max());
  EXPECT_EQ(parse(R"("max_tokens":1e2)").generation.max_tokens, 100);
  EXPECT_EQ(parse(R"("max_completion_tokens":3)").generation.max_tokens, 3);
  EXPECT_EQ(parse(R"("max_tokens":9,"max_completion_tokens":3)").generation.max_tokens, 3);
}

TEST(OpenAiParse, SeedsOf64BitsStayDistinct) {
  EXPECT_EQ(parse(R"("seed":0)").generation.sampling.seed, 0U);
  EXPECT_EQ(parse(R"("seed":2147483648)").generation.sampling.seed, 2147483648U);
  EXPECT_EQ(parse(R"("seed":9223372036854775807)").generation.sampling.seed, 9223372036854775807U);
  EXPECT_EQ(parse(R"("seed":18446744073709551615)").generation.sampling.seed, ~std::uint64_t{0});
  EXPECT_EQ(parse(R"("seed":-2)").generation.sampling.seed, ~std::uint64_t{1});
}

TEST(OpenAiParse, TopKMinusOneAndZeroAreOff) {
  SamplingParams defaults;
  defaults.top_k = 7;
  EXPECT_EQ(parse_chat_request(body(R"("top_k":-1)"), defaults).generation.sampling.top_k, 0);
  EXPECT_EQ(parse_chat_request(body(R"("top_k":0)"), defaults).generation.sampling.top_k, 0);
  EXPECT_EQ(parse(R"("top_k":9999999999)").generation.sampling.top_k,
            std::numeric_limits<int>::max());
}

TEST(OpenAiParse, StopTakesAStringOrAListAndDropsEmptyOnes) {
  const auto stops = [](const std::string& value) {
    return parse("\"stop\":" + value).generation.stop;
  };
  EXPECT_EQ(stops(R"("x")"), std::vector<std::string>{"x"});
  EXPECT_EQ(stops(R"(["x"])"), std::vector<std::string>{"x"});
  EXPECT_EQ(stops(R"(["1","2","3","4","5"])").size(), 5U);
  for (const char* none : {"null", "[]", R"([""])", R"("")"})
    EXPECT_TRUE(stops(none).empty()) << none;
  EXPECT_EQ(stops(R"(["","x"])"), std::vector<std::string>{"x"});
}

TEST(OpenAiParse, StopStringsAreBounded) {
  std::string many = "[";
  for (std::size_t i = 0; i <= kMaxStops; ++i) many += R"("x",)";
  many.back() = ']';
  expect_refused("\"stop\":" + many, "stop");
  expect_refused("\"stop\":\"" + std::string(kMaxStopBytes + 1, 'x') + "\"", "stop");
  EXPECT_NO_THROW(parse("\"stop\":\"" + std::string(kMaxStopBytes, 'x') + "\""));
}

TEST(OpenAiParse, TemplateArgumentsComeInEitherPlace) {
  EXPECT_EQ(parse(R"("chat_template_kwargs":{"enable_thinking":false,"a":1})").chat.template_kwargs,
            (JsonObject{{"enable_thinking", false}, {"a", 1}}));
  EXPECT_EQ(parse(R"("enable_thinking":false)").chat.template_kwargs,
            (JsonObject{{"enable_thinking", false}}));
}

TEST(OpenAiParse, ReasoningEffortGoesToTheTemplateAndNoneMeansNoThinking) {
  EXPECT_EQ(parse(R"("reasoning_effort":"low")").chat.template_kwargs,
            (JsonObject{{"reasoning_effort", "low"}}));
  EXPECT_EQ(parse(R"("reasoning_effort":"none")").chat.template_kwargs,
            (JsonObject{{"reasoning_effort", "none"}, {"enable_thinking", false}}));
  EXPECT_EQ(parse(R"("reasoning_effort":"none","enable_thinking":true)").chat.template_kwargs,
            (JsonObject{{"reasoning_effort", "none"}, {"enable_thinking", true}}));
}

TEST(OpenAiParse, MessagesMustBeAFilledArray) {
  for (const char* text : {"{}", R"({"messages":null})", R"({"messages":[]})",
                           R"({"messages":"hi"})", R"({"messages":{}})", R"({"messages":5})"}) {
    const ApiError error = error_of(text);
    EXPECT_EQ(error.status, 400) << text;
    EXPECT_EQ(error.param, "messages") << text;
  }
}

TEST(OpenAiParse, RefusesBodiesThatAreNotOneJsonObject) {
  for (const std::string& text : std::vector<std::string>{
           "", "{", R"({"a":1,})", R"({"stream":true, x})", "[]", R"("x")", "null", "1",
           body("") + body(""), body("") + "x", R"({"messages":[],"messages":[]})",
           "{\"messages\":\"\xff\"}", R"({"messages":"\ud800"})", std::string("\0", 1),
           R"({"temperature":NaN})", R"({"temperature":1e400})"}) {
    const ApiError error = error_of(text);
    EXPECT_EQ(error.status, 400) << text;
    EXPECT_EQ(error.type, "invalid_request_error") << text;
    EXPECT_EQ(error.param, "") << text;
  }
}

TEST(OpenAiParse, DepthIsBoundedInEveryField) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(error_of(body("\"x\":" + deep)).status, 400);
  EXPECT_EQ(error_of(body("\"tools\":" + deep)).status, 400);
  EXPECT_EQ(error_of(R"({"messages":[{"role":"user","content":)" + deep + "}]}").status, 400);
  EXPECT_NO_THROW(parse("\"x\":\"" + std::string(100'000, '{') + "\""));
}

TEST(OpenAiParse, MessagesStayShortWhateverTheClientSent) {
  expect_refused("\"temperature\":\"" + std::string(1'000'000, 'x') + "\"", "temperature");
  expect_refused("\"stop\":[" + std::string(R"({"a":[1,2,3]})") + "]", "stop");
}

}  // namespace
}  // namespace emlx
