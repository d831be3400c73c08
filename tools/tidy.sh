#!/usr/bin/env bash
# clang-tidy over all of src/, with the compile commands of build/; arguments name single files instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v clang-tidy-16 >/dev/null || { echo "tools/tidy.sh needs clang-tidy-16" >&2; exit 1; }
[ -e build/compile_commands.json ] || { echo "tools/tidy.sh needs a build in build/ (./test makes one)" >&2; exit 1; }
# The compile commands are GCC's: clang need not know all of its warnings. Tests may be slow where it reads better.
tidy() {
  printf '%s\n' "$1"
  case $1 in *_test.cpp) set -- "$1" --checks=-performance-*,-bugprone-suspicious-missing-comma,-bugprone-string-constructor ;; esac
  clang-tidy-16 -p build --quiet --warnings-as-errors='*' --extra-arg=-Wno-unknown-warning-option "$@" 2>/dev/null
}
export -f tidy
if [ $# -gt 0 ]; then files=("$@"); else mapfile -t files < <(git ls-files 'src/*.cpp'); fi
# Files for other processors have no compile command here.
known=()
for file in "${files[@]}"; do grep -qF "/$file\"" build/compile_commands.json && known+=("$file"); done
[ ${#known[@]} -gt 0 ] || { echo "tools/tidy.sh: no such file in the build" >&2; exit 1; }
printf '%s\0' "${known[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'tidy "$0"' >build/tidy.log 2>&1 || {
  grep -v '^src/[^ ]*\.cpp$' build/tidy.log
  exit 1
}
