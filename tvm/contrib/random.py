"""Random tensors as stages of tensor expressions; numbers come from `tvm.contrib.random.*`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.error import AssumptionError


def randint(low: int, high: int, size: Sequence[Any], dtype: str = "int32") -> te.Tensor:
    """Integers of [low, high), a tensor of shape `size`."""
    if "int" not in dtype:
        wrong = f"tvm.contrib.random.randint: dtype {dtype!r}; legal: an integer dtype"
        raise AssumptionError(wrong)
    return _filled("randint", (int(low), int(high)), size, dtype)


def uniform(low: float, high: float, size: Sequence[Any]) -> te.Tensor:
    """Float32 numbers of [low, high), a tensor of shape `size`."""
    return _filled("uniform", (float(low), float(high)), size, "float32")


def normal(loc: float, scale: float, size: Sequence[Any]) -> te.Tensor:
    """Float32 numbers with mean `loc` and standard deviation `scale`, of shape `size`."""
    return _filled("normal", (float(loc), float(scale)), size, "float32")


def _filled(kind: str, numbers: tuple[Any, Any], size: Sequence[Any], dtype: str) -> te.Tensor:
    out: te.Tensor = te.extern(
        size,
        [],
        lambda ins, outs: tir.call_packed("tvm.contrib.random." + kind, *numbers, outs[0]),
        dtype=dtype,
    )
    return out
