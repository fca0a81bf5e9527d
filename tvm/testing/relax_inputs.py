"""Small random arguments for a Relax function, the same each time."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.ir.expr import PrimExpr, RelaxExpr, StructInfo
from tvm.relax.expr import Function
from tvm.relax.interp import Shape, Value
from tvm.relax.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.functor import walk
from tvm.tir.interp import evaluate

from .random_inputs import random_array, random_scalar


class NoSuchInput(ValueError):
    """A parameter for which no value can be made up."""


def random_relax_inputs(func: Function, seed: int = 0, size: int = 13) -> list[Value]:
    """A value for each parameter; extents that are variables get values below `size`.

    Raises NoSuchInput for a parameter of unknown rank or type, and for functions and objects.
    """
    rng = np.random.default_rng(seed)
    sizes: dict[e.Var, int] = {}
    return [_value(rng, param, param.struct_info, sizes, size) for param in func.params]


def _value(
    rng: np.random.Generator,
    param: RelaxExpr,
    info: StructInfo,
    sizes: dict[e.Var, int],
    size: int,
) -> Any:
    if isinstance(info, TupleStructInfo):
        return tuple(_value(rng, param, field, sizes, size) for field in info.fields)
    if isinstance(info, TensorStructInfo) and info.values is not None and info.dtype != "":
        shape = [_number(rng, extent, sizes, size) for extent in info.values]
        return random_array(rng, shape, DataType(info.dtype))
    if isinstance(info, ShapeStructInfo) and info.values is not None:
        return Shape(_number(rng, extent, sizes, size) for extent in info.values)
    if isinstance(info, PrimStructInfo):
        if info.value is not None:
            return _number(rng, info.value, sizes, size)
        return random_scalar(rng, DataType(info.dtype))
    raise NoSuchInput(f"no value can be made up for parameter {param}: {info}")


def _number(
    rng: np.random.Generator, extent: PrimExpr, sizes: dict[e.Var, int], size: int
) -> int:
    for node in walk(extent):
        if isinstance(node, e.Var) and node not in sizes:
            sizes[node] = int(rng.integers(max(size // 2, 1), size))
    return int(evaluate(extent, sizes))
