"""Statements that may overwrite what they read, element by element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tvm.arith import Analyzer, IterMapLevel, detect_iter_map
from tvm.arith.pattern import linear_equation
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.structural import structural_equal
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.buffer import Buffer
from tvm.tir.functor import StmtExprVisitor, uses_any, uses_var
from tvm.tir.op import arith as ops
from tvm.tir.op.math import abs as absolute

from .storage_steps import Step


def is_in_place(step: Step, target: e.Var, source: e.Var) -> bool:
    """Each element of `target` is stored once, from the element of `source` at the same indices.

    for i, j in grid(4, 8): B[i, j] = A[i, j] * 2      yes
    for k, j in grid(4, 8): B[j] = A[j] * 2            no: A[j] is read again when k is 1
    """
    check = _InPlace(target, source)
    check.visit_stmt(step.stmt)
    if not check.holds or len(check.stores) != 1:
        return False
    ((store, loops),) = check.stores
    domains = {loop.loop_var: Range.from_min_extent(loop.min, loop.extent) for loop in loops}
    shared = _scope(source).startswith("shared")
    for launch in step.threads:
        if isinstance(launch.node, e.IterVar):
            if shared and launch.node.thread_tag.startswith("blockIdx"):
                continue  # each block has its own
            domains[launch.node.var] = Range.from_min_extent(0, launch.value)
    return _are_apart(store.indices, domains)


def _scope(var: e.Var) -> str:
    return str(getattr(var.type_annotation, "storage_scope", ""))


def _are_apart(indices: tuple[PrimExpr, ...], domains: dict[e.Var, Range]) -> bool:
    """No two iterations index the same element."""
    moving = {var: dom for var, dom in domains.items() if not ops.is_one(dom.extent)}
    terms = []
    for index in indices:
        if isinstance(index, e.Ramp):
            if not isinstance(index.lanes, e.IntImm):
                return not moving
            lane = e.Var("lane", index.base.dtype)
            moving[lane] = Range.from_min_extent(0, index.lanes)
            terms.append(ops.add(index.base, ops.multiply(index.stride, lane)))
        else:
            terms.append(index)
    terms = [p for p in terms if uses_any(p, moving)]
    if not moving:
        return True
    found = detect_iter_map(terms, moving, check_level=IterMapLevel.Bijective)
    return bool(found.indices) or _are_numbers(terms, moving)


def _are_numbers(indices: Sequence[PrimExpr], domains: dict[e.Var, Range]) -> bool:
    """Each variable is in one index, with a scale above what the lower digits add up to.

    x * 12 + y for y in 0..7 is another number for other values of x and y.
    """
    left = set(domains)
    prover = Analyzer()
    for index in indices:
        inside = [var for var in domains if uses_var(index, var)]
        scales = linear_equation(index, inside)
        if not scales or not left.issuperset(inside):
            return False
        left.difference_update(inside)
        reach: PrimExpr = ops.const(0, "int64")
        for scale, var in sorted(
            zip(scales, inside), key=lambda pair: abs(getattr(pair[0], "value", 1 << 62))
        ):
            step = absolute(ops.cast(scale, "int64"))
            if not prover.can_prove(ops.greater(prover.simplify(step), reach)):
                return False
            last = ops.subtract(ops.cast(domains[var].extent, "int64"), 1)
            reach = prover.simplify(ops.add(reach, ops.multiply(step, last)))
    return not left


class _InPlace(StmtExprVisitor):
    def __init__(self, target: e.Var, source: e.Var) -> None:
        super().__init__()
        self.holds = True
        self.stores: list[tuple[s.BufferStore, tuple[s.For, ...]]] = []
        self._target: Final = target
        self._source: Final = source
        self._loops: tuple[s.For, ...] = ()
        self._store: s.BufferStore | None = None
        self._in_index = False

    def visit_var_(self, op: e.Var) -> None:
        if op is self._target or op is self._source:
            self.holds = False  # who knows what is done with it

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        if op.attr_key in ("extern_scope", "volatile_scope"):
            self.holds = False
        super().visit_attr_stmt_(op)

    def visit_while_(self, op: s.While) -> None:
        self.holds = False

    def visit_for_(self, op: s.For) -> None:
        outer, self._loops = self._loops, (*self._loops, op)
        super().visit_for_(op)
        self._loops = outer

    def visit_buffer_use(self, buffer: Buffer) -> None:
        pass

    def visit_buffer_def(self, buffer: Buffer) -> None:
        pass

    def visit_buffer_store_(self, op: s.BufferStore) -> None:
        if op.buffer.data is self._source:
            self.holds = False  # it may be an element of the target that is stored already
        self._indices(op.indices)
        outer = self._store
        self._store = op if op.buffer.data is self._target else None
        if self._store is not None:
            self.stores.append((op, self._loops))
        self.visit_expr(op.value)
        if op.predicate is not None:
            self.visit_expr(op.predicate)
        self._store = outer

    def _indices(self, indices: tuple[PrimExpr, ...]) -> None:
        outer, self._in_index = self._in_index, True
        self.visit_exprs(indices)
        self._in_index = outer

    def visit_buffer_load_(self, op: e.BufferLoad) -> None:
        data = op.buffer.data
        if data is self._target or self._in_index:
            self.holds = False  # it may be another element of either
        elif data is self._source:
            store = self._store
            if store is None or not _has_same_indices(store, op):
                self.holds = False
        self._indices(op.indices)
        if op.predicate is not None:
            self.visit_expr(op.predicate)


def _has_same_indices(store: s.BufferStore, load: e.BufferLoad) -> bool:
    to, of = store.buffer, load.buffer
    if to.dtype is not of.dtype or store.value.dtype is not load.dtype:
        return False
    inner = structural_equal(list(to.shape[1:]), list(of.shape[1:]))
    alike = inner and structural_equal(
        [*to.strides, to.elem_offset], [*of.strides, of.elem_offset]
    )
    return alike and all(map(expr_deep_equal, store.indices, load.indices))
