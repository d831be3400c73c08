"""What the end-to-end tests share: the built program (environment variable EMLX_PROGRAM), servers and plain HTTP."""
import contextlib
import http.client
import json
import os
import re
import subprocess
import time

PROGRAM = os.environ["EMLX_PROGRAM"]
MODEL = os.environ["EMLX_DEFAULT_MODEL"]


def run(*arguments, stdin="", timeout=300, env=None):
    """Runs the program to its end; standard input is a pipe, never a terminal. "\\udcXX" in it is the byte XX."""
    return subprocess.run(
        [PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, timeout=timeout, env=env,
        encoding="utf-8", errors="surrogateescape",
    )


@contextlib.contextmanager
def server(*arguments, prefix=()):
    """Starts `serve` on a free port and yields the port; the server must end by itself on SIGTERM."""
    process = subprocess.Popen(
        [*prefix, PROGRAM, "serve", "--port", "0", *arguments], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    seen = []
    port = None
    deadline = time.time() + 120
    while port is None and time.time() < deadline:
        line = process.stderr.readline()
        if not line:
            break
        seen.append(line)
        found = re.search(r"http://[^ :]+:(\d+)", line)
        port = int(found.group(1)) if found else None
    if port is None:
        process.kill()
        raise AssertionError("the server did not come up:\n" + "".join(seen) + process.stderr.read())
    try:
        yield port
    finally:
        process.terminate()
        try:
            code = process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        finally:
            process.stderr.close()
    assert code == 0, f"the server ended with exit code {code}"


def request(port, method, path, body=None, headers=None, timeout=120):
    """One HTTP request; returns (status, parsed JSON)."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    data = json.dumps(body) if body is not None and not isinstance(body, (str, bytes)) else body
    connection.request(method, path, body=data, headers={"Content-Type": "application/json", **(headers or {})})
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, json.loads(text) if text else None


def stream(port, body, timeout=120):
    """A streamed chat completion; returns the list of chunks, having checked the framing and the final [DONE]."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    connection.request(
        "POST", "/v1/chat/completions", json.dumps({**body, "stream": True}), {"Content-Type": "application/json"}
    )
    response = connection.getresponse()
    assert response.status == 200, response.read()
    assert response.getheader("Content-Type").startswith("text/event-stream"), response.getheader("Content-Type")
    events = [event for event in response.read().decode("utf-8").split("\n\n") if event and not event.startswith(":")]
    connection.close()
    assert all(event.startswith("data: ") for event in events), events
    assert events[-1] == "data: [DONE]", events[-1]
    return [json.loads(event[len("data: ") :]) for event in events[:-1]]


def streamed_text(chunks):
    return "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"])
