"""Tiny random models: our logits against mlx_lm's, bit for bit at every step.

parity_test.py DRIVER
"""

import sys
import tempfile
import time
from pathlib import Path

import parity
from make_tiny_models import MODELS, make

LENGTHS = [1, 2, 255, 256, 257, 2050]  # around the cache's growth and the prefill chunk
MORE_LENGTHS = {"qwen3-f32-q4g64": [2048, 2049, 4097]}
# Decoding across two growths of the cache: 250 + 300 passes 256 and 512.
LONG_DECODE = ["llama-f32-q8g128", "qwen3-bf16-dense", "llama-f16-dense"]


def cases_of(tiny) -> list:
    lengths = LENGTHS + MORE_LENGTHS.get(tiny.name, [])
    cases = [parity.forced_case(tiny.vocab, length, 8) for length in lengths]
    if tiny.name in LONG_DECODE:
        cases.append(parity.forced_case(tiny.vocab, 250, 300))
    return cases + [parity.greedy_case(tiny.vocab, length, 12) for length in (1, 3, 11, 40, 255)]


def check(driver: str, tiny, folder: Path) -> tuple:
    """Whether all is equal, and how many greedy steps turned on the rounding of log-probabilities."""
    start = time.time()
    cases = cases_of(tiny)
    model = make(tiny, folder)
    run = parity.Driver(driver, model, tiny.dtype, cases)
    oracle = parity.Oracle(model)
    expected = [oracle.run(case) for case in cases]
    results = run.results()
    lines = [line for case, ours, theirs in zip(cases, results, expected)
             for line in parity.differences(case, ours, theirs)]
    steps = sum(len(result.tokens) for result in expected)
    print(f"{tiny.name}: {steps} steps of {len(cases)} prompts "
          f"{'differ' if lines else 'equal'} ({time.time() - start:.1f} s)", flush=True)
    for line in lines:
        print(f"  {line}")
    ties = sum(parity.rounding_ties(result) for case, result in zip(cases, expected)
               if "forced" not in case)
    return not lines, ties


def main() -> int:
    driver = sys.argv[1]
    print(f"oracle: {parity.ORACLE} on {parity.mx.default_device()}")
    with tempfile.TemporaryDirectory() as folder:
        equal, ties = zip(*[check(driver, tiny, Path(folder)) for tiny in MODELS])
    print(f"{sum(ties)} greedy tokens are not the largest logit's")
    if sum(ties) == 0:
        print("none: mlx_lm's greedy rule was not put to the test")
    return 0 if all(equal) and sum(ties) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
