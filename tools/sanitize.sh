#!/usr/bin/env bash
# sanitize.sh build|test [asan|tsan]: everything without MLX under AddressSanitizer and UBSan (or ThreadSanitizer).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${2:-asan}
case ${1:-} in
build)
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset"
  ;;
test)
  cd "build/$preset"
  ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 ctest --no-tests=error --output-on-failure -L unit
  ;;
*)
  echo "usage: tools/sanitize.sh build|test [asan|tsan]" >&2
  exit 2
  ;;
esac
