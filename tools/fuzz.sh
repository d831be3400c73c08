#!/usr/bin/env bash
# fuzz.sh [SECONDS]: builds the fuzzers (clang, ASan, UBSan) and runs each for so long (default 20), starting from the
# fixtures in tests/data. A crash leaves its input in build/fuzz/ and fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-20}
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz
for program in build/fuzz/bin/fuzz_*; do
  name=${program##*/fuzz_}
  corpus=build/fuzz/corpus/$name
  mkdir -p "$corpus"
  seeds=()
  [ -d "fuzz/seeds/$name" ] && seeds+=("fuzz/seeds/$name")
  [ -d "tests/data/$name" ] && seeds+=("tests/data/$name")
  printf 'fuzz_%s: ' "$name"
  if ! "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -artifact_prefix=build/fuzz/ \
    "$corpus" ${seeds[@]+"${seeds[@]}"} >"build/fuzz/$name.log" 2>&1; then
    tail -n 40 "build/fuzz/$name.log"
    exit 1
  fi
  grep -o 'Done [0-9]* runs.*' "build/fuzz/$name.log"
done
