#!/usr/bin/env python3
"""Proves that code compiled for wider machines stays where it is: an object file of kernels defines its table and no
other symbol a linker could take instead of another file's.

Usage: check_kernel_symbols.py NM OBJECT...   looks at the objects named kernels_*; exit status 1 and a line per violation
       check_kernel_symbols.py --self-test    proves that the check can fail
"""
import pathlib
import re
import subprocess
import sys

TABLE = re.compile(r"_?_ZN4emlx\d+k\w+KernelsE")
SANITIZER = re.compile(r"_*odr_asan(_gen)?[._]+_ZN4emlx\d+k\w+KernelsE")  # AddressSanitizer's mark of a table


def violations(listing):
    """`listing`: what nm -P -g prints, a line for every symbol: name, type, ..."""
    symbols = [line.split()[:2] for line in listing.splitlines() if line.strip() and not line.endswith(":")]
    defined = [name for name, kind in symbols if kind not in "Uwv"]  # w and v: undefined, weak
    tables = [name for name in defined if TABLE.fullmatch(name)]
    others = [name for name in defined if not TABLE.fullmatch(name) and not SANITIZER.fullmatch(name)]
    return [f"defines {name}" for name in others] + ([] if len(tables) == 1 else [f"has {len(tables)} tables"])


def self_test():
    table = "_ZN4emlx12kAvx2KernelsE D 0 60\n"
    assert violations(table + "fmaf U\n__cxa_x w\n__odr_asan._ZN4emlx12kAvx2KernelsE B 0 1\n") == []
    assert violations("__" + table[1:]) == []
    assert violations("") == ["has 0 tables"]
    assert violations(table + table.replace("Avx2", "Fast")) == ["has 2 tables"]
    for kind in "TWVuDBR":
        assert violations(f"{table}_ZSt4sqrtf {kind} 0 10\n") == ["defines _ZSt4sqrtf"], kind
    print("every kind of violation is caught")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    nm, *objects = sys.argv[1:]
    objects = [path for path in objects if pathlib.Path(path).name.startswith("kernels_")]
    if len(objects) < 2:
        print(f"expected the kernels of two instruction sets or more, got {objects}")
        return 1
    problems = []
    for path in objects:
        listing = subprocess.run([nm, "-P", "-g", path], check=True, capture_output=True, text=True).stdout
        problems += [f"{path}: {problem}" for problem in violations(listing)]
    print("\n".join(problems) if problems else f"{len(objects)} files of kernels define their tables alone")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
