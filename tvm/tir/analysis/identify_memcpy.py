"""Loop nests that copy one piece of contiguous memory to another.

    for i, j in T.grid(4, 16): B[i, j] = A[i, j]         A[0:4, 0:16] to B[0:4, 0:16]
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import Analyzer, IterMapLevel, detect_iter_map
from tvm.arith.int_set import IntervalSet, eval_set
from tvm.arith.iter_map_nodes import IterSumExpr
from tvm.ir.expr import PrimExpr, Range
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.functor import StmtExprVisitor
from tvm.tir.op import arith as op

Copy = tuple[s.BufferRegion, s.BufferRegion]


def identify_memcpy(stmt: s.Stmt) -> list[Copy | str]:
    """For each outermost loop the copied region and where it goes, or why the loop is no copy."""
    return _found(stmt, inner=False)


def identify_all_memcpy(stmt: s.Stmt) -> list[tuple[s.BufferRegion, ...] | e.StringImm]:
    """The same for every loop, outer ones first; reasons are expressions."""
    return [e.StringImm(c) if isinstance(c, str) else c for c in _found(stmt, inner=True)]


def _found(stmt: s.Stmt, inner: bool) -> list[Copy | str]:
    finder = _Finder(inner)
    finder.visit_stmt(stmt)
    return finder.found


class _Finder(StmtExprVisitor):
    def __init__(self, inner: bool) -> None:
        super().__init__()
        self.found: list[Copy | str] = []
        self._inner = inner

    def visit_for_(self, op: s.For) -> None:
        try:
            self.found.append(_copy_of(op))
        except _NoCopy as reason:
            self.found.append(str(reason))
        if self._inner:
            super().visit_for_(op)


class _NoCopy(Exception):
    """The text says why a loop nest copies no contiguous memory."""


def _copy_of(loop: s.For) -> Copy:
    loops: dict[e.Var, Range] = {}
    total: PrimExpr = op.const(1, loop.extent.dtype)
    stmt: s.Stmt = loop
    while isinstance(stmt, s.For):
        loops[stmt.loop_var] = Range.from_min_extent(stmt.min, stmt.extent)
        total = op.multiply(total, stmt.extent)
        stmt = stmt.body
    if not isinstance(stmt, s.BufferStore):
        raise _NoCopy(f"Expected innermost loop to have BufferStore body, but instead found {stmt}")
    load = stmt.value
    if not isinstance(load, e.BufferLoad):
        raise _NoCopy(f"Expected BufferStore's value to be BufferLoad, but instead found {load}")
    analyzer = Analyzer()
    total = analyzer.simplify(total)
    source = _flat(load.buffer, load.indices, "src")
    target = _flat(stmt.buffer, stmt.indices, "dst")
    source_map = _affine(source, loops, "src")
    target_map = _affine(target, loops, "dst")
    analyzer.bind_all(loops)
    _contiguous(source, loops, total, "src", analyzer)
    _contiguous(target, loops, total, "dst", analyzer)
    _same_order(source_map, target_map, analyzer)
    return _region(load.buffer, load.indices, loops), _region(stmt.buffer, stmt.indices, loops)


def _flat(buffer: Buffer, indices: Sequence[PrimExpr], side: str) -> PrimExpr:
    offsets = buffer.offset_of(indices)
    if len(offsets) != 1:
        raise _NoCopy(
            f"Expected flattened dimension of {side} to be 1, but found {len(offsets)} dimensions"
        )
    return offsets[0]


def _affine(index: PrimExpr, loops: dict[e.Var, Range], side: str) -> IterSumExpr:
    """The offset as an iteration map over all loops."""
    found = detect_iter_map([index], loops, True, IterMapLevel.Bijective)
    if found.errors:
        raise _NoCopy(
            f"arith::DetectIterMap({side}) returned {len(found.errors)} errors: "
            f"{list(map(str, found.errors))} for {side}_index = {index}"
        )
    return found.indices[0]


def _contiguous(
    index: PrimExpr, loops: dict[e.Var, Range], total: PrimExpr, side: str, analyzer: Analyzer
) -> None:
    """As many elements lie between the least and the largest offset as there are iterations."""
    interval = eval_set(index, loops, analyzer)
    if not (interval.has_lower_bound() and interval.has_upper_bound()):
        raise _NoCopy(f"Expected known bounds for {side}, but found {interval}")
    span = op.add(op.subtract(interval.max_value, interval.min_value), 1)
    span = analyzer.simplify(span)
    if not analyzer.can_prove_equal(total, span):
        raise _NoCopy(
            f"Mismatch between loop iterations ({total}) and number of {side} indices touched "
            f"({interval}): {span}"
        )


def _same_order(source: IterSumExpr, target: IterSumExpr, analyzer: Analyzer) -> None:
    """Both sides are visited in one order."""
    a, b = source.args, target.args
    if len(a) == len(b) and all(
        (analyzer.can_prove_equal(x.scale, y.scale)
        and x.source.source.same_as(y.source.source))
        or str(x) == str(y)
        for x, y in zip(a, b)
    ):
        return
    raise _NoCopy(f"Expected src and dst to be visited in the same order, but found {a} and {b}")


def _region(
    buffer: Buffer, indices: Sequence[PrimExpr], loops: dict[e.Var, Range]
) -> s.BufferRegion:
    region = []
    for index in indices:
        interval = eval_set(index, loops)
        assert isinstance(interval, IntervalSet), "offsets have bounds, so indices do"
        region.append(interval.as_range(Analyzer()))
    return s.BufferRegion(buffer, region)
