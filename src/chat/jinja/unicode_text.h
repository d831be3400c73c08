// Character classes and letter case of Unicode, as Python's str methods see them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace emlx::jinja {

bool is_space(char32_t character) noexcept;      // str.isspace, and what strip() takes away
bool is_line_end(char32_t character) noexcept;   // where str.splitlines() breaks
bool is_alpha(char32_t character) noexcept;      // str.isalpha
bool is_digit(char32_t character) noexcept;      // str.isdigit
bool is_numeric(char32_t character) noexcept;    // str.isnumeric
bool is_lowercase(char32_t character) noexcept;  // str.islower
bool is_uppercase(char32_t character) noexcept;  // str.isupper
bool is_cased(char32_t character) noexcept;      // has case: lower, upper or title
bool is_printable(char32_t character) noexcept;  // repr() shows it as it is

// The texts below are well-formed UTF-8.
std::string to_upper(std::string_view text);
// A sigma at the end of a word becomes its final form; a word here is a run of letters, where
// Unicode also looks through apostrophes and marks.
std::string to_lower(std::string_view text);
std::string capitalize(std::string_view text);  // first character in title case, the rest lower
std::string to_title(std::string_view text);    // str.title: every run of cased characters

std::size_t character_count(std::string_view text) noexcept;
// The byte at which character number `index` starts; text.size() when there are fewer.
std::size_t byte_offset(std::string_view text, std::size_t index) noexcept;

}  // namespace emlx::jinja
