// Any text as a chat template, rendered over a conversation that has something of everything.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "chat/prompt.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace emlx;
  static const JsonArray messages = parse_json(R"([
    {"role": "system", "content": "S é你👩‍🚀"},
    {"role": "user", "content": [{"type": "text", "text": "a "}, {"type": "text", "text": "\nb"}]},
    {"role": "assistant", "content": null, "reasoning": "r", "tool_calls": [
      {"id": "1", "function": {"name": "f", "arguments": "{\"x\": [1, 2.5, null, {\"y\": true}]}"}}]},
    {"role": "tool", "content": "18446744073709551615"},
    {"role": "user", "content": ""}])",
                                               "messages")
                                        .as_array();
  static const ChatOptions options = {
      true,
      parse_json(R"([{"type": "function", "function": {"name": "f", "parameters": {"a": 1}}}])",
                 "tools")
          .as_array(),
      {{"number", 7},
       {"real", -2.5},
       {"big", std::uint64_t{18446744073709551615u}},
       {"empty", JsonObject()}}};
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  try {
    const std::string prompt = render_chat(ChatTemplate::parse(source), messages, options,
                                           {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
    if (!is_valid_utf8(prompt)) std::abort();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Internal || !is_valid_utf8(error.what())) std::abort();
  }
  return 0;
}
