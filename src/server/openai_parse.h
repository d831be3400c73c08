// The body of POST /v1/chat/completions.
#pragma once

#include <string_view>

#include "engine/request.h"
#include "server/openai_types.h"

namespace emlx {

// Checks every field that matters. A field that is absent or null has its default; for the
// sampling fields that is `defaults`. Unknown fields are ignored; known ones that would change the
// answer but are not built throw RequestError(Unsupported) unless they ask for nothing.
// Other faults throw RequestError(InvalidArgument), or Error(InvalidArgument) if the body is no
// JSON object. The messages themselves are checked where they are rendered.
// reasoning_effort goes to the chat template, and many know no levels; "none" also switches
// enable_thinking off unless the request says otherwise.
ChatRequest parse_chat_request(std::string_view body, const SamplingParams& defaults);

}  // namespace emlx
