// Data behind unicode.h and nfc.h, written by tools/make_unicode_tables.py.
#pragma once

#include <cstdint>
#include <span>

namespace emlx {

struct CodePointRange {
  std::uint32_t first, last;  // inclusive
  std::uint8_t value;
};

// One level of a canonical decomposition; Hangul syllables, which are computed, are left out.
struct CanonicalDecomposition {
  std::uint32_t composed, first, second;  // second 0: a single character
  bool composes;                          // whether NFC makes `composed` of the pair again
};

// All sorted by code point; what is not listed has the value 0.
extern const std::span<const CodePointRange> kCharPropertyRanges;
extern const std::span<const CodePointRange> kCombiningClassRanges;
extern const std::span<const CanonicalDecomposition> kCanonicalDecompositions;

}  // namespace emlx
