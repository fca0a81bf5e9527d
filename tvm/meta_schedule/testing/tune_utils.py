"""Inputs for built programs, and what a program makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

# from the smallest number up to, and without, the largest
_RANGES: Final = {
    "uint8": (0, 255),
    "int8": (-128, 127),
    "int32": (0, 10000),
    "uint32": (0, 10000),
    "int64": (0, 10000),
    "uint64": (0, 10000),
}


def generate_input_data(
    input_shape: Sequence[int],
    input_dtype: str,
    *,
    low: int | None = None,
    high: int | None = None,
) -> NDArray[Any]:
    """A random array: floats of [0, 1), integers of [low, high) or of a range for their type."""
    if input_dtype.startswith("float"):
        return np.random.uniform(size=input_shape).astype(input_dtype)
    if input_dtype not in _RANGES and (low is None or high is None):
        raise ValueError(
            f"Unsupported input datatype! found: {input_dtype!r}; "
            f"legal: float types, {', '.join(_RANGES)}, or any with low and high"
        )
    least, most = _RANGES.get(input_dtype, (0, 0))
    least, most = least if low is None else low, most if high is None else high
    return np.random.randint(least, most, size=tuple(input_shape), dtype=np.dtype(input_dtype))


def create_calculator(backend: str) -> Callable[..., list[Any]]:
    """A function of a built module, a device and named inputs that runs it on them.

    With backend "tir" the module takes its tensors in the order of their names, outputs among
    them; the function returns them all.
    """
    if backend != "tir":
        raise ValueError(f"Backend {backend} not supported in f_calculator! legal: tir")

    def calculate(rt_mod: Any, dev: Any, input_data: Mapping[str, Any]) -> list[Any]:
        data = [input_data[name] for name in sorted(input_data)]
        rt_mod(*data)
        return data

    return calculate
