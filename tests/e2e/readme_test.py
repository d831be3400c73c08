#!/usr/bin/env python3
"""Runs README.md's examples as a reader would. A code block marked `<!-- run: program -->` is a list of commands; one marked
`<!-- run: serve -->` runs against a server. ./run is the built program here, and 8080 the server's port."""
import os
import pathlib
import re
import subprocess
import unittest

from program import PROGRAM, server

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
BLOCK = re.compile(r"<!-- run: (\w+) -->\n```(\w+)\n(.*?)```", re.S)


def run_block(language, text):
    command = ["bash", "-euo", "pipefail", "-c", text] if language == "bash" else [os.environ["EMLX_ORACLE_PYTHON"], "-c", text]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


class Readme(unittest.TestCase):
    def setUp(self):
        blocks = BLOCK.findall(README.read_text(encoding="utf-8"))
        self.program = [(language, text) for kind, language, text in blocks if kind == "program"]
        self.serve = [(language, text) for kind, language, text in blocks if kind == "serve"]

    def test_commands_work(self):
        self.assertGreaterEqual(len(self.program), 1)
        for language, text in self.program:
            done = run_block(language, text.replace("./run", PROGRAM))
            self.assertEqual(done.returncode, 0, text + done.stdout + done.stderr)

    def test_api_calls_name_paris(self):
        self.assertGreaterEqual(len(self.serve), 3)
        with server() as port:
            for language, text in self.serve:
                done = run_block(language, text.replace("8080", str(port)))
                self.assertEqual(done.returncode, 0, text + done.stderr)
                self.assertIn("Paris", done.stdout, text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
