// Bytes as config.json and as generation_config.json.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "formats/json_file.h"
#include "formats/model_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const emlx::JsonValue json = emlx::parse_file_json(text, "input");
    emlx::parse_generation_eos(json, "input");
    emlx::parse_model_config(json, "input");
  } catch (const emlx::Error&) {  // NOLINT(bugprone-empty-catch): what most inputs are
  }
  return 0;
}
