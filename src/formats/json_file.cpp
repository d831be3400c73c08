#include "formats/json_file.h"

#include <string>

#include "base/error.h"
#include "base/mapped_file.h"

namespace emlx {

JsonValue read_json_object(const std::filesystem::path& path, std::size_t max_bytes) {
  const std::string text = read_text_file(path, max_bytes);
  JsonValue value = parse_file_json(text, path.string(), {.max_bytes = max_bytes});
  if (!value.is_object()) fail(ErrorCode::InvalidFile, "{}: expected a JSON object", path.string());
  return value;
}

}  // namespace emlx
