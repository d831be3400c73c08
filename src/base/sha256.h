// SHA-256 (FIPS 180-4), used to name logits and files by their content; not for secrets.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace emlx {

// Returns 64 lower-case hexadecimal digits.
std::string sha256_hex(std::span<const std::byte> data);

}  // namespace emlx
