"""SmolLM2-135M-Instruct in float32: the GGUF itself and the directory we convert it to, against
mlx_lm on that directory.

smollm2_test.py DRIVER PROGRAM GGUF
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import parity
from mlx_lm.utils import load_tokenizer

QUESTION = "What is the capital of France?"
GREEDY_STEPS = 64
FORCED_LENGTHS = [1, 2, 257]


def check(driver: str, gguf: Path, converted: Path) -> list:
    oracle = parity.Oracle(converted)
    vocab = oracle.config["vocab_size"]
    forced = [parity.forced_case(vocab, length, 4) for length in FORCED_LENGTHS]
    ours = [{"chat": QUESTION, "max_tokens": GREEDY_STEPS}, *forced]
    runs = {path.name: parity.Driver(driver, path, "float32", ours) for path in (gguf, converted)}

    tokenizer = load_tokenizer(converted)
    prompt = tokenizer.apply_chat_template([{"role": "user", "content": QUESTION}],
                                           add_generation_prompt=True)
    cases = [{"prompt": list(prompt), "max_tokens": GREEDY_STEPS}, *forced]
    expected = [oracle.run(case) for case in cases]
    answer = tokenizer.decode(expected[0].tokens)
    print(f"mlx_lm: {answer!r}")
    lines = [] if "Paris" in answer else ["the oracle does not name Paris: a damaged conversion?"]
    for name, run in runs.items():
        results = run.results()
        if run.cases[0]["prompt"] != cases[0]["prompt"]:
            lines.append(f"{name}: chat prompt: expected {cases[0]['prompt']}, "
                         f"got {run.cases[0]['prompt']}")
            continue
        found = [line for case, result, reference in zip(cases, results, expected)
                 for line in parity.differences(case, result, reference)]
        print(f"{name}: {'differs' if found else 'equal'} in {len(cases)} prompts")
        lines += [f"{name}: {line}" for line in found]
    return lines


def main() -> int:
    driver, program, gguf = sys.argv[1:]
    print(f"oracle: {parity.ORACLE} on {parity.mx.default_device()}")
    with tempfile.TemporaryDirectory() as folder:
        converted = Path(folder) / "converted"
        subprocess.run([program, "convert", gguf, converted, "--dtype", "float32"], check=True)
        lines = check(driver, Path(gguf), converted)
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
