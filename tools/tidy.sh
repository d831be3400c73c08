#!/usr/bin/env bash
# clang-tidy over all of src/, with the compile commands of build/; arguments name single files instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ $# -gt 0 ]; then files=("$@"); else mapfile -t files < <(git ls-files 'src/*.cpp' ':!src/*_test.cpp'); fi
# The compile commands are GCC's: clang need not know all of its warnings.
printf '%s\0' "${files[@]}" | xargs -0 -n 4 -P "$(nproc)" \
  clang-tidy-16 -p build --quiet --warnings-as-errors='*' --extra-arg=-Wno-unknown-warning-option 2>/dev/null
