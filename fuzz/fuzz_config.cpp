// Bytes as config.json, generation_config.json and tokenizer_config.json.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "chat/template_source.h"
#include "formats/model_config.h"
#include "models/families/family.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace emlx;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto attempt = [](auto read) {
    try {
      read();
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): what most inputs are
    }
  };
  attempt([&] {
    const JsonValue json = parse_file_json(text, "input");
    attempt([&] { parse_generation_eos(json, "input"); });
    attempt([&] { chat_template_from_config(json, true); });
    attempt([&] { template_tokens_from_config(json); });
    const ModelConfig config = parse_model_config(json, "input");
    find_family(config.model_type, "input").from_config(config, "input");
  });
  return 0;
}
