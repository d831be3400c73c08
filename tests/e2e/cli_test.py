#!/usr/bin/env python3
"""The built program from a user's side: answers, exit codes, one-line errors, and that nothing needs a network."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import program
from program import MODEL, PROGRAM, run

QUESTION = "What is the capital of France?"


class Answers(unittest.TestCase):
    def test_generate_names_paris_and_times_itself(self):
        done = run("generate", "-p", QUESTION)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "The capital of France is Paris.\n")
        self.assertRegex(done.stderr, r"prompt \d+ tokens, [\d.]+ tok/s .* first token after [\d.]+ s")

    def test_without_a_command_or_a_terminal_the_sample_prompt_is_answered(self):
        done = run()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Paris", done.stdout)

    def test_json_lists_ids_text_reason_and_a_hash_a_step(self):
        done = run("generate", "--json", "-n", 4, stdin=QUESTION + "\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(result["text"], "The capital of France")
        self.assertEqual(result["finish_reason"], "length")
        self.assertEqual(len(result["output_ids"]), 4)
        self.assertEqual(len(set(result["logits_sha256"])), 4)
        for digest in result["logits_sha256"]:
            self.assertRegex(digest, r"^[0-9a-f]{64}$")
        self.assertGreater(len(result["prompt_ids"]), 10)
        timings = result["timings"]
        self.assertAlmostEqual(timings["prefill_tokens_per_second"] * timings["prefill_seconds"], len(result["prompt_ids"]))
        self.assertAlmostEqual(timings["decode_tokens_per_second"] * timings["decode_seconds"], 3)
        self.assertGreaterEqual(timings["first_token_seconds"], timings["prefill_seconds"])

    def test_a_stop_string_ends_the_text_before_it(self):
        done = run("generate", "-p", QUESTION, "--stop", " France")
        self.assertEqual(done.stdout, "The capital of\n")

    def test_the_same_seed_gives_the_same_text(self):
        arguments = ("generate", "-p", "Tell me a story", "-t", "0.9", "-n", 12)
        first, again, other = (run(*arguments, "--seed", seed).stdout for seed in (7, 7, 8))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_raw_takes_the_prompt_as_it_is(self):
        chat = json.loads(run("tokenize", "--json", "--chat", "-p", QUESTION).stdout)
        raw = json.loads(run("tokenize", "--json", "-p", QUESTION).stdout)
        self.assertEqual([t["token"] for t in raw["tokens"]][:2], ["What", "\u0120is"])
        self.assertEqual(chat["tokens"][0]["token"], "<|im_start|>")
        generated = json.loads(run("generate", "--raw", "--json", "-n", 1, "-p", QUESTION).stdout)
        self.assertEqual(generated["prompt_ids"], [t["id"] for t in raw["tokens"]])

    def test_chat_remembers_until_reset_and_survives_bad_input(self):
        line = "Say hi"
        inputs = (line, line, "/reset", "", "/help", line, "\udcff", "/exit")  # \udcff: a byte that is no UTF-8
        done = run("chat", "--system", "x", "-n", 2, stdin="\n".join(inputs))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("/reset", done.stderr)
        prompts = [int(count) for count in re.findall(r"prompt (\d+) tokens", done.stderr)]
        self.assertEqual(len(prompts), 4, done.stderr)
        first, second, fresh, bad = prompts
        length = json.loads(run("tokenize", "--json", "-p", line).stdout)["count"]
        self.assertGreaterEqual(second, first + length + 2 + 2 * 5)  # the line, the answer, and the marks around each
        self.assertEqual(fresh, first)
        self.assertGreater(bad, fresh)

    def test_an_interrupt_of_one_turn_is_not_the_next_ones(self):
        process = subprocess.Popen(
            [PROGRAM, "chat", "--context", "64", "-n", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        process.stdin.write(b"word " * 3_000_000 + b"\n")  # too long, which takes a good second to find out
        process.stdin.flush()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(b"Say hi\n", timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        self.assertIn(b"context of 64", errors)
        self.assertIn(b"answer 1 tokens", errors)

    def test_a_termination_ends_chat_in_the_middle_of_an_answer(self):
        process = subprocess.Popen(
            [PROGRAM, "chat", "-n", "4000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        process.stdin.write(b"Count to one thousand.\n")
        process.stdin.flush()
        process.stdout.read(1)
        process.terminate()
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, -signal.SIGTERM)

    def test_chat_ends_with_its_output(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [PROGRAM, "chat", "-n", "1"], input="Say hi\n" * 3, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
            )
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("> "), 1, done.stderr)

    def test_chat_bounds_a_line_and_knows_its_commands(self):
        done = run("chat", "-n", 1, stdin="/foo\n" + "x" * (16 << 20) + "y\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn('unknown command "/foo"', done.stderr)
        self.assertIn("16777216 bytes", done.stderr)
        self.assertNotIn("answer", done.stderr)

    def test_few_tokens_give_no_rate(self):
        few, more = (run("generate", "-p", QUESTION, "-n", count).stderr for count in (3, 4))
        self.assertIn("answer 3 tokens ·", few)
        self.assertRegex(more, r"answer 4 tokens, [\d.]+ tok/s")

    def test_info_tells_model_backend_and_dtype(self):
        done = run("info")
        self.assertEqual(done.returncode, 0, done.stderr)
        for expected in ("llama", "30 layers", "Q4_1", "float32"):
            self.assertIn(expected, done.stdout)
        self.assertRegex(done.stdout, r"backend +(cpu|mlx) on \w+")

    def test_a_converted_directory_gives_the_same_logits(self):
        with tempfile.TemporaryDirectory() as folder:
            target = os.path.join(folder, "smollm2")
            done = run("convert", MODEL, target, "--dtype", "float32")
            self.assertEqual(done.returncode, 0, done.stderr)
            ours, theirs = (
                json.loads(run("generate", "--json", "-n", 2, "-p", QUESTION, "-m", path).stdout) for path in (MODEL, target)
            )
            for key in ("prompt_ids", "output_ids", "logits_sha256", "text"):
                self.assertEqual(ours[key], theirs[key], key)
            again = run("convert", MODEL, target)
            self.assertEqual(again.returncode, 1)
            self.assertEqual(len(again.stderr.strip().splitlines()), 1)

    def test_a_conversion_that_is_stopped_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with tempfile.TemporaryDirectory() as folder:
                target = pathlib.Path(folder, "smollm2")
                process = subprocess.Popen([PROGRAM, "convert", MODEL, target], stderr=subprocess.PIPE)
                while process.poll() is None and not (target / "model.safetensors.part").exists():
                    time.sleep(0.001)
                process.send_signal(number)
                _, errors = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 130, errors)
                self.assertFalse(target.exists())

    def test_a_conversion_beyond_the_file_size_limit_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder, "smollm2")
            done = subprocess.run(
                ["bash", "-c", 'ulimit -f 1000; exec "$0" convert "$1" "$2"', PROGRAM, MODEL, target], capture_output=True, text=True
            )
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("File too large", done.stderr)
            self.assertFalse(target.exists())

    def test_a_reader_that_goes_away_ends_generation(self):
        process = subprocess.Popen(
            [PROGRAM, "generate", "-p", "Count to one thousand.", "-n", "4000"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        process.stdout.read(1)
        process.stdout.close()
        self.assertEqual(process.wait(timeout=30), -signal.SIGPIPE)

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [PROGRAM, "generate", "-p", "Count to one thousand.", "-n", "4000"],
                stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
            )
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write to standard output", done.stderr)

    def test_an_interrupt_ends_the_answer(self):
        process = subprocess.Popen(
            [PROGRAM, "generate", "-p", "Count to one thousand.", "-n", "4000"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)


class BadInput(unittest.TestCase):
    def expect_one_line(self, done, *parts):
        self.assertEqual(done.returncode, 1, done.stderr + done.stdout)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def test_model_paths_that_lead_nowhere(self):
        self.expect_one_line(run("generate", "-p", "x", "-m", self.folder / "absent"), "absent")
        empty = self.folder / "empty"
        empty.mkdir()
        self.expect_one_line(run("generate", "-p", "x", "-m", empty), "config.json")

    def test_files_that_are_no_model(self):
        with open(MODEL, "rb") as file:
            start = file.read(1 << 20)
        for name, data in {
            "empty.gguf": b"",
            "text.gguf": b"hello, this is no model",
            "html.gguf": b"<!DOCTYPE html><html></html>",
            "lfs.gguf": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
            "cut.gguf": start,
            "cut2.gguf": start[:100],
        }.items():
            self.expect_one_line(run("generate", "-p", "x", "-m", self.write(name, data)), name)

    def test_a_directory_of_an_unknown_architecture(self):
        config = {"model_type": "mamba", "hidden_size": 8}
        self.write("m/config.json", json.dumps(config).encode())
        self.write("m/model.safetensors", b"\x02\0\0\0\0\0\0\0{}")
        self.expect_one_line(run("generate", "-p", "x", "-m", self.folder / "m"), "mamba", "qwen3")

    def test_a_rope_type_we_do_not_know(self):
        config = {
            "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1, "intermediate_size": 64, "num_attention_heads": 2,
            "rms_norm_eps": 1e-5, "vocab_size": 16, "max_position_embeddings": 64, "rope_scaling": {"rope_type": "spiral"},
        }
        self.write("m/config.json", json.dumps(config).encode())
        self.write("m/model.safetensors", b"\x02\0\0\0\0\0\0\0{}")
        self.expect_one_line(run("generate", "-p", "x", "-m", self.folder / "m"), "spiral")

    def test_a_prompt_longer_than_the_context(self):
        self.expect_one_line(run("generate", "--context", 16, "-p", "word " * 40), "16")

    def test_a_prompt_that_is_not_utf8(self):
        done = subprocess.run([PROGRAM, "generate"], input=b"\xff\xfe", capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"UTF-8", done.stderr)

    def test_standard_input_that_cannot_be_read(self):
        for command in ("generate", "tokenize"):
            with open(self.folder / "closed", "w") as closed:  # not open for reading
                done = subprocess.run([PROGRAM, command], stdin=closed, capture_output=True, text=True, timeout=60)
            self.expect_one_line(done, "cannot read standard input: ")

    def test_an_empty_prompt_is_wrong_usage(self):
        for command in ("generate", "tokenize"):
            for done in (run(command), run(command, "-p", ""), run(command, stdin="\n")):
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertEqual(done.stderr.splitlines(), ["engine-mlx: expected a prompt, got an empty one"])

    def test_an_unknown_command_is_named(self):
        done = run("genrate", "-p", "hi")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, 'engine-mlx: unknown command "genrate"; --help lists the commands\n')

    def test_weights_that_are_no_numbers(self):
        target = self.folder / "nan"
        self.assertEqual(run("convert", MODEL, target, "--dtype", "float32").returncode, 0)
        path = target / "model.safetensors"
        with open(path, "r+b") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
            begin, end = header["model.norm.weight"]["data_offsets"]
            file.seek(8 + length + begin)
            file.write(b"\0\0\xc0\x7f" * ((end - begin) // 4))
        self.expect_one_line(run("generate", "-p", "x", "--json", "-m", target), "engine-mlx: ")

    def test_wrong_usage_is_exit_code_2(self):
        for arguments in (
            ("fly",), ("generate", "--wings"), ("generate", "-p"), ("generate", "-p", "x", "-t", "-1"), ("generate", "-p", "x", "-n", "0"),
            ("generate", "-p", "x", "--dtype", "float8"), ("serve", "--port", "70000"), ("convert",), ("generate", "-p", "x", "-t", "nan"), ("generate", "-p", "x", "--seed", "-1"),
            ("generate", "-p", "x", "--stop", ""), ("generate", "-p", "x", "--stop", "x" * 1025), ("serve", "--host", ""),
            ("info", "-m", ""), ("tokenize", "-m", "", "-p", "x"), ("generate", "-p", "x", "--seed", "99999999999999999999"),
            ("generate", "-p", "x", "--system", "\udcff"), ("generate", "-p", "x", "--stop", "\udcff"), ("generate", "-p", "\udcff"),
            ("serve", "--allow-origin", "http://a\r\nX: 1"), ("serve", "--allow-origin", ""), ("serve", "--allow-host", "a b"),
        ):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, (arguments, done.stderr))
            self.assertEqual(done.stdout, "")
            self.assertTrue(done.stderr.strip())

    def test_help_is_there_for_every_command(self):
        top = run("--help")
        self.assertEqual(top.returncode, 0)
        for command in ("generate", "chat", "serve", "tokenize", "info", "convert"):
            self.assertIn(command, top.stdout)
            done = run(command, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn("--help", done.stdout)
        self.assertRegex(run("--version").stdout, r"^engine-mlx \d+\.\d+\.\d+")


class Offline(unittest.TestCase):
    """In a network namespace with nothing but loopback, both commands work."""

    def test_generate_and_serve_work_without_a_network(self):
        unshare = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
        inner = pathlib.Path(__file__).with_name("offline.py")
        done = subprocess.run([*unshare, sys.executable, str(inner)], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("answered offline", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
