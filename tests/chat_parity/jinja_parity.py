#!/usr/bin/env python3
"""Renders templates with transformers' own environment and with our program, and compares.

usage: jinja_parity.py PROGRAM DATA_DIR REFERENCE_DIR
       jinja_parity.py --write DATA_DIR
PROGRAM: chat_render_lines. DATA_DIR: tests/data/chat. REFERENCE_DIR: holds qwen3/tokenizer_config.json.
--write: writes DATA_DIR/snippets_expected.json, with which the unit tests do without Python.
"""
import collections
import copy
import functools
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

import conversations
import random_templates
import snippets

try:
    import jinja2
    import mlx_lm.server
    import tokenizers
    import transformers
    from transformers.utils import chat_template_utils
except ImportError as error:
    sys.exit(f"expected jinja2, mlx_lm, tokenizers and transformers in {sys.executable}, got: {error}")

CONVERSATIONS = 300  # for each real template
RANDOM_TEMPLATES = 2000


@functools.cache
def tokenizer_of(config):
    """transformers' tokenizer with this tokenizer_config.json, and no vocabulary."""
    with tempfile.TemporaryDirectory() as folder:
        tokenizers.Tokenizer(tokenizers.models.BPE()).save(str(pathlib.Path(folder, "tokenizer.json")))
        pathlib.Path(folder, "tokenizer_config.json").write_text(config)
        return transformers.PreTrainedTokenizerFast.from_pretrained(folder)


def reference(request):
    """What transformers makes of a request: {"text"} or {"error"}."""
    request = copy.deepcopy(request)
    try:
        if "variables" in request:
            compiled = chat_template_utils._compile_jinja_template(request["template"])
            return {"text": compiled.render(**request["variables"])}
        messages = request["messages"]
        mlx_lm.server.process_message_content(messages)
        special_tokens = tokenizer_of(json.dumps(request["tokenizer_config"])).special_tokens_map
        rendered, _ = chat_template_utils.render_jinja_template(
            conversations=[chat_template_utils._normalize_chat_messages(messages)],
            tools=request["options"]["tools"] or None,
            chat_template=request["template"],
            add_generation_prompt=request["options"]["add_generation_prompt"],
            **special_tokens,
            **request["options"]["template_kwargs"],
        )
        return {"text": rendered[0]}
    except Exception as error:  # whatever Python raises, the template has failed
        return {"error": str(error)}


class Checker:
    def __init__(self, program):
        self.program = program
        self.failures = 0

    def ours(self, requests):
        lines = "".join(json.dumps(request) + "\n" for request in requests)
        result = subprocess.run([self.program], input=lines.encode(), capture_output=True, check=False)
        replies = [json.loads(line) for line in result.stdout.decode().split("\n") if line]
        if result.returncode != 0 or len(replies) != len(requests):
            at = min(len(replies), len(requests) - 1)
            sys.exit(f"{self.program} ended with {result.returncode} at {requests[at]}\n{result.stderr.decode()}")
        return replies

    def compare(self, title, requests, agree):
        """`agree(theirs, ours)` says whether a pair of results is as wanted. Counts what ours are."""
        failed = 0
        outcomes = collections.Counter()
        for request, ours in zip(requests, self.ours(requests)):
            theirs = reference(request)
            outcomes["text" if same_text(theirs, ours) else ours.get("code", "another text")] += 1
            if agree(theirs, ours):
                continue
            failed += 1
            if self.failures + failed <= 20:
                print(f"{title}: {json.dumps(request, ensure_ascii=False)}\n  expected {theirs}\n  got      {ours}")
        self.failures += failed
        print(f"{title}: {len(requests) - failed} of {len(requests)} agree")
        return outcomes


def same_text(theirs, ours):
    return "text" in theirs and theirs["text"] == ours.get("text")


def both_fail(theirs, ours):
    return "error" in theirs and "error" in ours


def same_message(theirs, ours):
    return "error" in theirs and theirs["error"] == ours.get("error")


def refused(theirs, ours):
    return ours.get("code") == "unsupported"


def same_or_refused(theirs, ours):
    """For random templates, where Python's integers may outgrow ours and its objects print their address."""
    has_address = " at 0x" in theirs.get("text", "")
    ours_is_limit = "64 bit" in ours.get("error", "")
    return refused(theirs, ours) or has_address or ours_is_limit or same_text(theirs, ours) or both_fail(theirs, ours)


def of(templates, variables=snippets.VARIABLES):
    return [{"template": template, "variables": variables} for template in templates]


def snippets_expected():
    """The snippets with what the reference makes of them, as text."""
    lines = [f'"variables": {json.dumps(snippets.VARIABLES, ensure_ascii=False)}']
    for name in ("RENDERED", "RAISED", "SYNTAX_ERRORS", "RENDER_ERRORS", "UNSUPPORTED", "UNSUPPORTED_RENDER"):
        cases = []
        for request in of(getattr(snippets, name)):
            result = reference(request)
            has_result = name in ("RENDERED", "RAISED")
            case = [request["template"], result["text" if name == "RENDERED" else "error"]] if has_result else request["template"]
            cases.append(json.dumps(case, ensure_ascii=False))
        lines.append(f'"{name.lower()}": [\n' + ",\n".join(cases) + "\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main():
    warnings.simplefilter("ignore")
    if sys.argv[1] == "--write":
        pathlib.Path(sys.argv[2], "snippets_expected.json").write_text(snippets_expected())
        return
    program, data, references = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    qwen3 = references / "qwen3" / "tokenizer_config.json"
    if not qwen3.is_file():
        sys.exit(f"expected {qwen3}, got no such file: set EMLX_REFERENCE_DIR to the reference files' folder")
    real = {
        "Qwen3": json.loads(qwen3.read_text())["chat_template"],
        "SmolLM2": (data / "smollm2.jinja").read_text(),
    }
    if real["Qwen3"] != (data / "qwen3.jinja").read_text():
        sys.exit(f"expected {data / 'qwen3.jinja'} to be the template of {qwen3}")

    if (data / "snippets_expected.json").read_text() != snippets_expected():
        sys.exit(f"expected {data / 'snippets_expected.json'} to be what --write writes, got another text")

    checker = Checker(program)
    cases = json.loads((data / "jinja_expected.json").read_text())
    wanted = {name: case for name, case in cases.items() if isinstance(case["expected"], str)}
    checker.compare("cases", of([case["template"] for case in wanted.values()], {"messages": snippets.MESSAGES}), same_text)
    for case, request in zip(wanted.values(), of([case["template"] for case in wanted.values()], {"messages": snippets.MESSAGES})):
        if "strftime" not in case["template"] and reference(request) != {"text": case["expected"]}:
            sys.exit(f"expected the reference itself to give {case['expected']!r}, got {reference(request)}")
    checker.compare("snippets", of(snippets.RENDERED), same_text)
    checker.compare("syntax errors", of(snippets.SYNTAX_ERRORS), both_fail)
    checker.compare("rendering errors", of(snippets.RENDER_ERRORS), both_fail)
    checker.compare("raise_exception", of(snippets.RAISED), same_message)
    checker.compare("unsupported", of(snippets.UNSUPPORTED + snippets.UNSUPPORTED_RENDER), refused)
    checker.compare("special tokens", conversations.special_tokens(), same_text)
    for name, template in real.items():
        source = random.Random(name)
        requests = [{"template": template, **conversations.conversation(source)} for _ in range(CONVERSATIONS)]
        checker.compare(name, requests, same_text)
    source = random_templates.Source(random.Random("templates"))
    outcomes = checker.compare("random templates", of([source.template() for _ in range(RANDOM_TEMPLATES)]), same_or_refused)
    if outcomes["text"] < RANDOM_TEMPLATES // 4 or outcomes["unsupported"] > RANDOM_TEMPLATES // 20:
        sys.exit(f"expected a quarter of the random templates to give equal texts and at most 5 % to be refused, got {outcomes}")
    if checker.failures:
        sys.exit(f"{checker.failures} templates differ")


main()
