"""Conversations to render, drawn from a seed."""
import json

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Weather at a place: a/b <i>&'\"你",
            "parameters": {
                "type": "object",
                "properties": {
                    "place": {"type": "string", "default": "Köln"},
                    "days": {"type": "integer", "maximum": 1e3, "minimum": -0.0, "default": 1.0},
                    "id": {"type": "integer", "maximum": 18446744073709551615},
                },
                "required": ["place"],
            },
        },
    },
    {"type": "function", "function": {"name": "now", "parameters": {}}},
]

TEXTS = [
    "", " ", "hi", "Hello, Wörld!\n", "  two\n\nlines  ", "你好 👩‍🚀 \u2028", "<|im_end|>", "a\\nb 'q' \"d\"",
    "<tool_response>\nx\n</tool_response>", "<tool_response>x", "{{ messages }} {% if %}", "\n\n", "</think>", "\t\x0b\xa0",
]
THOUGHTS = ["<think>\nabc\n</think>\n\n", "<think></think>", "</think>\n\n\n", "<think>\n\n</think>\n\n", "<think>a</think>b</think>"]
ARGUMENTS = [{}, {"x": 1}, {"place": "Köln\n", "days": 2.0}, {"a": [None, True, {"b": "é<>&'\""}], "z": 1e22}]


def content(random, text):
    """Text as a string, or as the parts an OpenAI client may send."""
    if random.random() < 0.7:
        return text
    cut = random.randint(0, len(text))
    return [{"type": "text", "text": part} for part in (text[:cut], text[cut:])]


def tool_call(random):
    arguments = random.choice(ARGUMENTS)
    if random.random() < 0.7:
        arguments = json.dumps(arguments, ensure_ascii=random.random() < 0.5)
    return {
        "id": f"call_{random.randint(0, 9)}",
        "type": "function",
        "function": {"name": random.choice(["get_weather", "now"]), "arguments": arguments},
    }


def assistant(random):
    message = {"role": "assistant"}
    text = random.choice(TEXTS)
    if random.random() < 0.4:
        text = random.choice(THOUGHTS) + text
    if random.random() < 0.4:
        message["tool_calls"] = [tool_call(random) for _ in range(random.randint(1, 3))]
        text = random.choice([text, None, ""])
    if random.random() < 0.2:
        message[random.choice(["reasoning_content", "reasoning", "thinking"])] = random.choice([None, "", "\nbecause\n"])
    if text is not None or random.random() < 0.5:
        message["content"] = text if text is None else content(random, text)
    if random.random() < 0.1:
        message["refusal"] = None
    return message


def conversation(random):
    messages = []
    if random.random() < 0.5:
        messages.append({"role": "system", "content": content(random, random.choice(TEXTS))})
    for _ in range(random.randint(1, 8)):
        kind = random.random()
        if kind < 0.4:
            messages.append({"role": "user", "content": content(random, random.choice(TEXTS))})
        elif kind < 0.75:
            messages.append(assistant(random))
        elif kind < 0.95:
            messages.append({"role": "tool", "tool_call_id": "call_1", "content": content(random, random.choice(TEXTS))})
        else:
            messages.append({"role": "system", "content": random.choice(TEXTS)})
    template_kwargs = {}
    if random.random() < 0.6:
        template_kwargs["enable_thinking"] = random.random() < 0.5
    return {
        "messages": messages,
        "options": {
            "add_generation_prompt": random.random() < 0.7,
            "tools": TOOLS[: random.randint(0, 2)],
            "template_kwargs": template_kwargs,
        },
        "tokenizer_config": {"bos_token": random.choice([None, "<s>"]), "eos_token": random.choice([None, "<|im_end|>"])},
    }


def special_tokens():
    """Requests whose template prints the special tokens that it is given."""
    names = ["bos", "eos", "unk", "sep", "pad", "cls", "mask", "additional_special", "image", "add_bos"]
    template = "|".join(f"{{{{ {name}_token }}}} {{{{ {name}_token is defined }}}}" for name in names)
    added = {"__type": "AddedToken", "content": "<é>", "lstrip": True, "normalized": False, "rstrip": False, "single_word": False}
    configs = [{}, {"pad_token": "", "additional_special_tokens": ["<a>"], "image_token": "<i>", "add_bos_token": True}]
    for value in ("<x>", added, None):
        configs.append({f"{name}_token": value for name in names[:7]})
        configs += [{f"{name}_token": value} for name in names[:7]]
    options = {"add_generation_prompt": False, "tools": [], "template_kwargs": {}}
    messages = [{"role": "user", "content": ""}]
    return [{"template": template, "messages": messages, "options": options, "tokenizer_config": config} for config in configs]
