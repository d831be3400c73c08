"""Greedy answers of mlx_lm in float32 to prompts.txt, for the CPU executor's tests.

make_goldens.py MODEL_DIRECTORY OUT.json     (a directory that `convert --dtype float32` made)

The weights are dequantized first: the same values in dense matrices, ten times as fast on a CPU.
cpu_test.py compares some answers with those of the quantized model.
"""

import json
import sys
from pathlib import Path

import parity
from mlx_lm.generate import generate_step
from mlx_lm.utils import dequantize_model, load_model, load_tokenizer

mx = parity.mx
STEPS = 128


def answer(model, eos: set, prompt: list, steps: int = STEPS) -> dict:
    """The ids up to the end of the text, and the gap between the two best logits at each step."""
    ids, gaps = [], []
    for token, logprobs in generate_step(mx.array(prompt), model, max_tokens=steps):
        best = mx.topk(logprobs, 2)
        gaps.append(round(mx.abs(best[1] - best[0]).item(), 5))
        ids.append(token)
        if token in eos:
            break
    return {"prompt": list(prompt), "ids": ids, "gaps": gaps}


def chat_prompt(tokenizer, text: str) -> list:
    return list(tokenizer.apply_chat_template([{"role": "user", "content": text}], add_generation_prompt=True))


def main() -> int:
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    model = dequantize_model(load_model(folder)[0])
    tokenizer = load_tokenizer(folder)
    prompts = (Path(__file__).parent / "prompts.txt").read_text(encoding="utf-8").splitlines()
    answers = []
    for number, text in enumerate(prompts, 1):
        answers.append(answer(model, tokenizer.eos_token_ids, chat_prompt(tokenizer, text)))
        print(f"{number} of {len(prompts)}: {len(answers[-1]['ids'])} tokens", file=sys.stderr)
    lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in answers)
    out.write_text(f'{{"oracle": {json.dumps(parity.ORACLE)}, "dtype": "float32", "answers": [\n{lines}\n]}}\n')
    return 0


if __name__ == "__main__":
    sys.exit(main())
