"""Weights that AWQ and GPTQ have rounded, in safetensors: numbers and scales in groups.

    w[in, out] = scales[in // group, out] * (q[in, out] - zero[in // group, out])

    AWQ     qweight (in, out / 8), the numbers of a word in the order 0 2 4 6 1 3 5 7; qzeros alike
    GPTQ    qweight (in / n, out), qzeros (groups, out / n), n = 32 / bits, the first number lowest;
            (3 bits: a stream of them, 32 numbers in three words);
            zero points are stored less one (checkpoint_format "gptq": unless it says "gptq_v2"),
            so that 0 is a word's largest number;
            g_idx (in,), if there is one, says the group of each input

What a model says of it stands in `quantization_config` of its `config.json`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from tvm.error import ArgumentValueError, message
from tvm.topi.nn.few_bits import GROUP

from .checkpoint import Array, Checkpoint, Safetensors
from .config import read_json
from .entries import Entries

_AWQ_ORDER: Final = (0, 2, 4, 6, 1, 3, 5, 7)
_PARTS: Final = ("qzeros", "scales", "g_idx")


class Numbers(NamedTuple):
    """Weights (out, in) as numbers 0 to 15; scales and zero points for each 32 of a row."""

    values: Array
    scale: Array
    zero: Array


def open_folder(path: str | Path) -> Checkpoint:
    """The arrays of a folder of safetensors, with weights that were rounded in groups widened."""
    files = Safetensors(path)
    given = Entries(read_json(path), f"the configuration in {path}").group("quantization_config")
    if not given:
        return files
    method = given.text("quant_method")
    if method not in ("awq", "gptq"):
        raise given.wrong("quant_method", method, "awq, gptq, or a model that is not quantised")
    return Grouped(files, given)


class Grouped:
    """A checkpoint whose arrays `*.weight` may stand for several."""

    def __init__(self, files: Checkpoint, given: Mapping[str, Any]) -> None:
        entries = given if isinstance(given, Entries) else Entries(given, "quantization_config")
        self._files = files
        self._awq = entries.text("quant_method") == "awq"
        self._bits = entries.size("bits", most=8)
        if self._bits not in ((4,) if self._awq else (2, 3, 4, 8)):
            raise entries.wrong("bits", self._bits, "4" if self._awq else "2, 3, 4 or 8")
        if self._awq and entries.text("version", "gemm").lower() != "gemm":
            raise entries.wrong("version", entries["version"], "gemm")
        form = entries.text("checkpoint_format", "gptq")
        if form not in ("gptq", "gptq_v2") and not self._awq:
            raise entries.wrong("checkpoint_format", form, "gptq, gptq_v2")
        size = entries.get("group_size", -1)
        if not isinstance(size, int) or size < -1 or size == 0:
            raise entries.wrong("group_size", size, "a number of inputs, or -1 for all of them")
        self._group = size
        self._less = 1 if form == "gptq" and not self._awq else 0

    def __contains__(self, name: object) -> bool:
        return name in self._files or self._stem(str(name)) is not None

    def __iter__(self) -> Iterator[str]:
        for name in self._files:
            stem, _, leaf = name.rpartition(".")
            if leaf == "qweight":
                yield f"{stem}.weight"
            elif leaf not in _PARTS:
                yield name

    def _stem(self, name: str) -> str | None:
        stem, _, leaf = name.rpartition(".")
        return stem if leaf == "weight" and f"{stem}.qweight" in self._files else None

    def array(self, name: str) -> Array:
        """The values; those of weights in groups (out, in), in float32."""
        stem = self._stem(name)
        if stem is None:
            return self._files.array(name)
        values, scale, zero, group = self._read(stem)
        found: Array = (values - zero[group]) * scale[group]
        return np.ascontiguousarray(found.T, "float32")

    def numbers(self, name: str) -> Numbers | None:
        """A weight's own numbers, if they are of 4 bits in groups of whole 32; else None."""
        stem = self._stem(name)
        if stem is None or self._bits != 4:
            return None
        values, scale, zero, group = self._read(stem)
        if len(values) % GROUP:
            return None
        by_parts = group.reshape(-1, GROUP)
        if (by_parts != by_parts[:, :1]).any():
            return None
        first = by_parts[:, 0]
        return Numbers(values.T, scale[first].T, zero[first].T)

    def _read(self, stem: str) -> tuple[Array, Array, Array, Array]:
        """Numbers (in, out), scales and zero points (groups, out), the group of each input."""
        missing = [part for part in _PARTS[:2] if f"{stem}.{part}" not in self._files]
        if missing:
            raise ArgumentValueError(message(
                f"the weights {stem} in groups", found=f"no array {stem}.{missing[0]}",
                legal="qweight, qzeros and scales",
            ))  # fmt: skip
        words, zeros, scale = (
            np.asarray(self._files.array(f"{stem}.{part}")) for part in ("qweight", *_PARTS[:2])
        )
        across = self._unpacked(zeros)
        values = self._unpacked(words) if self._awq else self._unpacked(words.T).T
        groups, outputs = scale.shape
        fits = across.shape == scale.shape and values.shape[1] == outputs and groups > 0
        size = -(-len(values) // groups) if self._group == -1 else self._group
        if not fits or -(-len(values) // size) != groups:
            raise ArgumentValueError(message(
                f"the weights {stem} in groups",
                found=f"qweight {words.shape}, qzeros {zeros.shape}, scales {scale.shape}, "
                f"group_size {self._group}",
                legal="arrays of as many outputs and groups",
            ))  # fmt: skip
        name = f"{stem}.g_idx"
        group = np.arange(len(values)) // size
        if name in self._files:
            group = np.asarray(self._files.array(name)).astype("int64")
            if group.shape != (len(values),) or group.min() < 0 or group.max() >= groups:
                raise ArgumentValueError(message(
                    f"the groups {name}", found=f"shape {group.shape}, up to {group.max()}",
                    legal=f"one of {groups} for each of {len(values)} inputs",
                ))  # fmt: skip
        zero = (across + np.uint32(self._less) & np.uint32((1 << self._bits) - 1)).astype("float32")
        return values.astype("float32"), scale.astype("float32"), zero, group

    def _unpacked(self, words: Array) -> Array:
        """(rows, n) words -> (rows, n * 32 / bits) numbers."""
        count = 32 // self._bits
        shifts = np.arange(count, dtype="uint32") * np.uint32(self._bits)
        if self._bits == 3:
            stream = np.ascontiguousarray(words).view("uint8")
            parts = np.unpackbits(stream, axis=1, bitorder="little").reshape(len(words), -1, 3)
            return np.asarray(parts @ np.array([1, 2, 4], "uint32"))
        bits = words.astype(words.dtype.newbyteorder("="), copy=False).view("uint32")
        found: Array = bits[:, :, None] >> shifts & np.uint32((1 << self._bits) - 1)
        if self._awq:
            found = found[:, :, np.argsort(_AWQ_ORDER)]
        return found.reshape(len(words), -1)
