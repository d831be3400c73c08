#!/usr/bin/env python3
"""Compares ids, texts, pieces and normalization with HF tokenizers, over files, random texts and all of Unicode."""
import argparse
import itertools
import json
import pathlib
import random
import subprocess
import sys

import tokenizers
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

TESTED_VERSION = "0.23.3"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
         r"|\s+(?!\S)|\s+")
LLAMA3 = QWEN2.replace(r"\p{N}|", r"\p{N}{1,3}|")
EVERY_CHARACTER = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CHUNK = 50_000


class Cli:
    """Our side, behind tokenize_cli."""

    def __init__(self, program, kind, path):
        self.process = subprocess.Popen([program, kind, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, op, **arguments):
        self.process.stdin.write(json.dumps({"op": op, **arguments}).encode() + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"tokenize_cli ended while answering {op}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Comparison:
    """Counts what was compared; names the first differences."""

    def __init__(self):
        self.compared = self.different = 0

    def check(self, what, inputs, ours, theirs):
        assert len(inputs) == len(ours) == len(theirs), what
        before = self.different
        for item, our, their in zip(inputs, ours, theirs):
            self.compared += 1
            if our != their:
                self.different += 1
                if self.different - before <= 5:
                    print(f"{what}: {ascii(item)[:300]}\n  ours   {ascii(our)[:300]}\n  theirs {ascii(their)[:300]}")
        print(f"{what}: {len(inputs)} compared, {self.different - before} different", flush=True)


def chunks(items):
    items = iter(items)
    while chunk := list(itertools.islice(items, CHUNK)):
        yield chunk


# Random texts -------------------------------------------------------------------------------------

WORDS = ["the", "Hello", "don't", "DON'T", "we'Ll", "I'VE", "it\u2019s", "'\u017f", "x'\u017fy", "return", "self.x",
         "caf\u00e9", "cafe\u0301", "na\u00efve", "\u00c5ngstr\u00f6m", "\u212b", "\u1112\u1161\u11ab", "\ud55c\uad6d\uc5b4",
         "\u6f22\u5b57\u304b\u306a", "\u0939\u093f\u0928\u094d\u0926\u0940", "\u0915\u093c", "\u0e20\u0e32\u0e29\u0e32",
         "\u0627\u0644\u0639\u0631\u0628\u064a\u0629", "\u0661\u0662\u0663", "\u00bd\u00b2\u2460", "\U0001d7d8\U0001f101",
         "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd", "\U0001f3f3\ufe0f\u200d\U0001f308",
         "\U0001f1e9\U0001f1ea", "\u200b", "\u00ad", "\ufeff", "\x00", "\x1b[0m", "\ufffd", "\U0010ffff", "\u0378",
         "\u1e0d\u0307", "q\u0323\u0307", "q\u0307\u0323", "\u0344", "\ufb01", "1234567890", "3.14e-10", "0x7fff", "1,000",
         "->", "::", "!=", "/*", "*/", "//", "...", "=>", "(x):", "[[", "}}", "#include", "<|", "|>", "$", "\\n", "_", "'"]
SPACES = [" ", " ", " ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n", "\u00a0", "\u3000", "\u2028", "\x85", "\x0b"]


def random_text(rng, specials):
    parts = []
    for _ in range(rng.randrange(1, 14)):
        kind = rng.random()
        if kind < 0.55:
            parts.append(rng.choice(WORDS))
        elif kind < 0.85:
            parts.append(rng.choice(SPACES) * rng.choice([1, 1, 1, 2, 5]))
        elif kind < 0.92:
            parts.append(rng.choice(specials))
        elif kind < 0.96:
            parts.append("".join(chr(rng.randrange(0x20, 0x7F)) for _ in range(rng.randrange(1, 12))))
        else:
            parts.append("".join(rng.choice(EVERY_CHARACTER) for _ in range(rng.randrange(1, 5))))
    return "".join(parts)


def random_marks(rng):
    """Starters with piles of combining marks, for reordering and composition."""
    pool = "aeoAq\u00e9\u1ea5\u0928\u0915\u1100\u1161\u11a8\uac00\u1e69\u0627" + "".join(map(chr, range(0x300, 0x370)))
    pool += "\u093c\u094d\u0653\u0654\u0655\u05b4\u05bc\u3099\u309a\u304b\u302a\u0f71\u0f72\u0f74\u1dce\U0001d165\U0001d16e"
    return "".join(rng.choice(pool) for _ in range(rng.randrange(2, 9)))


# Comparisons --------------------------------------------------------------------------------------

def compare_tokenizer(name, cli, hf, comparison, fixed_texts=(), fixed_ids=(), runs=1000):
    rng = random.Random(name)
    specials = sorted(token.content for token in hf.get_added_tokens_decoder().values())
    texts = [*fixed_texts, *(random_text(rng, specials) for _ in range(runs)), *(random_marks(rng) for _ in range(runs // 4))]
    encoded = []
    for add in (False, True):
        encoded = [hf.encode(text, add_special_tokens=add).ids for text in texts]
        comparison.check(f"{name} encode, special tokens {add}", texts,
                         cli.ask("encode", texts=texts, add_special_tokens=add), encoded)
    end = hf.get_vocab_size() + 300  # past the end: rows of the embedding without a text
    ids = [*fixed_ids, *encoded]
    ids += [[rng.randrange(end) for _ in range(rng.randrange(1, 20))] for _ in range(runs)]
    single_bytes = [i for i in range(end) if len(hf.id_to_token(i) or "") == 1]
    ids += [[rng.choice(single_bytes) for _ in range(rng.randrange(1, 12))] for _ in range(runs)]
    for skip in (False, True):
        theirs = [hf.decode(one, skip_special_tokens=skip) for one in ids]
        comparison.check(f"{name} decode and stream, skip {skip}", ids,
                         cli.ask("decode", ids=ids, skip_special_tokens=skip), [[text, text] for text in theirs])


def compare_families(program, scratch, qwen3, comparison):
    """The parts of GPT-2's and Llama 3's files around Qwen3's vocabulary."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    bos = {"SpecialToken": {"id": "<|im_start|>", "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    template = {"type": "TemplateProcessing", "single": [bos, text], "pair": [bos, text],
                "special_tokens": {"<|im_start|>": {"id": "<|im_start|>", "ids": [151644], "tokens": ["<|im_start|>"]}}}
    llama3 = {"type": "Split", "pattern": {"Regex": LLAMA3}, "behavior": "Isolated", "invert": False}
    families = {
        "Llama 3": ({"normalizer": None, "post_processor": {"type": "Sequence", "processors": [byte_level, template]},
                     "pre_tokenizer": {"type": "Sequence", "pretokenizers": [llama3, byte_level]}}, {"ignore_merges": True}),
        "GPT-2": ({"normalizer": None, "post_processor": byte_level,
                   "pre_tokenizer": {**byte_level, "add_prefix_space": True, "use_regex": True}},
                  {"merges": [" ".join(pair) for pair in qwen3["model"]["merges"]]}),
    }
    for name, (parts, model) in families.items():
        path = scratch / f"{name}.json"
        path.write_text(json.dumps({**qwen3, **parts, "model": {**qwen3["model"], **model}}))
        cli = Cli(program, "tokenizer", path)
        compare_tokenizer(name, cli, Tokenizer.from_file(str(path)), comparison)
        cli.close()


def compare_converted_qwen3(program, scratch, qwen3, comparison):
    """Qwen3's vocabulary as a GGUF file carries it, against the file it came from."""
    tokens = dict((id, (text, 1)) for text, id in qwen3["model"]["vocab"].items())
    tokens |= {token["id"]: (token["content"], 3 if token["special"] else 4) for token in qwen3["added_tokens"]}
    tokens |= {id: (f"[PAD{id}]", 5) for id in range(len(tokens), 151936)}
    path = scratch / "qwen3_vocab.json"
    path.write_text(json.dumps({"model": "gpt2", "pre": "qwen2", "tokens": [tokens[i][0] for i in range(len(tokens))],
                                "types": [tokens[i][1] for i in range(len(tokens))],
                                "merges": [" ".join(pair) for pair in qwen3["model"]["merges"]]}))
    cli, hf = Cli(program, "vocab", path), Tokenizer.from_str(json.dumps(qwen3))
    compare_tokenizer("Qwen3 converted", cli, hf, comparison)
    written = json.loads(cli.ask("tokenizer_json"))
    expected = {part: qwen3[part] for part in ("normalizer", "added_tokens")}
    comparison.check("Qwen3 converted, the file", list(expected), [written[part] for part in expected], list(expected.values()))
    cli.close()


def compare_converted_smollm2(program, scratch, gguf, comparison):
    """The default model's vocabulary, against HF's reading of the file we write for it."""
    cli = Cli(program, "gguf", gguf)
    path = scratch / "smollm2.json"
    path.write_text(cli.ask("tokenizer_json"))
    compare_tokenizer("SmolLM2 converted", cli, Tokenizer.from_file(str(path)), comparison)
    fast = PreTrainedTokenizerFast(tokenizer_file=str(path), bos_token="<|im_start|>", eos_token="<|im_end|>")
    texts = ["<|im_start|>user\nWhat is 12 + 34?<|im_end|>\n<|im_start|>assistant\n", " caf\u00e9 1234"]
    comparison.check("SmolLM2 in transformers", texts, cli.ask("encode", texts=texts, add_special_tokens=True),
                     [fast(text)["input_ids"] for text in texts])
    cli.close()


def compare_normalizers(cli, comparison):
    rng = random.Random(3)
    # Marks of class 1 and 240 tell from their place which characters are marks, and of what class.
    probes = {"alone": EVERY_CHARACTER, "before a mark": [c + "\u0334" for c in EVERY_CHARACTER],
              "after a mark": ["\u0345" + c for c in EVERY_CHARACTER], "random": [random_marks(rng) for _ in range(50_000)]}
    nfc, nfd = normalizers.NFC(), normalizers.NFD()
    decomposed = [text for c in EVERY_CHARACTER if (text := nfd.normalize_str(c)) != c]
    probes["decomposed"] = decomposed
    probes["between marks"] = ["a\u0334" + c + "\u0345\u0301" for c in EVERY_CHARACTER if nfd.normalize_str("\u0345" + c)[-1] == "\u0345"]
    for name, texts in probes.items():
        ours = [text for chunk in chunks(texts) for text in cli.ask("normalize", normalizer={"type": "NFC"}, texts=chunk)]
        comparison.check(f"NFC of every character, {name}", texts, ours, [nfc.normalize_str(text) for text in texts])


def compare_pre_tokenizers(cli, comparison):
    split = {name: ({"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False},
                    pre_tokenizers.Split(Regex(regex), "isolated"))
             for name, regex in {"GPT-2": GPT2, "Qwen2": QWEN2, "Llama 3": LLAMA3, "groups": r"\p{N}{1,3}"}.items()}
    for flag in (False, True):
        split[f"Digits {flag}"] = ({"type": "Digits", "individual_digits": flag}, pre_tokenizers.Digits(flag))
    # Between a letter and a digit, or after an apostrophe, every class of characters makes other pieces. The last two
    # find letters that fold to those of a contraction.
    frames = {"GPT-2": ["a{}1", "'{}x"], "Qwen2": ["a{}1", "'{}x"]}
    letters = [c for c in EVERY_CHARACTER if c.isalpha()]
    rng = random.Random(4)
    random_texts = [random_text(rng, ["<|im_end|>"]) for _ in range(5000)]
    random_texts += ["".join(rng.choice("a1 \n\r\t'.s\u0661\u00a0\u4e00") for _ in range(rng.randrange(1, 15))) for _ in range(20_000)]
    for name, (ours_json, theirs) in split.items():
        texts = [frame.format(c) for frame in frames.get(name, ["a{}1"]) for c in EVERY_CHARACTER] + random_texts
        texts += [frame.format(c) for frame in ("'l{}x", "'{}ex") for c in letters]
        ours = [pieces for chunk in chunks(texts)
                for pieces in cli.ask("pre_tokenize", pre_tokenizer=ours_json, texts=chunk)]
        comparison.check(f"{name} pieces of every character", texts, ours,
                         [[piece for piece, _ in theirs.pre_tokenize_str(text)] for text in texts])


def small_tokenizer(added, **parts):
    """A tokenizer.json over printable ASCII and white space, one token a character."""
    vocab = {chr(c): i for i, c in enumerate(itertools.chain(range(0x20, 0x7F), [9, 10, 0xE9, 0x301, 0x3000]))}
    new_ids = itertools.count(len(vocab))
    for token in added:
        token["id"] = vocab[token["content"]] if token["content"] in vocab else next(new_ids)
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocab, "merges": []}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": {"type": "NFC"},
            "pre_tokenizer": None, "post_processor": None, "decoder": None, "model": {**model, **parts}}


def compare_added_tokens(program, scratch, comparison):
    rng = random.Random(5)
    contents = ["TOK", "TOKEN", "T", "e\u0301", "<s>", " <s>", "a b", "\u00e9x"]
    for i in range(60):
        added = [{"content": content, "special": rng.random() < 0.5,
                  **{flag: rng.random() < 0.4 for flag in ("single_word", "lstrip", "rstrip", "normalized")}}
                 for content in rng.sample(contents, 4)]
        file = small_tokenizer(added)
        path = scratch / f"added_{i}.json"
        path.write_text(json.dumps(file))
        hf, cli = Tokenizer.from_file(str(path)), Cli(program, "tokenizer", path)
        texts = ["".join(rng.choice(contents + ["x", "-", " ", "  ", "\n", "\u3000", "\u0301", "1", "_"]) for _ in range(6))
                 for _ in range(300)]
        ids = [hf.encode(text).ids for text in texts]
        comparison.check(f"added tokens {i}", texts, cli.ask("encode", texts=texts, add_special_tokens=True), ids)
        comparison.check(f"added tokens {i} decode", ids, cli.ask("decode", ids=ids, skip_special_tokens=True),
                         [[text := hf.decode(one), text] for one in ids])
        cli.close()
    # Every character beside a single-word token: \w.
    path = scratch / "single_word.json"
    path.write_text(json.dumps(small_tokenizer([{"content": "TOK", "special": False, "single_word": True, "lstrip": False,
                                                 "rstrip": False, "normalized": False}])))
    hf, cli = Tokenizer.from_file(str(path)), Cli(program, "tokenizer", path)
    for frame in ("TOK{}", "{}TOK"):
        texts = [frame.format(c) for c in EVERY_CHARACTER]
        ours = [ids for chunk in chunks(texts) for ids in cli.ask("encode", texts=chunk, add_special_tokens=False)]
        comparison.check(f"single word {frame}", texts, ours, [hf.encode(text).ids for text in texts])
    cli.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cli", required=True, help="the program tokenize_cli")
    parser.add_argument("--reference", required=True, type=pathlib.Path, help="folder with qwen3/tokenizer.json")
    parser.add_argument("--gguf", required=True, type=pathlib.Path, help="the default model, SmolLM2")
    parser.add_argument("--data", required=True, type=pathlib.Path, help="tests/data/tokenizer")
    parser.add_argument("--scratch", required=True, type=pathlib.Path, help="folder for files made on the way")
    arguments = parser.parse_args()
    if tokenizers.__version__ != TESTED_VERSION:
        sys.exit(f"expected tokenizers {TESTED_VERSION}, got {tokenizers.__version__}")
    arguments.scratch.mkdir(parents=True, exist_ok=True)
    comparison = Comparison()

    path = arguments.reference / "qwen3" / "tokenizer.json"
    for needed in (path, arguments.gguf):
        if not needed.is_file():
            sys.exit(f"expected a file at {needed}, got none")
    texts = [case["text"] for case in json.loads((arguments.data / "tok_qwen3_expected.json").read_text())]
    ids = [case["ids"] for case in json.loads((arguments.data / "detok_qwen3_expected.json").read_text())]
    cli = Cli(arguments.cli, "tokenizer", path)
    compare_tokenizer("Qwen3", cli, Tokenizer.from_file(str(path)), comparison, texts, ids, runs=4000)
    compare_normalizers(cli, comparison)
    compare_pre_tokenizers(cli, comparison)
    cli.close()
    qwen3 = json.loads(path.read_text())
    compare_families(arguments.cli, arguments.scratch, qwen3, comparison)
    compare_converted_qwen3(arguments.cli, arguments.scratch, qwen3, comparison)
    compare_converted_smollm2(arguments.cli, arguments.scratch, arguments.gguf, comparison)
    compare_added_tokens(arguments.cli, arguments.scratch, comparison)

    print(f"{comparison.compared} compared, {comparison.different} different")
    sys.exit(1 if comparison.different else 0)


main()
