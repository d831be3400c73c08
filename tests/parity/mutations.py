"""Proves that the parity tests see wrong arithmetic: each mutation of our sources must turn them red.

mutations.py BUILD_DIR SOURCE_DIR

A mutation replaces one piece of text of one source file in a temporary copy, compiles that file with
the build's own command and links parity_driver again with it in front of the libraries. The control
does the same with nothing replaced and must be green.
"""

import dataclasses
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import parity
from make_tiny_models import MODELS, make


@dataclasses.dataclass(frozen=True)
class Mutation:
    name: str
    file: str  # below src/
    old: str  # must occur exactly once
    new: str


DECODER = "models/mlx/mlx_decoder.cpp"
EXECUTOR = "models/mlx/mlx_executor.cpp"
ROPE = "models/mlx/mlx_rope.cpp"
CACHE = "models/mlx/mlx_kv_cache.cpp"

ARGMAX = "mx::argmax(logprobs, -1)"

CONTROL = Mutation("control", DECODER, '"causal"', '"causal"')
MUTATIONS = [
    Mutation("rope theta", ROPE, "std::optional<float>(spec_.theta)",
             "std::optional<float>(spec_.theta * 1.01F)"),
    Mutation("rope offset", ROPE, "spec_.scale, offset", "spec_.scale, offset + 1"),
    Mutation("llama3 frequencies", ROPE, "mx::subtract(scalar(1), smooth)", "smooth"),
    Mutation("missing q_norm", DECODER, "if (layer.q_norm)", "if (false)"),
    Mutation("wrong scale", DECODER, "std::pow(spec.head_dim, -0.5)",
             "std::pow(spec.head_dim, -0.5) * (1 + 1e-6)"),
    Mutation("no mask", DECODER, '"causal"', '""'),
    Mutation("shifted mask", DECODER, "attention_scale_, mask)", """attention_scale_,
        *mask ? "array" : "",
        *mask ? std::optional(mx::greater_equal(
                    mx::expand_dims(mx::arange(offset + 1, cache.length() + 1), 1),
                    mx::arange(0, cache.length())))
              : std::nullopt)"""),
    Mutation("other chunking", EXECUTOR, "kStepTokens = 2048", "kStepTokens = 512"),
    Mutation("highest index on ties", EXECUTOR, ARGMAX,
             "mx::subtract(mx::array(spec_.vocab - 1), mx::argmax(mx::take(logprobs, "
             "mx::arange(spec_.vocab - 1, -1, -1), 1), -1))"),
    Mutation("argmax of raw logits", EXECUTOR, ARGMAX, "mx::argmax(last, -1)"),
    Mutation("stale cache after growth", CACHE, "prefix(*buffer, length), room",
             "mx::zeros_like(prefix(*buffer, length)), room"),
    Mutation("epsilon", DECODER, "layer.mlp_norm, spec_.rms_eps", "layer.mlp_norm, 2 * spec_.rms_eps"),
]


def cases_of(tiny) -> list:
    """Short, but with a chunk boundary of 512 and cases that greedy ties decide."""
    lengths = [5, 255, 600] if tiny.dtype == "float32" else [5]
    return ([parity.forced_case(tiny.vocab, length, 4) for length in lengths] +
            [parity.greedy_case(tiny.vocab, length, 12) for length in (4, 9, 11)])


class Builder:
    """Builds parity_driver with one source file replaced."""

    def __init__(self, build: Path, source: Path, work: Path):
        self._build, self._source, self._work = build, source, work
        commands = json.loads((build / "compile_commands.json").read_text())
        self._commands = {Path(entry["file"]): entry for entry in commands}
        listed = subprocess.run(["ninja", "-C", build, "-t", "commands", "bin/parity_driver"],
                                check=True, capture_output=True, text=True).stdout
        self._link = next(line for line in reversed(listed.splitlines()) if "-o bin/parity_driver " in line)

    def build(self, mutation: Mutation) -> Path:
        original = self._source / "src" / mutation.file
        text = original.read_text()
        count = text.count(mutation.old)
        if count != 1:
            raise RuntimeError(f"{mutation.name}: expected its text once in {mutation.file}, got {count}")
        mutant = self._work / original.name
        mutant.write_text(text.replace(mutation.old, mutation.new))
        compiled, program = self._work / "mutant.o", self._work / "parity_driver"
        entry = self._commands[original]
        command = shlex.split(entry["command"])
        command[command.index("-c") + 1] = str(mutant)
        command[command.index("-o") + 1] = str(compiled)
        subprocess.run(command, cwd=entry["directory"], check=True)
        # In front of the archives: the linker takes the mutant and leaves the original.
        link = self._link.replace("-o bin/parity_driver ", f"-o {program} {compiled} ")
        subprocess.run(link, shell=True, cwd=self._build, check=True)
        return program


def main() -> int:
    build, source = Path(sys.argv[1]), Path(sys.argv[2])
    names = ["qwen3-f32-q4g64", "qwen3-bf16-twins", "llama-f32-q8g128"]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        builder = Builder(build, source, work)
        suite = []
        for tiny in MODELS:
            if tiny.name in names:
                model, cases = make(tiny, work), cases_of(tiny)
                oracle = parity.Oracle(model)
                suite.append((tiny, model, cases, [oracle.run(case) for case in cases]))

        def first_difference(driver: Path):
            for tiny, model, cases, expected in suite:
                results = parity.Driver(driver, model, tiny.dtype, cases).results()
                for case, ours, theirs in zip(cases, results, expected):
                    for line in parity.differences(case, ours, theirs):
                        return f"{tiny.name}: {line}"
            return None

        for mutation in [CONTROL, *MUTATIONS]:
            found = first_difference(builder.build(mutation))
            right = (found is None) == (mutation is CONTROL)
            print(f"{mutation.name}: {'red' if found else 'green'}{'' if right else ', WRONG'}"
                  f"{f' ({found})' if found else ''}", flush=True)
            failures += not right
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
