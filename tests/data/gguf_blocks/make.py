"""Writes the fixtures beside it: random matrices of GGUF blocks and their values by gguf 0.19.0 (PyPI).

NAME.blocks: [8, 64] as in a file, the rows of 2 heads of 4 interleaved as llama.cpp stores q and k.
NAME.values: the same as float32, row-major, the rows in order.
"""
import pathlib

import gguf
import numpy as np

ROWS, COLS, HEADS = 8, 64, 2
HERE = pathlib.Path(__file__).resolve().parent
random = np.random.default_rng(1)

for name in ("Q4_0", "Q4_1", "Q8_0"):
    quantization = gguf.GGMLQuantizationType[name]
    size, block_bytes = gguf.GGML_QUANT_SIZES[quantization]
    blocks = random.integers(0, 256, (ROWS, COLS // size, block_bytes), dtype=np.uint8)
    scales = random.normal(0, 0.1, (ROWS, COLS // size, 2)).astype(np.float16)
    scales[0, 0, 0] = 6e-8  # subnormal
    blocks[:, :, : 4 if name == "Q4_1" else 2] = scales.view(np.uint8)[:, :, : 4 if name == "Q4_1" else 2]
    blocks = blocks.reshape(ROWS, -1)
    values = gguf.quants.dequantize(blocks, quantization)
    # llama.cpp's converter stores rows [heads, 2, size / 2] as [heads, size / 2, 2].
    in_order = values.reshape(HEADS, ROWS // HEADS // 2, 2, COLS).swapaxes(1, 2).reshape(ROWS, COLS)
    (HERE / f"{name}.blocks").write_bytes(blocks.tobytes())
    (HERE / f"{name}.values").write_bytes(np.ascontiguousarray(in_order, dtype=np.float32).tobytes())
