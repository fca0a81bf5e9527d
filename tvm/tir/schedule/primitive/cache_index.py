"""Compute the indices at which a block reads in advance, and keep them in buffers."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import PrimExpr, Range
from tvm.ir.type import PointerType, PrimType
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.effects import is_stateful_call
from tvm.tir.expr import (
    BufferLoad,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Let,
    Var,
    make_const,
)
from tvm.tir.functor import expr_children, substitute, vars_in, walk
from tvm.tir.schedule.analysis.query import block_of, scope_of
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.primitive.set_scope import require_scope
from tvm.tir.schedule.rebuild import TrackingMutator, nest
from tvm.tir.schedule.scopes import TRUE, ScopeEdit, edit_scope, sref_below
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, BufferStore, Stmt

KIND = kind("CacheIndex", "cache_index", "block", "=storage_scope", "=cse_thresh", many=True)
_ONLY_OF_VARIABLES = (BufferLoad, Let)


def cache_index(
    state: SRefTree, block: StmtSRef, storage_scope: str, cse_thresh: int
) -> list[StmtSRef]:
    """Give each computed index of the block's reads a buffer and a block that fills it.

    Parts of an index that occur fewer than `cse_thresh` times are not kept, but what they are made
    of may be. A block that computes no index stays as it is.

    for i: B[i] = A[i // 4 + i // 8]
    ->
    for ax0: index_var_0[ax0] = ax0 // 4 + ax0 // 8       # index_0
    for i: B[i] = A[index_var_0[i]]

    The regions that the block declares stay as they were: the new buffers are not among them.
    """
    require_scope(storage_scope)
    node, scope = block_of(block), scope_of(block)
    chosen = _chosen(node, max(cse_thresh, 1))
    if not chosen:
        return []
    caches = [_Cache(node, expr, i, storage_scope) for i, expr in enumerate(chosen)]
    rule = _UseCaches(node, caches)
    new = rule.visit_stmt(node)
    assert isinstance(new, Block), "a block stays a block"
    top = sref_below(scope, block).stmt
    assert top is not None, "an sref in the scope"
    edit = ScopeEdit({node: new}, before={top: [cache.nest for cache in caches]})
    edit.reuse.update({old: now for old, now in rule.reuse.items() if old is not node})
    edit_scope(state, scope, edit, allocate=[cache.buffer for cache in caches])
    return [state.get_sref(cache.block) for cache in caches]


class _Cache:
    """One index expression, its buffer, and the loops that fill it."""

    def __init__(self, node: Block, expr: PrimExpr, number: int, storage_scope: str) -> None:
        self.expr = expr
        domains = {iv.var: iv for iv in node.iter_vars}
        axes = [domains[var] for var in dict.fromkeys(vars_in(expr)) if var in domains]
        name = f"index_var_{number}"
        data = Var(name, PointerType(PrimType(str(expr.dtype)), storage_scope))
        shape: list[PrimExpr] = []
        self.near: list[PrimExpr] = []
        loops: list[tuple[Var, PrimExpr]] = []
        iter_vars: list[IterVar] = []
        renamed: dict[Var, PrimExpr] = {}
        indices: list[PrimExpr] = []
        for i, iv in enumerate(axes):
            assert iv.dom is not None, "block variables have domains"
            dtype = iv.var.dtype
            loop, var = Var(f"ax{i}", dtype), Var(f"v{i}", dtype)
            loops.append((loop, iv.dom.extent))
            dom = Range.from_min_extent(make_const(0, dtype), iv.dom.extent)
            iter_vars.append(IterVar(dom, var, IterVar.DataPar))
            renamed[iv.var] = iv.dom.min + var
            shape.append(iv.dom.extent)
            self.near.append(iv.var - iv.dom.min)
            indices.append(var)
        step = IntImm("int32", 1)  # one step for all dimensions, as the original writes it
        self.buffer = Buffer(data, expr.dtype, shape, [step], name=name)
        self.block = Block(
            iter_vars, [], [BufferRegion.from_point(self.buffer, indices)], f"index_{number}",
            BufferStore(self.buffer, substitute(expr, renamed), indices),
        )  # fmt: skip
        values = [loop for loop, _ in loops]
        self.nest: Stmt = nest(loops, BlockRealize(values, TRUE, self.block))


class _UseCaches(TrackingMutator):
    """Loads an index where it was computed; the regions that blocks declare stay."""

    def __init__(self, node: Block, caches: Sequence[_Cache]) -> None:
        super().__init__()
        self._caches = list(caches)

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        for cache in self._caches:
            if expr.dtype is cache.expr.dtype and expr_deep_equal(expr, cache.expr):
                return BufferLoad(cache.buffer, cache.near, None, expr.span)
        return super().visit_expr(expr)

    def visit_region(self, region: BufferRegion) -> BufferRegion:
        return region


class _Count:
    """How often an expression occurs, and which occurrence was the first."""

    __slots__ = ("expr", "first", "times")

    def __init__(self, expr: PrimExpr, first: int) -> None:
        self.expr, self.first, self.times = expr, first, 0


def _chosen(node: Block, threshold: int) -> list[PrimExpr]:
    """The expressions to keep: the largest first, those of one size in the order of the block."""
    names = {iv.var for iv in node.iter_vars}
    pending: list[_Count] = []

    def found(expr: PrimExpr, times: int, first: int) -> None:
        for part in _computed(expr, names):
            same = [c for c in pending if expr_deep_equal(c.expr, part)]
            entry = same[0] if same else _Count(part, first)
            if not same:
                pending.append(entry)
            entry.times += times

    order = 0
    for stmt in (node.init, node.body):
        for part in () if stmt is None else walk(stmt):
            if isinstance(part, BufferLoad):
                for index in part.indices:
                    found(index, 1, order)
                    order += 1
    kept: list[_Count] = []
    while pending:
        largest = max(pending, key=lambda count: (_size(count.expr), -count.first))
        pending.remove(largest)
        if largest.times >= threshold:
            kept.append(largest)
            continue
        for child in expr_children(largest.expr):
            found(child, largest.times, largest.first)
    return [count.expr for count in kept]


def _size(expr: PrimExpr) -> int:
    return sum(1 for _ in walk(expr))


def _computed(expr: PrimExpr, names: set[Var]) -> list[PrimExpr]:
    """The largest parts of an expression that are worth a buffer: whole numbers to compute."""
    found: list[PrimExpr] = []
    stack = [expr]
    while stack:
        part = stack.pop()
        if isinstance(part, (Var, IntImm)):
            continue
        whole = part.dtype.is_integer and part.dtype.is_scalar and not isinstance(part, BufferLoad)
        if whole and _is_function_of(part, names):
            found.append(part)
        else:
            stack.extend(reversed(expr_children(part)))
    return found


def _is_function_of(expr: PrimExpr, names: set[Var]) -> bool:
    """True if the value depends on some of the variables and on nothing else, and never fails."""
    used = False
    for part in walk(expr):
        if isinstance(part, _ONLY_OF_VARIABLES):
            return False
        if isinstance(part, Var):
            if part not in names:
                return False
            used = True
        if is_stateful_call(part):
            return False
        if isinstance(part, (FloorDiv, FloorMod)) and not isinstance(part.b, IntImm):
            return False
    return used
