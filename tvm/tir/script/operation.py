"""What operators mean on TensorIR expressions while a program is read.

Python's own `==`, `and`, `or`, `not` cannot build expressions; the parser asks here instead.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from tvm.ir.expr import PrimExpr, PrimExprConvertible, Range
from tvm.script.parser.core import dispatch
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IntImm, Ramp, as_expr
from tvm.tir.op import arith
from tvm.tir.op.builtin import if_then_else
from tvm.tir.stmt import BufferRegion

from .builder import vector_index
from .difference import difference

_EXPRESSIONS = (PrimExpr, PrimExprConvertible)


def _register(kind: type[ast.AST], function: Callable[..., Any], operands: int) -> None:
    for cls in _EXPRESSIONS:
        for index in range(operands):
            dispatch.register_op(cls, kind, index)(function)


# Python asks the right operand first where its class is derived from the left one's (SizeVar from
# Var), and turns `7 <= n` into `n >= 7`: comparisons are built as they are written.
_register(ast.Lt, arith.less, 2)
_register(ast.LtE, arith.less_equal, 2)
_register(ast.Gt, arith.greater, 2)
_register(ast.GtE, arith.greater_equal, 2)
_register(ast.Eq, arith.equal, 2)
_register(ast.NotEq, arith.not_equal, 2)
_register(ast.And, arith.logical_and, 2)
_register(ast.Or, arith.logical_or, 2)
_register(ast.Not, arith.logical_not, 1)
_register(ast.IfExp, if_then_else, 1)


@dispatch.register_subscript(Buffer)
def subscript(buffer: Buffer, index: Any) -> Any:
    """`A[i, j]` is an element, `A[i, 0:16]` a region, `A[i, 0:16:2]` a vector."""
    parts = list(index) if isinstance(index, (tuple, list)) else [index]
    slices = [part for part in parts if isinstance(part, (slice, Range))]
    if not slices:
        return BufferLoad(buffer, [as_expr(part) for part in parts])
    if any(isinstance(part, slice) and part.step is not None for part in slices):
        return BufferLoad(buffer, [_vector(buffer, part, i) for i, part in enumerate(parts)])
    ranges = [_range(buffer, part, i) for i, part in enumerate(parts)]
    ranges += [Range.from_min_extent(IntImm(e.dtype, 0), e) for e in buffer.shape[len(parts) :]]
    return BufferRegion(buffer, ranges)


def _vector(buffer: Buffer, part: Any, dim: int) -> PrimExpr:
    if not isinstance(part, slice):
        return as_expr(part)
    start = 0 if part.start is None else part.start
    stop = buffer.shape[dim] if part.stop is None else part.stop
    return vector_index(slice(start, stop, part.step))


def _range(buffer: Buffer, part: Any, dim: int) -> Range:
    if isinstance(part, Range):
        return part
    if not isinstance(part, slice):
        start = as_expr(part)
        if isinstance(start, Ramp):
            return Range.from_min_extent(start.base, start.lanes)
        return Range.from_min_extent(start, IntImm(start.dtype, 1))
    stop = as_expr(buffer.shape[dim] if part.stop is None else part.stop)
    start = IntImm(stop.dtype, 0) if part.start is None else as_expr(part.start)
    return Range.from_min_extent(*_one_type(start, difference(stop, start)))


def _one_type(start: PrimExpr, extent: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    """Literals take the type of the other end."""
    if isinstance(start, IntImm) and start.dtype is not extent.dtype:
        return IntImm(extent.dtype, start.value), extent
    if isinstance(extent, IntImm) and start.dtype is not extent.dtype:
        return start, IntImm(start.dtype, extent.value)
    return start, extent
