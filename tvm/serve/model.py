"""A compiled language model with its weights and its cache: logits of the tokens that come next.

    model = LanguageModel.open("path/to/model")
    model.add(0)
    logits = model.forward({0: [1, 5, 9]})[0]      # after the three tokens
    logits = model.forward({0: [7]})[0]            # after one more
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvm.driver import compile as compile_module
from tvm.error import ArgumentValueError, message
from tvm.relax.frontend.nn.llm.models.checkpoint import Checkpoint
from tvm.relax.frontend.nn.llm.models.config import ModelConfig, read_config
from tvm.relax.frontend.nn.llm.models.decoder import DecoderLM
from tvm.relax.frontend.nn.llm.models.gguf import GGUF, gguf_config
from tvm.relax.frontend.nn.llm.models.grouped import Grouped, open_folder
from tvm.relax.frontend.nn.llm.models.storage import Storage, make_storage
from tvm.relax.frontend.nn.llm.models.weights import read_numbers, read_parameter
from tvm.runtime import Device, Tensor, device, tensor
from tvm.runtime.container import ShapeTuple
from tvm.runtime.vm import VirtualMachine
from tvm.runtime.vm_builtin_kv import (
    kv_state_add_sequence,
    kv_state_begin_forward,
    kv_state_end_forward,
    kv_state_fork_sequence,
    kv_state_popn,
    kv_state_remove_sequence,
)
from tvm.target import Target

Logits = NDArray[np.float32]
PAGE_SIZE = 16


class LanguageModel:
    """A decoder that runs: weights as they are stored, and a cache of `capacity` tokens in all.

    At most `max_sequences` sequences are held at once; `forward` takes at most `chunk` tokens.
    """

    def __init__(
        self, config: ModelConfig, weights: Mapping[str, Tensor], *, storage: Storage | None = None,
        target: str | Target = "llvm", max_sequences: int = 8, capacity: int | None = None,
        chunk: int = 512,
    ) -> None:  # fmt: skip
        self.config = config
        self.target = Target(target)
        self.chunk = chunk
        self.max_sequences = max_sequences
        self.capacity = capacity or min(config.context_length, 4096)
        module = decoder(config, storage)
        with self.target:
            mod, params = module.export_tvm(module.spec_of("embed", "decode", "batch_prefill"))
        self.device: Device = device(self.target.kind.name if self._on_gpu else "cpu")
        self._weights = [weights[name] for name, _ in params]
        self._vm = VirtualMachine(compile_module(mod, self.target), self.device)
        windowed = int(bool(config.windowed))
        sizes = (max_sequences, self.capacity, chunk, PAGE_SIZE, windowed)
        self._cache = self._vm["create_paged_kv_cache"](*[ShapeTuple([n]) for n in sizes])
        self._lengths: dict[int, int] = {}

    @classmethod
    def open(cls, path: str | Path, storage: str = "float32", **options: Any) -> LanguageModel:
        """A model from a folder of safetensors with its config.json, or from a GGUF file."""
        config, checkpoint = open_model(path)
        form = make_storage(storage, zeros=isinstance(checkpoint, Grouped))
        weights = read_weights(config, checkpoint, form)
        return cls(config, weights, storage=form, **options)

    @property
    def _on_gpu(self) -> bool:
        return "gpu" in self.target.keys

    # --- sequences ---

    def add(self, sequence: int) -> None:
        """A new, empty sequence."""
        kv_state_add_sequence(self._cache, sequence)
        self._lengths[sequence] = 0
        if self.config.windowed:
            self._window(sequence)

    def fork(self, parent: int, child: int, length: int) -> None:
        """A new sequence that begins as the first `length` tokens of another; pages are shared."""
        kv_state_fork_sequence(self._cache, parent, child, length)
        self._lengths[child] = length
        if self.config.windowed:
            self._window(child)

    def remove(self, sequence: int) -> None:
        """Forget a sequence."""
        kv_state_remove_sequence(self._cache, sequence)
        del self._lengths[sequence]

    def pop(self, sequence: int, count: int) -> None:
        """Forget the last tokens of a sequence."""
        kv_state_popn(self._cache, sequence, count)
        self._lengths[sequence] -= count

    def length(self, sequence: int) -> int:
        """How many tokens of a sequence are cached."""
        return self._lengths[sequence]

    @property
    def free_sequences(self) -> int:
        """How many more sequences the cache can take."""
        return self.max_sequences - len(self._lengths)

    @property
    def free_tokens(self) -> int:
        """How many more tokens the cache can take."""
        table = self._cache.table
        return int(table.available) * PAGE_SIZE

    def _window(self, sequence: int) -> None:
        self._cache.enable_sliding_window(sequence, self.config.sliding_window, 0)

    # --- running ---

    def forward(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, Logits]:
        """Append tokens to sequences; the logits (vocabulary,) after the last of each."""
        found: dict[int, Logits] = {}
        for part in self._passes(tokens):
            ends = np.cumsum([len(ids) for ids in part.values()], dtype="int32") - 1
            found.update(zip(part, self._run(part, ends)))
        return found

    def verify(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, Logits]:
        """As `forward`, with the logits after each token: (tokens, vocabulary)."""
        found: dict[int, list[Logits]] = {sequence: [] for sequence in tokens}
        for part in self._passes(tokens):
            counts = [len(ids) for ids in part.values()]
            rows = self._run(part, np.arange(sum(counts), dtype="int32"))
            for sequence, own in zip(part, np.split(rows, np.cumsum(counts)[:-1])):
                found[sequence].append(own)
        return {sequence: np.concatenate(own) for sequence, own in found.items()}

    def _passes(
        self, tokens: Mapping[int, Sequence[int]]
    ) -> Iterator[Mapping[int, Sequence[int]]]:
        """The passes in which tokens enter: one, where no layer's window moves within it.

        All tokens of a pass see the window that its last token sees. So beyond the window's
        length, tokens enter one by one.
        """
        window = self.config.sliding_window
        if not window:
            yield tokens
            return
        left = {sequence: list(ids) for sequence, ids in tokens.items()}
        while left:
            now = {s: ids[: max(window - self._lengths[s], 1)] for s, ids in left.items()}
            yield now
            left = {s: ids[len(now[s]) :] for s, ids in left.items() if len(ids) > len(now[s])}

    def _run(self, tokens: Mapping[int, Sequence[int]], rows: NDArray[np.int32]) -> Logits:
        """One pass; the logits of these rows of all tokens, (rows, vocabulary)."""
        ids = np.fromiter((t for part in tokens.values() for t in part), "int32")
        if ids.size and not 0 <= ids.min() <= ids.max() < self.config.vocab_size:
            raise ArgumentValueError(
                message("tokens of a language model", found=f"{ids.min()} to {ids.max()}",
                        legal=f"0 to {self.config.vocab_size - 1}")
            )  # fmt: skip
        cache = self._cache
        kv_state_begin_forward(cache, list(tokens), [len(part) for part in tokens.values()], None)
        hidden = self._vm["embed"](tensor(ids, self.device), self._weights)
        embeds = hidden._create_view((1, len(ids), self.config.hidden_size))
        if len(ids) == 1:
            logits, _ = self._vm["decode"](embeds, cache, self._weights)
        else:
            chosen = tensor(rows, self.device)
            logits, _ = self._vm["batch_prefill"](embeds, chosen, cache, self._weights)
        kv_state_end_forward(cache)
        for sequence, part in tokens.items():
            self._lengths[sequence] += len(part)
        found: Logits = logits.numpy()[0]
        return found


def decoder(config: ModelConfig, storage: Storage | None) -> DecoderLM:
    """The module of a model whose weights are stored so; None: as (out, in), in float32."""
    if storage is None:
        return DecoderLM(config)
    return DecoderLM(config, storage.linear, storage.embedding)


def open_model(path: str | Path) -> tuple[ModelConfig, Checkpoint]:
    """What a model is, and its weights."""
    if Path(path).suffix == ".gguf":
        file = GGUF(path)
        return gguf_config(file), file
    return read_config(path), open_folder(path)


def read_weights(
    config: ModelConfig, checkpoint: Checkpoint, storage: Storage
) -> dict[str, Tensor]:
    """The parameters of `decoder(config, storage)`, one after the other."""
    found: dict[str, Tensor] = {}
    for name, parameter in DecoderLM(config).named_parameters():
        values = read_parameter(checkpoint, config, name)
        if list(values.shape) != list(parameter.shape):
            raise ArgumentValueError(
                message(f"the weights of {name}", found=f"shape {values.shape}",
                        legal=f"{tuple(parameter.shape)}, as the configuration says")
            )  # fmt: skip
        numbers = read_numbers(checkpoint, config, name)
        for part, array in storage.stored(name, values, numbers).items():
            found[part] = tensor(array)
    return found
