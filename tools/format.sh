#!/usr/bin/env bash
# Formats all C++ sources in place; with --check only says which differ (exit status 1).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v clang-format-16 >/dev/null || { echo "tools/format.sh needs clang-format-16" >&2; exit 1; }
mode=(-i)
[ "${1:-}" = --check ] && mode=(--dry-run --Werror)
git ls-files -z '*.h' '*.cpp' | xargs -0 clang-format-16 "${mode[@]}"
