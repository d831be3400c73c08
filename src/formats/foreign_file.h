// Recognises files that are often found where a model file should be.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace emlx {

// What the first bytes look like, to end an error message with: " (an HTML page?)", or "".
std::string foreign_file_hint(std::span<const std::byte> file);

}  // namespace emlx
