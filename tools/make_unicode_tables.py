#!/usr/bin/env python3
"""Writes src/tokenizer/unicode_tables.cpp.

Usage: pip install unicodedataplus==16.0.0.post1 unicodedata2==17.0.1
       tools/make_unicode_tables.py > src/tokenizer/unicode_tables.cpp

The reference is HF tokenizers 0.23.3, whose parts carry different Unicode versions:
  \\p{L} \\p{N} \\s in regexes (Oniguruma) and \\w around added tokens (Rust regex): 16.0
  Digits (Rust's char::is_numeric): 17.0
  NFC (unicode-normalization-alignments): 9.0
Normalization data of an assigned character never changes, so 9.0 is 16.0 less the younger characters.
"""
import sys

import unicodedata2
import unicodedataplus

NORMALIZATION_VERSION = (9, 0)
LETTER, NUMBER, SPACE, NUMERIC, WORD, NFC_UNSAFE = 1, 2, 4, 8, 16, 32

SPACES = {*range(0x9, 0xE), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
# What Alphabetic and Join_Control add to the general categories in \w.
WORD_EXTRA = {0x200C, 0x200D, *range(0x24B6, 0x24EA), *range(0x1F130, 0x1F14A), *range(0x1F150, 0x1F16A),
              *range(0x1F170, 0x1F18A)}
HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)
HANGUL_VOWELS_AND_TAILS = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def in_normalizer(c):
    age = unicodedataplus.age(chr(c))
    return age[0].isdigit() and tuple(map(int, age.split("."))) <= NORMALIZATION_VERSION


def combining_class(c):
    return unicodedataplus.combining(chr(c)) if in_normalizer(c) else 0


def canonical_decompositions():
    """[(code point, first, second or 0, whether the pair composes again)], one level deep, Hangul left out."""
    found = []
    for c in CODE_POINTS:
        text = unicodedataplus.decomposition(chr(c))
        if not text or text[0] == "<" or c in HANGUL_SYLLABLES or not in_normalizer(c):
            continue
        parts = [int(part, 16) for part in text.split()]
        composes = len(parts) == 2 and unicodedataplus.normalize("NFC", chr(c)) == chr(c)
        found.append((c, parts[0], parts[1] if len(parts) == 2 else 0, composes))
    return found


def properties(decompositions):
    changed = {c for c, _, _, composes in decompositions if not composes}
    second = {pair[2] for pair in decompositions if pair[3]} | HANGUL_VOWELS_AND_TAILS
    for c in CODE_POINTS:
        category = unicodedataplus.category(chr(c))
        value = 0
        if category[0] == "L":
            value |= LETTER
        if category[0] == "N":
            value |= NUMBER
        if c in SPACES:
            value |= SPACE
        if unicodedata2.category(chr(c))[0] == "N":
            value |= NUMERIC
        if category[0] in "LM" or category in ("Nd", "Nl", "Pc") or c in WORD_EXTRA:
            value |= WORD
        if combining_class(c) or c in changed or c in second:
            value |= NFC_UNSAFE
        yield c, value


def ranges(pairs):
    """Runs of equal non-zero values as (first, last, value)."""
    runs = []
    for c, value in pairs:
        if runs and runs[-1][2] == value and runs[-1][1] == c - 1:
            runs[-1][1] = c
        elif value:
            runs.append([c, c, value])
    return runs


def table(kind, name, rows):
    cells = ["{" + ", ".join(f"{cell:#x}" if cell > 255 else str(cell) for cell in row) + "}," for row in rows]
    lines, line = [], ""
    for cell in cells:
        if len(line) + len(cell) > 98:
            lines.append(line.rstrip())
            line = ""
        line += cell + " "
    lines.append(line.rstrip())
    return f"constexpr {kind} {name}Rows[] = {{\n" + "\n".join(lines) + "\n};\n"


def main():
    if unicodedataplus.unidata_version != "16.0.0" or unicodedata2.unidata_version != "17.0.0":
        sys.exit("expected unicodedataplus 16.0.0 and unicodedata2 17.0.0, see the usage in this file")
    decompositions = canonical_decompositions()
    print("// Written by tools/make_unicode_tables.py; do not edit.")
    print('#include "tokenizer/unicode_tables.h"\n\nnamespace emlx {\nnamespace {\n\n// clang-format off')
    print(table("CodePointRange", "kCharProperty", ranges(properties(decompositions))))
    print(table("CodePointRange", "kCombiningClass", ranges((c, combining_class(c)) for c in CODE_POINTS)))
    print(table("CanonicalDecomposition", "kDecomposition", [(*row[:3], int(row[3])) for row in decompositions]))
    print("// clang-format on\n\n}  // namespace\n")
    print("const std::span<const CodePointRange> kCharPropertyRanges = kCharPropertyRows;")
    print("const std::span<const CodePointRange> kCombiningClassRanges = kCombiningClassRows;")
    print("const std::span<const CanonicalDecomposition> kCanonicalDecompositions = kDecompositionRows;")
    print("\n}  // namespace emlx")


main()
