// Any bytes as the body of a chat completion request: refused with a 400 of one line, or parsed
// into something the engine takes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "server/api_error.h"
#include "server/openai_parse.h"
#include "server/openai_render.h"

namespace {

std::optional<emlx::ChatRequest> parse(std::string_view body) {
  try {
    return emlx::parse_chat_request(body, {});
  } catch (const emlx::Error& error) {
    const emlx::ApiError described = emlx::to_api_error(error);
    const bool one_line = described.message.find('\n') == std::string::npos;
    if (described.status != 400 || !one_line || emlx::render_error(described).empty()) std::abort();
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto request = parse({reinterpret_cast<const char*>(data), size});
  if (!request) return 0;
  if (request->messages.empty()) std::abort();
  request->generation.prompt = {0};
  emlx::validate(request->generation, /*vocab=*/1, /*context=*/2);  // must not throw
  return 0;
}
