// JSON from files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "base/json.h"

namespace emlx {

// parse_json for text that came from a file: throws Error(InvalidFile) instead.
JsonValue parse_file_json(std::string_view text, std::string_view what,
                          const JsonLimits& limits = {});

// Reads and parses a whole file of at most `max_bytes`, and checks that it is an object. Throws
// Error(InvalidFile) naming the file.
JsonValue read_json_object(const std::filesystem::path& path, std::size_t max_bytes);

}  // namespace emlx
