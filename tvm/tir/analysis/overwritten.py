"""Statements that give every element of a buffer a new value.

    for i in T.parallel(n):
        for j in range(64):
            B[i, j] = A[i, j]       all of B, if its shape is (n, 64)
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith.analyzer import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.functor import walk
from tvm.tir.op import arith as ops


def overwritten(stmt: s.Stmt) -> Buffer | None:
    """The buffer that a nest of loops overwrites, element by element, without reading it."""
    loops: list[s.For] = []
    body = stmt
    while not isinstance(body, s.BufferStore):
        if isinstance(body, s.For) and ops.is_zero(body.min):
            loops.append(body)
            body = body.body
        elif isinstance(body, s.BlockRealize) and ops.is_one(body.predicate) and _is_bare(body):
            body = body.block.body
        else:
            return None
    buffer = body.buffer
    if any(getattr(node, "buffer", None) is buffer for node in walk(body.value)):
        return None
    analyzer = Analyzer()
    for loop in loops:
        analyzer.bind(loop.loop_var, Range.from_min_extent(loop.min, loop.extent))
    extents = [loop.extent for loop in loops]
    number = _number(body.indices, buffer.shape)
    count = _number([loop.loop_var for loop in loops], extents)
    same_size = analyzer.can_prove_equal(_product(buffer.shape), _product(extents))
    return buffer if same_size and analyzer.can_prove_equal(number, count) else None


def _is_bare(realize: s.BlockRealize) -> bool:
    block = realize.block
    return not realize.iter_values and not block.match_buffers and block.init is None


def _number(indices: Sequence[PrimExpr], extents: Sequence[PrimExpr]) -> PrimExpr:
    """The number of an element in row-major order."""
    total: PrimExpr = ops.const(0, "int64")
    for index, extent in zip(indices, extents):
        total = ops.add(ops.multiply(total, ops.cast(extent, "int64")), ops.cast(index, "int64"))
    return total


def _product(extents: Sequence[PrimExpr]) -> PrimExpr:
    total: PrimExpr = ops.const(1, "int64")
    for extent in extents:
        total = ops.multiply(total, ops.cast(extent, "int64"))
    return total


def memory_touched(stmt: s.Stmt) -> set[e.Var]:
    """The memory that is read, or given away."""
    found: set[e.Var] = set()
    for node in walk(stmt):
        if isinstance(node, e.BufferLoad):
            found.add(node.buffer.data)
        elif isinstance(node, e.Var):
            found.add(node)
    return found
