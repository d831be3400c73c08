#!/usr/bin/env bash
# Builds the kernels' and the CPU executor's tests for 64-bit ARM and runs them under qemu: NEON gives the bits that all other
# instruction sets give, in single kernels and in whole models. Needs g++-12-aarch64-linux-gnu, qemu-user, googletest (Debian).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cmake --preset arm64 >/dev/null
cmake --build --preset arm64 --target kernels_tests cpu_tests
run() { # run PROGRAM FLAGS...
  local log=build/arm64/$1.log
  if ! qemu-aarch64 -L /usr/aarch64-linux-gnu "build/arm64/bin/$1" --gtest_brief=1 "${@:2}" >"$log" 2>&1; then
    tail -n 40 "$log"
    exit 1
  fi
  printf '%s: %s\n' "$1" "$(grep PASSED "$log")"
}
run kernels_tests
run cpu_tests --gtest_filter='CpuExecutorGolden.*'
