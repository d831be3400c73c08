// The alphabet of byte-level vocabularies: one printable character for each of the 256 bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace emlx {

// Printable ASCII and Latin-1 bytes stand for themselves, the others for U+0100 onwards.
char32_t byte_to_char(std::uint8_t byte) noexcept;

// The inverse; nullopt for characters outside the alphabet.
std::optional<std::uint8_t> char_to_byte(char32_t c) noexcept;

// `bytes` as vocabulary text.
std::string bytes_to_chars(std::string_view bytes);

// Appends the bytes that vocabulary text `chars` stands for; text with a character outside the
// alphabet stands for itself.
void append_bytes_of_chars(std::string& bytes, std::string_view chars);

}  // namespace emlx
