"""Products of matrices, scheduled for the matrix units of a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from tvm import te, tir

FLOAT8 = {"float8_e4m3fn": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}


def matmul(
    m: int, n: int, k: int, dtype: str, out: str, trans_b: bool, trans_a: bool = False
) -> tir.PrimFunc:
    """C = A @ B, with factors that may lie transposed."""
    a = te.placeholder((k, m) if trans_a else (m, k), dtype, name="A")
    b = te.placeholder((n, k) if trans_b else (k, n), dtype, name="B")
    r = te.reduce_axis((0, k), name="k")

    def term(i: Any, j: Any) -> Any:
        left, right = a[r, i] if trans_a else a[i, r], b[j, r] if trans_b else b[r, j]
        return left * right if dtype == out else left.astype(out) * right.astype(out)

    c = te.compute((m, n), lambda i, j: te.sum(term(i, j), axis=r), name="C")
    return te.create_prim_func([a, b, c])


def tiled(layout: Callable[..., Any], rows: int, columns: int) -> Callable[..., Any]:
    """The layout of a matrix of tiles."""
    return lambda i, j: (i // rows, j // columns, *layout(i % rows, j % columns))


def arrays(
    m: int, n: int, k: int, dtype: str, out: str, trans_b: bool, trans_a: bool = False
) -> tuple[list[Any], Any]:
    """Arguments of small whole numbers, and what comes out."""
    rng = np.random.default_rng(3)
    kind = FLOAT8.get(dtype, dtype)
    a = rng.integers(-3, 4, (k, m) if trans_a else (m, k)).astype(kind)
    b = rng.integers(-3, 4, (n, k) if trans_b else (k, n)).astype(kind)
    left, right = (x.astype("float32") for x in (a.T if trans_a else a, b.T if trans_b else b))
    return [a, b, np.zeros((m, n), out)], left @ right
