#!/usr/bin/env python3
"""`serve` with the default model, over loopback: the endpoints, streaming, errors, cancellation, clients."""
import json
import os
import re
import socket
import subprocess
import sys
import time
import unittest

from program import PROGRAM, request, run, server, stream, streamed_text

QUESTION = {"messages": [{"role": "user", "content": "What is the capital of France?"}]}
LONG = {"messages": [{"role": "user", "content": "Count to one thousand."}], "max_tokens": 1000}


class Flags(unittest.TestCase):
    def test_sampling_flags_are_for_what_a_request_leaves_out(self):
        line = "Say hi"
        sampled = run("generate", "--system", "x", "-p", line, "-n", 3, "-t", 2, "--seed", 7).stdout
        body = {"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": line}], "max_tokens": 3, "seed": 7}
        with server("-t", "2") as port:
            def text(**fields):
                return request(port, "POST", "/v1/chat/completions", {**body, **fields})[1]["choices"][0]["message"]["content"]

            self.assertEqual(text() + "\n", sampled)
            self.assertNotEqual(text(temperature=0) + "\n", sampled)


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.context = server()
        cls.port = cls.context.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def test_health_and_models(self):
        status, health = request(self.port, "GET", "/health")
        self.assertEqual((status, health["status"]), (200, "ok"))
        status, models = request(self.port, "GET", "/v1/models")
        self.assertEqual(status, 200)
        self.assertEqual([m["id"] for m in models["data"]], ["SmolLM2-135M-Instruct.Q4_1"])

    def test_answer_whole_and_streamed_are_equal(self):
        status, whole = request(self.port, "POST", "/v1/chat/completions", QUESTION)
        self.assertEqual(status, 200, whole)
        choice = whole["choices"][0]
        self.assertEqual(choice["message"], {"role": "assistant", "content": "The capital of France is Paris."})
        self.assertEqual(choice["finish_reason"], "stop")
        self.assertEqual(whole["usage"]["total_tokens"], whole["usage"]["prompt_tokens"] + whole["usage"]["completion_tokens"])
        chunks = stream(self.port, {**QUESTION, "stream_options": {"include_usage": True}})
        self.assertEqual(streamed_text(chunks), choice["message"]["content"])
        self.assertEqual(chunks[0]["choices"][0]["delta"]["role"], "assistant")
        self.assertEqual(chunks[-1]["usage"], whole["usage"])

    def test_errors_are_openai_objects(self):
        for method, path, body, expected in (
            ("GET", "/nowhere", None, 404),
            ("DELETE", "/v1/models", None, 405),
            ("POST", "/v1/chat/completions", "{", 400),
            ("POST", "/v1/chat/completions", {}, 400),
            ("POST", "/v1/chat/completions", {**QUESTION, "temperature": "hot"}, 400),
            ("POST", "/v1/chat/completions", {**QUESTION, "max_tokens": 0}, 400),
            ("POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": "word " * 9000}]}, 400),
        ):
            status, answer = request(self.port, method, path, body)
            self.assertEqual(status, expected, answer)
            self.assertEqual(set(answer["error"]), {"message", "type", "param", "code"})
            self.assertNotIn("/models/", json.dumps(answer))

    def wait_until_idle(self):
        deadline = time.time() + 10
        while time.time() < deadline:
            health = request(self.port, "GET", "/health")[1]
            if health["active"] == 0 and health["queued"] == 0:
                return
            time.sleep(0.1)
        self.fail("still busy after its client left")

    def test_a_client_that_leaves_frees_the_engine(self):
        for streaming in (True, False):
            body = json.dumps({**LONG, "stream": streaming}).encode()
            with socket.create_connection(("127.0.0.1", self.port)) as client:
                client.sendall(
                    b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                    % (len(body), body)
                )
                deadline = time.time() + 20
                while request(self.port, "GET", "/health")[1]["active"] == 0 and time.time() < deadline:
                    time.sleep(0.05)
                self.assertEqual(request(self.port, "GET", "/health")[1]["active"], 1)
            self.wait_until_idle()

    def test_a_server_outlives_the_reader_of_its_log(self):
        process = subprocess.Popen([PROGRAM, "serve", "--port", "0"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        while "listening" not in process.stderr.readline():
            pass
        process.stderr.close()
        process.terminate()  # upon which it logs that it stops
        self.assertEqual(process.wait(timeout=20), 0)

    def test_serving_the_network_is_said_and_names_are_let_in(self):
        for arguments, warned in ((["--allow-host", "llm.example"], False), (["--host", "0.0.0.0"], True)):
            process = subprocess.Popen([PROGRAM, "serve", "--port", "0", *arguments], stderr=subprocess.PIPE, text=True)
            self.addCleanup(process.kill)
            process.stderr.readline()
            port = int(re.search(r":(\d+) ", process.stderr.readline()).group(1))
            self.assertEqual(request(port, "GET", "/health", headers={"Host": "llm.example"})[0], 200)
            self.assertEqual(request(port, "GET", "/health", headers={"Host": "page.example"})[0], 200 if warned else 403)
            process.terminate()
            with process.stderr:  # not communicate(): a line may be in the reader's buffer already
                self.assertEqual("whoever can reach this machine" in process.stderr.read(), warned)
            self.assertEqual(process.wait(timeout=20), 0)

    def test_the_official_openai_client_works(self):
        script = os.path.join(os.path.dirname(__file__), "openai_clients.py")
        done = subprocess.run(
            [os.environ["EMLX_ORACLE_PYTHON"], script, f"http://127.0.0.1:{self.port}"],
            capture_output=True, text=True, timeout=300,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
