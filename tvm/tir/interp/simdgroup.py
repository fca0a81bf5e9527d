"""Matrices of 8 x 8 of Metal's SIMD groups: each thread holds all of its group's, so they agree."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from tvm.tir import expr as e

from .expr import Code, Frame
from .memory import Pointer
from .values import Value


def _matrix(pointer: Pointer, index: int, shape: tuple[int, int]) -> Any:
    size = shape[0] * shape[1]
    start = pointer.offset + index * size
    return pointer.data[start : start + size].reshape(shape)


def _filled(compiler: Any, op: e.Call) -> Code:
    """`(d, index, value, columns, rows)`."""
    d, index, value, columns, rows = (compiler.compile(a) for a in op.args)

    def run(frame: Frame) -> Value:
        shape = (int(columns(frame)), int(rows(frame)))
        _matrix(d(frame), int(index(frame)), shape)[...] = value(frame)
        return np.int32(0)

    return run


def _moved(loads: bool, compiler: Any, op: e.Call) -> Code:
    """`(d, index, address, stride, columns, rows, transposed)`."""
    d, index, address, stride, columns, rows, transposed = (compiler.compile(a) for a in op.args)

    def run(frame: Frame) -> Value:
        shape = (int(columns(frame)), int(rows(frame)))
        matrix = _matrix(d(frame), int(index(frame)), shape)
        pointer, step = address(frame), int(stride(frame))
        i, j = np.indices(shape)
        at = pointer.offset + (j * step + i if transposed(frame) else i * step + j)
        if loads:
            matrix[...] = pointer.data[at]
        else:
            pointer.data[at] = matrix
        return np.int32(0)

    return run


def _product(compiler: Any, op: e.Call) -> Code:
    """`(d, index, a, index, b, index, c, index)`: d = a @ b + c."""
    codes = [compiler.compile(a) for a in op.args]

    def run(frame: Frame) -> Value:
        d, a, b, c = (
            _matrix(codes[2 * n](frame), int(codes[2 * n + 1](frame)), (8, 8)) for n in range(4)
        )
        d[...] = a.astype(c.dtype) @ b.astype(c.dtype) + c
        return np.int32(0)

    return run


SIMDGROUP: Final[dict[str, Callable[[Any, e.Call], Code]]] = {
    "tir.make_filled_simdgroup_matrix": _filled,
    "tir.simdgroup_load": partial(_moved, True),
    "tir.simdgroup_store": partial(_moved, False),
    "tir.simdgroup_multiply_accumulate": _product,
}
