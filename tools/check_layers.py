#!/usr/bin/env python3
"""Proves the layering of src/: no include goes against an arrow, and MLX is named only in src/models/mlx/.

Usage: check_layers.py [SRC]        checks a source tree, exit status 1 and one line per violation
       check_layers.py --self-test  proves that the check can fail
"""
import pathlib
import re
import sys
import tempfile

# layer -> layers it may include directly; base is open to all, and what a layer may see it may see through another.
ARROWS = {
    "base": [],
    "formats": ["base"],
    "tokenizer": ["base"],
    "chat": ["tokenizer"],
    "kernels": ["base"],
    "models": ["kernels", "formats"],
    "engine": ["models", "chat"],
    "server": ["engine"],
    "app": ["server"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
MAX_LINES = 800  # tables exempt


def visible(layer):
    seen = {layer}
    for below in ARROWS[layer]:
        seen |= visible(below)
    return seen


def check(src):
    problems = []
    for path in sorted(p for p in src.rglob("*") if p.suffix in (".h", ".cpp")):
        parts = path.relative_to(src).parts
        layer = parts[0]
        if layer not in ARROWS:
            problems.append(f"{path}: folder '{layer}' is not a layer")
            continue
        text = path.read_text(encoding="utf-8")
        if len(text.splitlines()) > MAX_LINES and "table" not in path.stem:
            problems.append(f"{path}: {len(text.splitlines())} lines, more than {MAX_LINES}")
        for quote, name in INCLUDE.findall(text):
            first = name.split("/")[0]
            if first == "mlx" and parts[:2] != ("models", "mlx"):
                problems.append(f"{path}: includes {name}, but only models/mlx/ may see MLX")
            elif quote == '"' and first in ARROWS and first not in visible(layer):
                problems.append(f"{path}: includes {name}, but {layer} may not see {first}")
            elif quote == '"' and not (src / name).exists():
                problems.append(f"{path}: includes {name}, which is not under src/ (includes start at src/)")
            elif name.startswith("models/mlx/") and name != "models/mlx/mlx_executor.h" and parts[:2] != ("models", "mlx"):
                problems.append(f"{path}: includes {name}; outside models/mlx/ only mlx_executor.h is public")
    return problems


def self_test():
    cases = {
        "formats/a.cpp": '#include "engine/b.h"\n',
        "engine/b.h": "#include <mlx/mlx.h>\n",
        "tokenizer/c.cpp": '#include "formats/tensor.h"\n',
        "chat/d.cpp": '#include "d.h"\n',
        "server/e.cpp": '#include "models/mlx/mlx_cache.h"\n',
        "elsewhere/f.cpp": "",
        "app/g.cpp": "\n" * (MAX_LINES + 1),
    }
    good = {
        "base/error.h": "#include <string>\n",
        "models/mlx/mlx_cache.h": '#include <mlx/array.h>\n#include "base/error.h"\n',
        "server/h.cpp": '#include "base/error.h"\n',
    }
    with tempfile.TemporaryDirectory() as folder:
        src = pathlib.Path(folder)
        for name, text in good.items():
            (src / name).parent.mkdir(parents=True, exist_ok=True)
            (src / name).write_text(text)
        assert check(src) == [], check(src)
        for name, text in cases.items():
            (src / name).parent.mkdir(parents=True, exist_ok=True)
            (src / name).write_text(text)
            assert len(check(src)) == 1, (name, check(src))
            (src / name).unlink()
    print("every kind of violation is caught")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    src = pathlib.Path(sys.argv[1]) if sys.argv[1:] else pathlib.Path(__file__).resolve().parent.parent / "src"
    problems = check(src)
    print("\n".join(problems) if problems else f"layers hold in {src.name}/")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
