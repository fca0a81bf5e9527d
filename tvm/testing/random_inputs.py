"""Small random arguments for a PrimFunc, the same each time."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.function import PrimFunc
from tvm.tir.functor import vars_in
from tvm.tir.interp import evaluate


def random_inputs(func: PrimFunc, seed: int = 0, size: int = 13) -> list[Any]:
    """An array for each buffer of the parameters, a number for each other parameter.

    Sizes that are variables get values below `size`, floats lie in [-2, 2], integers in [0, 8).
    """
    rng = np.random.default_rng(seed)
    sizes = {var: int(rng.integers(size // 2, size)) for var in _size_variables(func)}
    values: list[Any] = []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if buffer is None:
            values.append(sizes.get(param, random_scalar(rng, param.dtype)))
            continue
        shape = [_size(extent, sizes) for extent in buffer.shape]
        values.append(random_array(rng, shape, buffer.dtype))
    return values


def _size_variables(func: PrimFunc) -> list[e.Var]:
    found: dict[e.Var, None] = {}
    for buffer in func.buffer_map.values():
        for extent in buffer.shape:
            found.update((node, None) for node in vars_in(extent))
    return list(found)


def _size(extent: PrimExpr, sizes: dict[e.Var, int]) -> int:
    return int(evaluate(extent, sizes))


def random_scalar(rng: np.random.Generator, dtype: DataType) -> float | int:
    """One number of a type."""
    return float(rng.uniform(-2, 2)) if dtype.is_floating else int(rng.integers(0, 8))


def random_array(rng: np.random.Generator, shape: list[int], dtype: DataType) -> Any:
    """An array of small numbers of a type."""
    full = [*shape, dtype.lanes] if dtype.lanes > 1 else shape
    element = dtype.element_of()
    if element.is_bool:
        return rng.integers(0, 2, full).astype(bool)
    if element.is_integer:
        return rng.integers(0, 8, full).astype(str(element))
    if element in ("float16", "float32", "float64"):
        return rng.uniform(-2, 2, full).astype(str(element))
    import ml_dtypes  # only the narrow types need it

    return rng.uniform(-2, 2, full).astype(getattr(ml_dtypes, str(element)))
