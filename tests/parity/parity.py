"""One set of cases through our engine and through mlx_lm, compared bit for bit."""

import dataclasses
import importlib.metadata
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ORACLE = {"mlx": "0.32.4", "mlx-lm": "0.32.2"}

try:
    import mlx.core as mx
    import numpy as np
    from mlx_lm.generate import generate_step
    from mlx_lm.utils import load_model

    _found = {name: importlib.metadata.version(name) for name in ORACLE}
except ImportError as error:
    sys.exit(f"parity: the reference is missing in {sys.executable}: {error}")
if _found != ORACLE:
    sys.exit(f"parity: expected {ORACLE} in {sys.executable}, got {_found}")


def forced_case(vocab: int, length: int, steps: int) -> dict:
    """A pseudo-random prompt, then pseudo-random ids in place of sampled ones: greedy output of a
    random model falls into one token."""
    random = np.random.default_rng(length)
    return {"prompt": random.integers(0, vocab, length).tolist(),
            "forced": random.integers(0, vocab, steps).tolist()}


def greedy_case(vocab: int, length: int, steps: int) -> dict:
    random = np.random.default_rng(1000 + length)
    return {"prompt": random.integers(0, vocab, length).tolist(), "max_tokens": steps}


def describe(case: dict) -> str:
    kind = f"{len(case['forced'])} forced" if "forced" in case else f"{case['max_tokens']} greedy"
    return f"prompt of {len(case['prompt'])}, {kind}"


@dataclasses.dataclass
class Result:
    chunks: list  # tokens of each step that fed the prompt
    tokens: list  # [steps]
    logprobs: list  # [steps], of the tokens
    logits: np.ndarray  # [steps, vocab] float32


class Driver:
    """A run of parity_driver over the cases, in the background."""

    def __init__(self, program, model: Path, dtype: str, cases: list, with_logits: bool = True,
                 **options):
        """`options`: the request's other fields, such as backend and kv_bits."""
        self._exact = options.get("backend", "mlx") == "mlx"
        self._with_logits = with_logits
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        self._logits = folder / "logits"
        request = folder / "request.json"
        fields = {"model": str(model), "dtype": dtype, "cases": cases, **options}
        if with_logits:
            fields["logits"] = str(self._logits)
        request.write_text(json.dumps(fields))
        self._process = subprocess.Popen([program, request], stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True)

    def results(self) -> list:
        """The results of all cases; RuntimeError if the driver failed."""
        with self._folder:
            out, err = self._process.communicate()
            if self._process.returncode != 0:
                raise RuntimeError(f"parity_driver: exit code {self._process.returncode}: {err}")
            answer = json.loads(out)
            if answer["info"]["exact"] != self._exact:
                raise RuntimeError(f"parity_driver: expected exact to be {self._exact}, "
                                   f"got {answer['info']}")
            self.cases = answer["cases"]
            steps = sum(len(case["tokens"]) for case in self.cases)
            rows = (np.fromfile(self._logits, np.float32).reshape(steps, -1) if self._with_logits
                    else np.zeros((steps, 0), np.float32))
        results = []
        for case in self.cases:
            count = len(case["tokens"])
            prompt_steps = 1 + int(np.cumsum(case["fed"]).searchsorted(len(case["prompt"])))
            results.append(Result(case["fed"][:prompt_steps], case["tokens"], case["logprobs"],
                                  rows[:count]))
            rows = rows[count:]
        return results


class Oracle:
    """mlx_lm's generate_step on its own loading of the model directory."""

    def __init__(self, model: Path):
        self._model, self.config = load_model(model)

    def run(self, case: dict) -> Result:
        logits, progress = [], []

        def capture(_, step_logits):
            logits.append(step_logits.astype(mx.float32))
            return step_logits

        forced = iter(case.get("forced", []))

        def next_forced(_):
            return mx.array([next(forced, 0)])  # generate_step samples once more than it yields

        steps = len(case["forced"]) if "forced" in case else case["max_tokens"]
        tokens, logprobs = [], []
        for token, step_logprobs in generate_step(
                mx.array(case["prompt"]), self._model, max_tokens=steps,
                logits_processors=[capture], sampler=next_forced if "forced" in case else None,
                prompt_progress_callback=lambda done, _: progress.append(done)):
            tokens.append(token)
            logprobs.append(step_logprobs[token].astype(mx.float32).item())
        return Result(np.diff(progress).tolist(), tokens, logprobs,
                      np.concatenate([np.array(row) for row in logits[:steps]]))


def differences(case: dict, ours: Result, theirs: Result) -> list:
    """What is not equal, one line each; empty: equal bit for bit."""
    name = describe(case)
    if not np.isfinite(theirs.logits).all() or theirs.logits.std() == 0:
        return [f"{name}: the oracle's logits prove nothing"]
    if ours.logits.shape != theirs.logits.shape:
        return [f"{name}: expected logits {theirs.logits.shape}, got {ours.logits.shape}"]
    lines = []
    if ours.chunks != theirs.chunks:  # on a CPU other chunks give the same bits
        lines.append(f"{name}: expected chunks {theirs.chunks}, got {ours.chunks}")
    wrong = ours.logits.view(np.uint32) != theirs.logits.view(np.uint32)
    if wrong.any():
        step = int(wrong.any(axis=1).argmax())
        largest = np.abs(ours.logits - theirs.logits).max()
        lines.append(f"{name}: logits differ from step {step} on, in {wrong.any(axis=1).sum()} of "
                     f"{len(wrong)} steps, by {largest:.3g} at most")
    if ours.tokens != theirs.tokens:
        step = next(i for i, pair in enumerate(zip(ours.tokens, theirs.tokens))
                    if pair[0] != pair[1])
        lines.append(f"{name}: token {step}: expected {theirs.tokens[step]}, "
                     f"got {ours.tokens[step]}")
    elif "forced" not in case and ours.logprobs != theirs.logprobs:
        lines.append(f"{name}: log-probabilities differ")
    return lines


def rounding_ties(result: Result) -> int:
    """Greedy steps where subtracting logsumexp made another token win than the largest logit."""
    return sum(int(row.argmax()) != token for row, token in zip(result.logits, result.tokens))
