"""The CPU executor against mlx_lm in float32: tokens, and the size of the logits' errors.

cpu_test.py DRIVER PROGRAM GGUF GOLDENS
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import parity
from make_tiny_models import MODELS, make

np = parity.np
LIVE_PROMPTS, LIVE_STEPS = [0, 20, 30], 32
# Largest error of a logit, as measured, times about 3; docs/EXACTNESS.md has the figures.
SMOLLM2_BOUNDS = {32: 0.03, 16: 0.08, 8: 3.0}  # of logits whose standard deviation is 6
TINY_BOUND = 2e-3  # float32 KV, in standard deviations of the logits


def errors(ours, theirs) -> tuple:
    """Largest and root mean square difference of all logits, and agreeing argmaxes."""
    difference = np.concatenate([a.logits - b.logits for a, b in zip(ours, theirs)])
    agree = [int(x.argmax() == y.argmax()) for a, b in zip(ours, theirs)
             for x, y in zip(a.logits, b.logits)]
    return float(np.abs(difference).max()), float(np.sqrt(np.mean(difference**2))), agree


def check_goldens(driver: str, gguf: Path, goldens: list) -> list:
    """X2: the same tokens as mlx_lm's stored answers, with float32 KV."""
    cases = [{"prompt": one["prompt"], "max_tokens": len(one["ids"])} for one in goldens]
    results = parity.Driver(driver, gguf, "auto", cases, with_logits=False, backend="cpu",
                            kv_bits=32).results()
    lines = []
    for number, (one, result) in enumerate(zip(goldens, results), 1):
        if result.tokens != one["ids"]:
            step = next(i for i, pair in enumerate(zip(result.tokens, one["ids"]))
                        if pair[0] != pair[1])
            lines.append(f"prompt {number}, token {step}: expected {one['ids'][step]}, got "
                         f"{result.tokens[step]}; mlx_lm's two best are {one['gaps'][step]} apart")
    closest = min(min(one["gaps"]) for one in goldens)
    print(f"goldens: {len(goldens) - len(lines)} of {len(goldens)} answers equal, "
          f"{sum(len(one['ids']) for one in goldens)} tokens; closest two best logits: {closest}")
    return lines


def check_live(driver: str, gguf: Path, converted: Path, goldens: list) -> list:
    """The stored answers are mlx_lm's of today; errors of forced steps by kind of KV."""
    oracle = parity.Oracle(converted)
    chosen = [goldens[i] for i in LIVE_PROMPTS]
    theirs = [oracle.run({"prompt": one["prompt"], "max_tokens": min(LIVE_STEPS, len(one["ids"]))})
              for one in chosen]
    lines = [f"prompt {i + 1}: mlx_lm no longer gives the stored answer"
             for i, one, result in zip(LIVE_PROMPTS, chosen, theirs)
             if result.tokens != one["ids"][:LIVE_STEPS]]
    cases = [{"prompt": one["prompt"], "forced": result.tokens}
             for one, result in zip(chosen, theirs)]
    for bits, bound in SMOLLM2_BOUNDS.items():
        ours = parity.Driver(driver, gguf, "auto", cases, backend="cpu", kv_bits=bits).results()
        largest, rms, agree = errors(ours, theirs)
        print(f"SmolLM2, {bits}-bit KV: logits off by {largest:.4f} at most, {rms:.4f} rms, "
              f"argmax equal in {sum(agree)} of {len(agree)} steps")
        if not largest <= bound:
            lines.append(f"{bits}-bit KV: expected errors of at most {bound}, got {largest:.4f}")
    return lines


def check_tiny(driver: str, folder: Path) -> list:
    """Every family and format in float32, forced ids."""
    lines = []
    for tiny in (tiny for tiny in MODELS if tiny.dtype == "float32"):
        cases = [parity.forced_case(tiny.vocab, length, 8) for length in (1, 65, 600)]
        model = make(tiny, folder)
        oracle = parity.Oracle(model)
        theirs = [oracle.run(case) for case in cases]
        ours = parity.Driver(driver, model, "auto", cases, backend="cpu", kv_bits=32).results()
        spread = float(np.concatenate([result.logits for result in theirs]).std())
        largest, rms, _ = errors(ours, theirs)
        print(f"{tiny.name}: off by {largest / spread:.1e} at most, {rms / spread:.1e} rms, "
              "in standard deviations of the logits")
        if not largest / spread <= TINY_BOUND:
            lines.append(f"{tiny.name}: expected errors of at most {TINY_BOUND}, "
                         f"got {largest / spread:.1e}")
    return lines


def main() -> int:
    driver, program, gguf, stored = sys.argv[1:]
    goldens = json.loads(Path(stored).read_text(encoding="utf-8"))
    print(f"oracle: {parity.ORACLE} on {parity.mx.default_device()}")
    lines = []
    if goldens["oracle"] != parity.ORACLE:
        lines.append(f"expected goldens of {parity.ORACLE}, got {goldens['oracle']}")
    lines += check_goldens(driver, Path(gguf), goldens["answers"])
    with tempfile.TemporaryDirectory() as folder:
        converted = Path(folder) / "converted"
        subprocess.run([program, "convert", gguf, converted, "--dtype", "float32"], check=True)
        lines += check_live(driver, Path(gguf), converted, goldens["answers"])
        lines += check_tiny(driver, Path(folder))
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
