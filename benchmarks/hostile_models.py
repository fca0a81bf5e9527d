"""Files of language models for `hostile.py`: GGUF, safetensors, configurations, tokenizers."""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hostile_inputs import Area, Damage, Random, bytes_changed, json_changed

LAYERS, HIDDEN, INNER, WORDS, HEADS = 1, 32, 48, 24, 2


def read_model(path: Path) -> object:
    """The configuration, and every weight in the form that a model of 8 bits has."""
    from tvm.relax.frontend.nn.llm.models.storage import make_storage
    from tvm.serve.model import open_model, read_weights

    config, checkpoint = open_model(path)
    return read_weights(config, checkpoint, make_storage("int8"))


def head_changed(size: int) -> Damage:
    """Bytes changed before a place, behind which numbers are that may be any."""

    def damage(content: bytes, random: Random) -> bytes:
        return bytes_changed(content[:size], random) + content[size:]

    return damage


def numbers_changed(size: int) -> Damage:
    """One to three numbers of 1, 2, 4 or 8 bytes before a place set to others: nothing moves."""

    def damage(content: bytes, random: Random) -> bytes:
        changed = bytearray(content)
        for _ in range(int(random.integers(1, 4))):
            width = 1 << int(random.integers(0, 4))
            at = int(random.integers(0, size - width))
            limit = 1 << (8 * width - 1)
            new = int(random.choice([0, 1, 2, 3, 7, 32, 255, limit - 1, limit]))
            changed[at : at + width] = (new % (2 * limit)).to_bytes(width, "little")
        return bytes(changed)

    return damage


def _arrays() -> dict[str, Any]:
    random = np.random.default_rng(0)
    layer = "model.layers.0."
    shapes = {
        "model.embed_tokens": (WORDS, HIDDEN), "model.norm": (HIDDEN,), "lm_head": (WORDS, HIDDEN),
        layer + "input_layernorm": (HIDDEN,), layer + "post_attention_layernorm": (HIDDEN,),
        **{layer + f"self_attn.{x}_proj": (HIDDEN, HIDDEN) for x in "qkvo"},
        layer + "mlp.gate_proj": (INNER, HIDDEN), layer + "mlp.up_proj": (INNER, HIDDEN),
        layer + "mlp.down_proj": (HIDDEN, INNER),
    }  # fmt: skip
    return {f"{n}.weight": random.standard_normal(s).astype("float32") for n, s in shapes.items()}


CONFIG: dict[str, Any] = {
    "model_type": "llama", "vocab_size": WORDS, "hidden_size": HIDDEN, "intermediate_size": INNER,
    "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": HEADS,
    "max_position_embeddings": 64, "eos_token_id": [2], "rms_norm_eps": 1e-5,
    "rope_theta": 500.0, "rope_scaling": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 64},
}  # fmt: skip
_OF_GGUF = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "model.layers.0.input_layernorm": "blk.0.attn_norm",
    "model.layers.0.post_attention_layernorm": "blk.0.ffn_norm",
    **{f"model.layers.0.self_attn.{x}_proj": f"blk.0.attn_{x}" for x in "qkv"},
    "model.layers.0.self_attn.o_proj": "blk.0.attn_output",
    **{f"model.layers.0.mlp.{x}_proj": f"blk.0.ffn_{x}" for x in ("gate", "up", "down")},
}  # fmt: skip


def gguf_files() -> Area:
    """A whole model in one file: the entries and the table of arrays are changed, not numbers."""
    import gguf

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"
        writer = gguf.GGUFWriter(str(path), "llama")
        for entry, value in (("block_count", LAYERS), ("context_length", 64),
                             ("embedding_length", HIDDEN), ("feed_forward_length", INNER),
                             ("head_count", HEADS), ("head_count_kv", HEADS),
                             ("layer_norm_rms_eps", 1e-5), ("eos_token_id", 2)):  # fmt: skip
            getattr(writer, f"add_{entry}")(value)
        for name, values in _arrays().items():
            own = _OF_GGUF[name.removesuffix(".weight")] + ".weight"
            if values.ndim == 2 and "_q" in own:
                kind = gguf.GGMLQuantizationType.Q8_0
                writer.add_tensor(own, gguf.quants.quantize(values, kind), raw_dtype=kind)
            else:
                writer.add_tensor(own, values)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        start = int(gguf.GGUFReader(str(path)).data_offset)
        whole = path.read_bytes()

    def read(content: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "m.gguf").write_bytes(content)
            return read_model(Path(folder) / "m.gguf")

    numbers = numbers_changed(start)
    return Area([whole], read, (numbers, numbers, head_changed(start)))


def _in_a_folder(name: str) -> Callable[[bytes], object]:
    """A reader of a model's folder in which one file is the given one."""
    from safetensors.numpy import save

    files = {"model.safetensors": save(_arrays()), "config.json": json.dumps(CONFIG).encode()}

    def read(content: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            for file, whole in {**files, name: content}.items():
                (Path(folder) / file).write_bytes(whole)
            return read_model(Path(folder))

    return read


def safetensors_files() -> Area:
    """The weights of a model's folder: JSON ahead, numbers behind."""
    from safetensors.numpy import save

    whole = save(_arrays())
    (length,) = struct.unpack("<Q", whole[:8])

    def table_changed(content: bytes, random: Random) -> bytes:
        table = json_changed(content[8 : 8 + length], random)
        return struct.pack("<Q", len(table)) + table + content[8 + length :]

    read = _in_a_folder("model.safetensors")
    return Area([whole], read, (table_changed, head_changed(8 + length)))


def configurations() -> Area:
    """`config.json` of families of models, beside the weights of one."""
    others: tuple[dict[str, Any], ...] = (
        {"model_type": "mistral", "sliding_window": 16, "rope_scaling": None},
        {"head_dim": 16, "rope_scaling": {
            "type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}},
        {"tie_word_embeddings": True, "rope_scaling": {"rope_type": "linear", "factor": 2.0}},
        {"rope_scaling": {"rope_type": "longrope", "short_factor": [1.0] * 8,
                          "long_factor": [2.0] * 8}, "original_max_position_embeddings": 32},
    )  # fmt: skip
    corpus = [json.dumps({**CONFIG, **other}).encode() for other in ({}, *others)]
    return Area(corpus, _in_a_folder("config.json"), (json_changed, bytes_changed))
