#!/usr/bin/env python3
"""Times engine-mlx and mlx_lm on the same weights, interleaved, and prints medians as a Markdown table.

Usage, after ./test has installed the reference tools:
    .cache/oracle/bin/python bench/against_mlx_lm.py [--runs 5] [--tokens 64]

Both compute greedily in float32 on MLX's CPU backend from one converted directory, a process a run. The texts must be equal.
"""
import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/bin/engine-mlx"
GGUF = ROOT / "models/SmolLM2-135M-Instruct.Q4_1.gguf"
PROMPT = "Write a long story about a lighthouse keeper and the sea."


def ours(model, tokens):
    command = [PROGRAM, "generate", "--backend", "mlx", "--json", "-m", model, "--dtype", "float32", "-n", str(tokens), "-p", PROMPT]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    wall = time.perf_counter() - start
    answer = json.loads(done.stdout)
    times = answer["timings"]
    return {"text": answer["text"], "prefill": times["prefill_tokens_per_second"],
            "decode": times["decode_tokens_per_second"], "wall": wall}


def theirs(model, tokens):
    """mlx_lm in a process of its own, as ours is."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, __file__, "--mlx-lm", model, str(tokens)], capture_output=True, text=True, check=True)
    return {**json.loads(done.stdout.splitlines()[-1]), "wall": time.perf_counter() - start}


def run_mlx_lm(model_path, tokens):
    from mlx_lm import load, stream_generate

    model, tokenizer = load(model_path)
    prompt = tokenizer.apply_chat_template([{"role": "user", "content": PROMPT}], add_generation_prompt=True)
    text = ""
    for part in stream_generate(model, tokenizer, prompt, max_tokens=tokens):
        text += part.text
    print(json.dumps({"text": text, "prefill": part.prompt_tps, "decode": part.generation_tps}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=64)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model")
        subprocess.run([PROGRAM, "convert", GGUF, model, "--dtype", "float32"], check=True, capture_output=True)
        results = {"engine-mlx": [], "mlx_lm": []}
        for run in range(flags.runs + 1):  # the first of each warms the file cache and is dropped
            pair = {"engine-mlx": ours(model, flags.tokens), "mlx_lm": theirs(model, flags.tokens)}
            assert pair["engine-mlx"]["text"] == pair["mlx_lm"]["text"], "the answers differ"
            for name, result in pair.items():
                if run > 0:
                    results[name].append(result)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, medians of {flags.runs} interleaved runs, {flags.tokens} tokens\n")
    print("| | prefill tok/s | decode tok/s | process, s |\n|---|---|---|---|")
    for name, runs in results.items():
        median = {key: statistics.median(run[key] for run in runs) for key in ("prefill", "decode", "wall")}
        print(f"| {name} | {median['prefill']:.1f} | {median['decode']:.2f} | {median['wall']:.1f} |")
    ratio = {key: statistics.median(a[key] / b[key] for a, b in zip(*results.values())) for key in ("prefill", "decode", "wall")}
    print(f"| ratio | {ratio['prefill']:.2f} | {ratio['decode']:.2f} | {ratio['wall']:.2f} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--mlx-lm"]:
        run_mlx_lm(sys.argv[2], int(sys.argv[3]))
    else:
        main()
