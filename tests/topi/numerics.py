"""Run an operator on numbers: its tensors become a function, which the interpreter runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvm import te
from tvm.tir import interp

Array = Any


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def floats(*shape: int, seed: int = 0, dtype: str = "float32") -> Array:
    return rng(seed).standard_normal(shape).astype(dtype)


def evaluate(
    op: Callable[..., Any], *arrays: Array, dtype: str | None = None, symbolic: bool = False
) -> Any:
    """What the operator makes of the arrays; one array, or a list of them.

    With `symbolic`, all extents of the inputs are variables; the result's shape is then taken from
    a run with known ones.
    """
    inputs = [te.placeholder(np.shape(a), str(np.asarray(a).dtype), f"in{i}")
              for i, a in enumerate(arrays)]  # fmt: skip
    known = op(*inputs)
    several = isinstance(known, (list, tuple))
    shapes = [[int(s) for s in t.shape] for t in (known if several else [known])]
    if symbolic:
        inputs = [
            te.placeholder([te.size_var(f"n{i}_{d}") for d in range(np.ndim(a))],
                           str(np.asarray(a).dtype), f"in{i}")
            for i, a in enumerate(arrays)
        ]  # fmt: skip
        known = op(*inputs)
    outs = list(known) if several else [known]
    func = te.create_prim_func([*inputs, *outs], dtype)
    results = [np.zeros(shape, str(t.dtype)) for shape, t in zip(shapes, outs)]
    interp.run(func, *[np.asarray(a, order="C") for a in arrays], *results)
    return results if several else results[0]


def close(got: Array, wanted: Array, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    assert got.shape == np.shape(wanted), (got.shape, np.shape(wanted))
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol)
