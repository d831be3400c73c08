#!/usr/bin/env bash
# clang-tidy over all of src/, with the compile commands of build/; arguments name single files instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ $# -gt 0 ]; then files=("$@"); else mapfile -t files < <(git ls-files 'src/*.cpp' ':!src/*_test.cpp'); fi
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy-16 -p build --quiet --warnings-as-errors='*' 2> >(grep -v 'warnings generated' >&2 || true)
