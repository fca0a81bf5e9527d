"""Constant tensors as initialised arrays of C."""

from __future__ import annotations

from typing import Final

from tvm.ir.host_tensor import HostTensor
from tvm.support.dtype import DataType

from .types import float_literal, int_literal

_COLUMNS: Final = 96


def constant_text(name: str, kind: str, dtype: DataType, tensor: HostTensor) -> str:
    """The definition of an array with the values of `tensor`, on a cache line."""
    flat = tensor.numpy().reshape(-1)
    words: list[str]
    if dtype.is_floating:
        words = [float_literal(dtype, float(v)) for v in flat]
    elif dtype.is_bool:
        words = [str(int(v)) for v in flat]
    else:
        words = [int_literal(dtype, int(v)) for v in flat]
    head = f"static const {kind} {name}[{max(len(words), 1)}] __attribute__((aligned(64))) = {{"
    return "\n".join([head, *_filled(words or ["0"]), "};"])


def _filled(words: list[str]) -> list[str]:
    """Words with commas, in lines of a bounded width."""
    lines: list[str] = []
    row: list[str] = []
    width = 0
    for word in words:
        if row and width + len(word) + 2 > _COLUMNS:
            lines.append("  " + " ".join(row))
            row, width = [], 0
        row.append(word + ",")
        width += len(word) + 2
    lines.append("  " + " ".join(row))
    return lines
