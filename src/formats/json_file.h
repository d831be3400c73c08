// JSON from files.
#pragma once

#include <cstddef>
#include <filesystem>

#include "base/json.h"

namespace emlx {

// Reads and parses a whole file of at most `max_bytes`, and checks that it is an object. Throws
// Error(InvalidFile) naming the file.
JsonValue read_json_object(const std::filesystem::path& path, std::size_t max_bytes);

}  // namespace emlx
