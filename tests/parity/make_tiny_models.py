"""Tiny random Qwen3 and Llama models, built and saved by mlx_lm's own classes.

Each is a directory with config.json, model.safetensors and a byte-level tokenizer.json whose
vocabulary is as large as the model's.
"""

import dataclasses
import json
from pathlib import Path
from typing import Optional

import mlx.core as mx
from mlx.utils import tree_map_with_path
from mlx_lm.utils import _get_classes, quantize_model, save_config, save_model

# Factors that float32 cannot hold: where they are rounded decides bits.
LLAMA3 = {"rope_type": "llama3", "factor": 6.7, "low_freq_factor": 1.1,
          "high_freq_factor": 3.9, "original_max_position_embeddings": 512}
LINEAR = {"rope_type": "linear", "factor": 3.0}


@dataclasses.dataclass(frozen=True)
class TinyModel:
    name: str
    family: str
    dtype: str
    heads: int
    kv_heads: int
    head_dim: int
    hidden: int = 128
    intermediate: int = 256
    vocab: int = 512
    tied: bool = True
    bits: Optional[int] = None  # None: dense
    group: int = 64
    mixed: bool = False  # other bits and groups in some layers, the head dense
    bias: bool = False  # attention and MLP biases (llama)
    twins: bool = False  # the head's second half repeats its first: every best logit is there twice
    rope: Optional[dict] = None  # rope_scaling
    theta: float = 10000.0


MODELS = [
    TinyModel("qwen3-f32-q4g64", "qwen3", "float32", 4, 2, 32, bits=4, theta=1000000.0),
    TinyModel("qwen3-f32-mixed", "qwen3", "float32", 8, 1, 64, bits=4, group=32, mixed=True,
              tied=False, vocab=640),
    TinyModel("qwen3-f32-dense", "qwen3", "float32", 6, 2, 128, hidden=192),
    TinyModel("qwen3-bf16-q4g64", "qwen3", "bfloat16", 4, 2, 32, bits=4, theta=1000000.0),
    TinyModel("qwen3-bf16-dense", "qwen3", "bfloat16", 4, 4, 64, tied=False),
    TinyModel("qwen3-bf16-twins", "qwen3", "bfloat16", 4, 2, 32, tied=False, twins=True),
    TinyModel("qwen3-f16-q8g128", "qwen3", "float16", 4, 2, 32, intermediate=128, bits=8, group=128,
              tied=False),
    TinyModel("llama-f32-q8g128", "llama", "float32", 6, 2, 64, hidden=256, bits=8, group=128,
              tied=False, rope=LLAMA3, theta=500000.0),
    TinyModel("llama-f32-q4-bias", "llama", "float32", 4, 4, 32, bits=4, group=32, bias=True,
              rope=LINEAR),
    TinyModel("llama-f32-bias", "llama", "float32", 4, 2, 64, bias=True, tied=False, vocab=1000),
    TinyModel("llama-bf16-mixed", "llama", "bfloat16", 4, 2, 32, bits=8, group=64, mixed=True,
              tied=False, rope=LLAMA3, theta=500000.0),
    TinyModel("llama-bf16-bias", "llama", "bfloat16", 2, 2, 128, bias=True, rope=LINEAR),
    TinyModel("llama-f16-q4-bias", "llama", "float16", 2, 1, 32, hidden=64, intermediate=128,
              bits=4, group=32, bias=True, rope=LLAMA3, theta=500000.0),
    TinyModel("llama-f16-dense", "llama", "float16", 2, 1, 32, hidden=64, intermediate=128,
              tied=False),
]


def _config(tiny: TinyModel) -> dict:
    config = {
        "model_type": tiny.family,
        "architectures": ["Qwen3ForCausalLM" if tiny.family == "qwen3" else "LlamaForCausalLM"],
        "hidden_size": tiny.hidden,
        "num_hidden_layers": 2,
        "intermediate_size": tiny.intermediate,
        "num_attention_heads": tiny.heads,
        "num_key_value_heads": tiny.kv_heads,
        "head_dim": tiny.head_dim,
        "rms_norm_eps": 1e-6,
        "vocab_size": tiny.vocab,
        "max_position_embeddings": 8192,
        "tie_word_embeddings": tiny.tied,
        "rope_theta": tiny.theta,
        "hidden_act": "silu",
        "torch_dtype": tiny.dtype,
        "eos_token_id": tiny.vocab - 1,
    }
    if tiny.family == "llama":
        config["attention_bias"] = config["mlp_bias"] = tiny.bias
    if tiny.rope:
        config["rope_scaling"] = tiny.rope
    return config


def _mixed(path: str, module) -> object:
    if not hasattr(module, "to_quantized") or path == "lm_head":
        return False
    if "down_proj" in path or "embed_tokens" in path:
        return {"group_size": 64, "bits": 8}
    if path.endswith("layers.1.self_attn.q_proj"):
        return {"group_size": 128, "bits": 4}
    return True


def _byte_characters() -> list:
    """GPT-2's printable stand-ins for the 256 bytes."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(256, 512))
    return [chr(b if b in printable else next(others)) for b in range(256)]


def _tokenizer(vocab: int) -> dict:
    tokens = _byte_characters()
    tokens += [f"token{i}" for i in range(256, vocab - 1)]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                  "use_regex": True}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": vocab - 1, "content": "<|end|>", "single_word": False,
                          "lstrip": False, "rstrip": False, "normalized": False, "special": True}],
        "normalizer": None, "pre_tokenizer": byte_level, "post_processor": None,
        "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False,
                  "vocab": {token: i for i, token in enumerate(tokens)}, "merges": []},
    }


def make(tiny: TinyModel, directory: Path) -> Path:
    """Writes the model below `directory` and returns its folder."""
    config = _config(tiny)
    model_class, args_class = _get_classes(config)
    mx.random.seed(sum(tiny.name.encode()))
    model = model_class(args_class.from_dict(config))
    dtype = getattr(mx, tiny.dtype)

    def randomized(path: str, value: mx.array) -> mx.array:
        if "norm" in path:  # ones would hide a norm with the wrong weight
            value = mx.random.uniform(0.5, 1.5, value.shape)
        return value.astype(dtype)

    model.update(tree_map_with_path(randomized, model.parameters()))
    if tiny.twins:
        half = model.lm_head.weight[:tiny.vocab // 2]
        model.lm_head.weight = mx.concatenate([half, half])
    if tiny.bits:
        model, config = quantize_model(model, config, tiny.group, tiny.bits,
                                       quant_predicate=_mixed if tiny.mixed else None)
    folder = directory / tiny.name
    save_model(folder, model)
    save_config(config, folder / "config.json")
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer(tiny.vocab), ensure_ascii=False))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>"}))
    return folder
