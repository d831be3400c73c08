// Character properties, each in the Unicode version that gives HF tokenizers' result.
#pragma once

#include <array>
#include <cstdint>

namespace emlx {

// Bits of a CharPropertyTable entry.
enum CharProperty : std::uint8_t {
  kLetter = 1,      // \p{L} in split patterns
  kNumber = 2,      // \p{N} in split patterns
  kSpace = 4,       // \s
  kNumeric = 8,     // what the Digits pre-tokenizer takes for a digit
  kWord = 16,       // \w at the edge of a single-word added token
  kNfcUnsafe = 32,  // may change, move or compose with what is before it in NFC
};

using CharPropertyTable = std::array<std::uint8_t, 0x110000>;

// Indexed by code point. Built on first use; thread-safe.
const CharPropertyTable& char_properties();

}  // namespace emlx
