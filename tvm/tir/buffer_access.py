"""Where an element of a buffer lies: flattened indices, flattened buffers, access pointers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from tvm.ir.expr import OPERATORS, PrimExpr
from tvm.support.dtype import DataType

from . import expr as e
from .access_rules import require_index_count
from .buffer import Buffer
from .op import arith as op


def axis_groups(buffer: Buffer) -> list[range]:
    """The axes that are flattened together: axis separators divide them."""
    cuts = [int(i) for i in buffer.axis_separators]
    edges = [0, *cuts, len(buffer.shape)]
    return [range(a, b) for a, b in pairwise(edges)]


def element_strides(buffer: Buffer) -> list[PrimExpr]:
    """The stride of each dimension in elements; row-major where the buffer gives none."""
    given = buffer.checked_strides()
    if given:
        return list(given)
    strides: list[PrimExpr] = [e.IntImm(extent.dtype, 1) for extent in buffer.shape]
    for group in axis_groups(buffer):
        for axis in reversed(group[:-1]):
            strides[axis] = op.multiply(strides[axis + 1], buffer.shape[axis + 1])
    return strides


def _as_is(expr: PrimExpr) -> PrimExpr:
    return expr


def buffer_offset(
    buffer: Buffer,
    indices: tuple[PrimExpr, ...],
    simplify: Callable[[PrimExpr], PrimExpr] = _as_is,
) -> tuple[PrimExpr, ...]:
    """Indices into the flattened buffer: (i, j) of (n, m) -> (i * m + j,).

    Row-major buffers are walked by Horner's rule, which keeps the expression short, and each step
    of it is simplified.
    """
    require_index_count(buffer, indices)
    strides = buffer.checked_strides()
    flat: list[PrimExpr] = []
    for group in axis_groups(buffer):
        total: PrimExpr | None = None
        for axis in group:
            index = indices[axis]
            if strides:
                term = op.multiply(index, strides[axis])
                total = term if total is None else op.add(total, term)
            elif total is None:
                total = index
            else:
                total = simplify(op.add(op.multiply(total, buffer.shape[axis]), index))
        flat.append(e.IntImm(e.INT32, 0) if total is None else total)
    if not op.is_zero(buffer.elem_offset):
        flat[-1] = op.add(flat[-1], buffer.elem_offset)
    return tuple([simplify(offset) for offset in flat])


def flattened_buffer(buffer: Buffer) -> Buffer:
    """The buffer as one run of memory (one more for each axis separator)."""
    shape: list[PrimExpr] = []
    strides = buffer.checked_strides()
    if strides:
        for group in axis_groups(buffer):
            first = group[0]
            shape.append(op.multiply(strides[first], buffer.shape[first]))
    else:
        for group in axis_groups(buffer):
            total: PrimExpr = e.IntImm(e.INT32, 1)
            for axis in group:
                total = op.multiply(total, buffer.shape[axis])
            shape.append(total)
    if not strides and len(buffer.shape) == len(shape) == 1:
        return buffer
    separators = tuple(range(1, len(shape)))
    return buffer.with_changes(shape=tuple(shape), strides=(), axis_separators=separators)


def access_ptr(
    buffer: Buffer,
    mask: int,
    ptr_type: str,
    content_lanes: int,
    offset: Any,
    extent: Any,
) -> PrimExpr:
    """A `tir.tvm_access_ptr` call for `extent` elements from `offset` on."""
    content = buffer.dtype
    start = e.as_expr(offset)
    if extent is None:
        total: PrimExpr = e.IntImm(e.INT32 if buffer.shape else e.INT64, 1)
        if buffer.checked_strides():
            total = op.multiply(buffer.strides[0], buffer.shape[0])
        else:
            for dim in buffer.shape:
                total = op.multiply(total, dim)
        size = op.subtract(total, start)
        if content_lanes > 1:
            size = op.truncdiv(size, content_lanes)
    else:
        size = e.as_expr(extent)
    base = op.add(buffer.elem_offset, start)
    if content_lanes > 1:
        content = content.with_lanes(content_lanes)
        base = op.truncdiv(base, content_lanes)
    annotation = e.Call(content, "tir.type_annotation", ())
    args = (annotation, buffer.data, base, size, e.IntImm(e.INT32, mask))
    return e.Call(DataType(ptr_type), "tir.tvm_access_ptr", args)


OPERATORS["tir"].update(
    {
        "buffer_offset": buffer_offset,
        "flattened_buffer": flattened_buffer,
        "buffer_access_ptr": access_ptr,
    }
)
