"""What random kernels are made with: a kernel and its arguments, and draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tvm import tir

Array = np.ndarray[Any, Any]
Rng = np.random.Generator
THREADS = (3, 8, 16, 31, 32, 33, 64, 100, 128)


class Made(NamedTuple):
    """A kernel, the function that it was, and its arguments, of which the last is the result."""

    func: tir.PrimFunc
    plain: tir.PrimFunc
    shapes: tuple[tuple[tuple[int, ...], str], ...]
    words: str  # how it was made

    def arrays(self, seed: int) -> list[Array]:
        """Arguments: small whole numbers; the result is not set."""
        rng = np.random.default_rng(seed)
        given = [small(rng, shape, dtype) for shape, dtype in self.shapes[:-1]]
        shape, dtype = self.shapes[-1]
        return [*given, np.full(shape, 77, dtype)]


def small(rng: Rng, shape: tuple[int, ...], dtype: str) -> Array:
    """Whole numbers that every type holds."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(dtype)
    low = 0 if dtype.startswith("u") else -4
    return rng.integers(low, 5, shape).astype(dtype)


def pick(rng: Rng, choices: Sequence[Any]) -> Any:
    """One of several."""
    return choices[int(rng.integers(len(choices)))]


def odd(rng: Rng, most: int = 70) -> int:
    """An extent; one of one element is a case of its own."""
    extent = int(rng.integers(2, most))
    return 1 if extent % 9 == 0 else extent


def flip(rng: Rng, share: float = 0.5) -> bool:
    """Yes, with a probability."""
    return bool(rng.random() < share)
