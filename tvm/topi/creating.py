"""Tensors made from numbers alone: ranges, grids, windows, shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.tir.expr import as_expr

from . import tag
from .broadcast import divide, multiply, subtract
from .common import stage
from .math import cos
from .slicing import strided_slice


@explained
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: str = "float32") -> te.Tensor:
    """start, start + step, ... up to, not including, stop; from 0 if only one bound is given."""
    if stop is None:
        start, stop = 0, start
    first, last, by = as_expr(start), as_expr(stop), as_expr(step)
    if all(x.dtype.is_integer for x in (first, last, by)):
        down = isinstance(by, tir.IntImm) and by.value < 0
        count = tir.ceildiv(first - last, -by) if down else tir.ceildiv(last - first, by)
    else:
        distance = (last - first).astype("float32")
        count = tir.ceil(tir.div(distance, by.astype("float32"))).astype("int64")
    extent = Analyzer().simplify(count)
    if isinstance(extent, tir.IntImm) and extent.value < 0:  # the bounds lie the other way round
        extent = tir.const(0, extent.dtype)
    shape = [extent]

    def element(i: PrimExpr) -> PrimExpr:
        return (first + by * i).astype(dtype)

    return stage(shape, element, "T_arange", tag.INJECTIVE)


@explained
def meshgrid(a_tuple: Sequence[te.Tensor], indexing: str) -> list[te.Tensor]:
    """The coordinates of a grid from those along its axes; "xy" exchanges the first two axes."""
    if indexing not in ("ij", "xy"):
        raise ValueError(f"topi.meshgrid: indexing {indexing!r}; legal: 'ij', 'xy'")
    order = list(range(len(a_tuple)))
    if indexing == "xy" and len(order) > 1:
        order[0], order[1] = 1, 0
    shape = [a_tuple[k].shape[0] if a_tuple[k].ndim else 1 for k in order]
    return [
        stage(shape, _along(tensor, order.index(k)), "T_meshgrid", tag.INJECTIVE)
        for k, tensor in enumerate(a_tuple)
    ]


def _along(tensor: te.Tensor, axis: int) -> Any:
    return lambda *i: tensor(i[axis]) if tensor.ndim else tensor()


@explained
def shape(array: te.Tensor, dtype: str = "int32") -> te.Tensor:
    """The extents of a tensor, as a tensor."""

    def element(i: PrimExpr) -> PrimExpr:
        value: PrimExpr = tir.const(0, "int32")
        for axis, extent in enumerate(array.shape):
            value = tir.if_then_else(i.equal(axis), extent, value)
        return value.astype(dtype)

    return stage([array.ndim], element, "T_shape", tag.INJECTIVE)


@explained
def tensor_size(array: te.Tensor, dtype: str = "int32") -> te.Tensor:
    """The number of elements, as a tensor of rank 0."""

    def element() -> PrimExpr:
        total: PrimExpr = tir.const(1, dtype)
        for extent in array.shape:
            total = total * extent.astype(dtype)
        return total

    return stage([], element, "tensor_size", tag.INJECTIVE)


@explained
def hamming_window(window_size: Any, periodic: Any, alpha: Any, beta: Any, dtype: Any) -> te.Tensor:
    """alpha - beta * cos(2 pi i / n), where n is the size, one less for a symmetric window."""
    size, kind = int(window_size), DataType(dtype)
    if size == 1:
        return stage([1], lambda i: tir.const(1, kind), "hamming_window", tag.INJECTIVE)
    steps = size if bool(int(periodic)) else size - 1
    steps_taken = arange(0, steps + 1, 1, dtype=str(kind))
    turns = divide(multiply(tir.const(2 * math.pi, kind), steps_taken), tir.const(steps, kind))
    waves = multiply(tir.const(float(beta), kind), cos(turns))
    window = subtract(tir.const(float(alpha), kind), waves)
    return window if steps < size else strided_slice(window, [0], [size])
