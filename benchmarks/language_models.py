"""A Llama form with random weights: reading a prompt, and token by token, by storage of weights.

    python -m benchmarks.language_models [--size 160m|1b] [--peer]

Columns: seconds to compile and load; tokens/s of a prompt of 128 tokens and of decoding behind it;
bytes of weights read per second while decoding; tokens/s of 16 requests at once; with --peer,
transformers on the same weights (f32 and bf16, with its cache), one thread each.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TVM_NUM_THREADS", "1")

import numpy as np

from tvm.relax.frontend.nn.llm.models.config import config_of
from tvm.relax.frontend.nn.llm.models.decoder import DecoderLM
from tvm.relax.frontend.nn.llm.models.storage import STORAGES, make_storage
from tvm.runtime import tensor
from tvm.serve.model import LanguageModel

SIZES: dict[str, dict[str, Any]] = {
    "160m": {"vocab_size": 32000, "hidden_size": 768, "intermediate_size": 3072,
             "num_hidden_layers": 12, "num_attention_heads": 12, "num_key_value_heads": 12},
    "1b": {"vocab_size": 32000, "hidden_size": 2048, "intermediate_size": 5632,
           "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4},
}  # fmt: skip


def made(given: dict[str, Any], storage: str) -> tuple[LanguageModel, int]:
    """The model, and the bytes of its weights."""
    config, form = config_of({**given, "model_type": "llama"}), make_storage(storage)
    rng, weights, size = np.random.default_rng(0), {}, 0
    for name, parameter in DecoderLM(config).named_parameters():
        values = rng.standard_normal(parameter.shape, "float32") * np.float32(0.02)
        for part, array in form.stored(name, values).items():
            weights[part] = tensor(array)
            size += 0 if "embed_tokens" in part else array.nbytes
    return LanguageModel(config, weights, storage=form, max_sequences=18, capacity=4096), size


def best(run: Callable[[], Any], rounds: int) -> float:
    """The shortest time in seconds."""
    found = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        found = min(found, time.perf_counter() - start)
    return found


def measured(model: LanguageModel, tokens: list[int]) -> tuple[float, float, float]:
    """Tokens a second: of a prompt, decoding, decoding of 16 at once."""

    def prompt() -> None:
        model.add(0)
        model.forward({0: tokens})
        model.remove(0)

    first = len(tokens) / best(prompt, 5)
    for name in range(16):
        model.add(name)
        model.forward({name: tokens[:32]})
    one = 1 / best(lambda: model.forward({0: [5]}), 40)
    many = 16 / best(lambda: model.forward({name: [5] for name in range(16)}), 10)
    for name in range(16):
        model.remove(name)
    return first, one, many


def peer(given: dict[str, Any], tokens: list[int], dtype: str) -> None:
    """The same by transformers."""
    import torch
    import transformers

    torch.set_num_threads(1)
    config = transformers.LlamaConfig(**given)
    model = transformers.LlamaForCausalLM(config).to(getattr(torch, dtype)).eval()
    ids, one = torch.tensor([tokens]), torch.tensor([[5]])
    with torch.no_grad():
        first = len(tokens) / best(lambda: model(ids, logits_to_keep=1), 3)
        cache = model(ids[:, :32], use_cache=True).past_key_values
        step = 1 / best(lambda: model(one, past_key_values=cache, use_cache=True), 20)
    print(f"| transformers, {dtype} | - | {first:.0f} | {step:.1f} | - | - |", flush=True)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="160m")
    parser.add_argument("--storage", nargs="*", choices=STORAGES, default=list(STORAGES))
    parser.add_argument("--peer", action="store_true")
    args = parser.parse_args()
    tokens = np.random.default_rng(1).integers(3, 32000, 128).tolist()
    print("| weights | open, s | prompt, tokens/s | decode, tokens/s | GB/s | 16 at once |")
    print("|---|---|---|---|---|---|")
    for storage in args.storage:
        start = time.perf_counter()
        model, size = made(SIZES[args.size], storage)
        took = time.perf_counter() - start
        first, one, many = measured(model, tokens)
        print(
            f"| {storage} | {took:.1f} | {first:.0f} | {one:.1f} | {size * one / 1e9:.1f} "
            f"| {many:.1f} |", flush=True,
        )  # fmt: skip
        del model
    if args.peer:
        for dtype in ("float32", "bfloat16"):
            peer(SIZES[args.size], tokens, dtype)


if __name__ == "__main__":
    main()
