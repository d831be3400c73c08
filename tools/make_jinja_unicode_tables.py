#!/usr/bin/env python3
"""Writes src/chat/jinja/unicode_tables.inc from the character database of the Python that runs it."""
import pathlib
import sys
import unicodedata

CHARACTERS = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c <= 0xDFFF]


def ranges(predicate):
    result = []
    for character in CHARACTERS:
        if predicate(character):
            code = ord(character)
            if result and result[-1][1] == code - 1:
                result[-1][1] = code
            else:
                result.append([code, code])
    return result


def runs(mapping, known):
    """Mappings that `known` does not give: one character as (first, last, stride, offset), more as (code, text)."""
    single, several = [], []
    for character in CHARACTERS:
        mapped = mapping(character)
        code = ord(character)
        if mapped == known(character):
            continue
        if len(mapped) > 1:
            several.append((code, mapped))
            continue
        offset = ord(mapped) - code
        last = single[-1] if single else None
        stride = code - last[1] if last else 0
        if last and offset == last[3] and stride in (1, 2) and last[2] in (0, stride):
            last[1], last[2] = code, stride
        else:
            single.append([code, code, 0, offset])
    return [(first, last, stride or 1, offset) for first, last, stride, offset in single], several


def write(out, declaration, cells):
    out.append(declaration + " = {")
    line = "   "
    for cell in cells:
        if len(line) + len(cell) > 99:
            out.append(line)
            line = "   "
        line += " " + cell
    out += [line, "};"]


def main():
    out = [f"// Written by tools/make_jinja_unicode_tables.py from Unicode {unicodedata.unidata_version}; do not edit."]
    for name, predicate in {
        "kAlpha": str.isalpha,
        "kDigit": str.isdigit,
        "kNumeric": str.isnumeric,
        "kLowercase": str.islower,
        "kUppercase": str.isupper,
        "kTitlecase": lambda c: unicodedata.category(c) == "Lt",
        "kUnprintable": lambda c: not c.isprintable(),
    }.items():
        write(out, f"constexpr Range {name}[]", [f"{{{a:#x}, {b:#x}}}," for a, b in ranges(predicate)])
    same = str
    for name, mapping, known in (("Upper", str.upper, same), ("Lower", str.lower, same), ("Title", str.title, str.upper)):
        single, several = runs(mapping, known)
        write(out, f"constexpr Run k{name}Runs[]", [f"{{{a:#x}, {b:#x}, {s}, {d}}}," for a, b, s, d in single])
        cells = [f'{{{c:#x}, U"{"".join(f"{chr(92)}U{ord(t):08X}" for t in text)}"}},' for c, text in several]
        write(out, f"constexpr Expansion k{name}Expansions[]", cells)
    target = pathlib.Path(__file__).parents[1] / "src/chat/jinja/unicode_tables.inc"
    target.write_text("\n".join(out) + "\n")


main()
