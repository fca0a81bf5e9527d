"""Let a block run over other variables: fusions and splits of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from tvm.arith import Analyzer, iter_map_simplify
from tvm.ir.expr import PrimExpr, Range
from tvm.support.dtype import DataType
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import (
    BufferLoad,
    Call,
    FloorDiv,
    IntImm,
    IterVar,
    Var,
    is_call_of,
    make_const,
)
from tvm.tir.functor import StmtExprMutator, substitute, vars_in
from tvm.tir.index_map import IndexMap
from tvm.tir.op.arith import is_one, is_zero, logical_and
from tvm.tir.schedule.analysis.affine import loop_ranges
from tvm.tir.schedule.analysis.query import block_of, loop_of, loops_above, realize_of
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.rebuild import change_block, nest
from tvm.tir.schedule.scopes import TRUE
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, BufferStore, IfThenElse, Stmt

T = TypeVar("T")
KIND = kind("TransformBlockLayout", "transform_block_layout", "block", "index_map")


def transform_block_layout(state: SRefTree, block: StmtSRef, index_map: IndexMap) -> None:
    """Replace the block's variables, and the loops around it, by mapped ones.

    for i, j: B[i, j] = f(A[i, j])   ->   for ij: B[ij // m, ij % m] = f(A[ij // m, ij % m])
                                                                   (lambda i, j: [i * m + j])
    """
    node = block_of(block)
    realize = realize_of(state, block)
    loops = loops_above(block)
    _require_plain(node, realize, loops)
    extents = [iv.dom.extent for iv in node.iter_vars if iv.dom is not None]
    try:
        used = _within(index_map, extents)
        back = used.inverse(extents)
        shape = used.map_shape(extents)
    except RuntimeError as err:
        raise Illegal(
            f"the map {index_map} is no bijection of the variables of block {node.name_hint!r}",
            legal="a map that uses each part of each variable exactly once",
            spots=[node],
            fast="The index map is not bijective affine",
        ) from err
    types = _types(node, index_map)
    new_vars = [Var(f"v{i}", dtype) for i, dtype in enumerate(_dtypes(node, index_map, shape))]
    analyzer = Analyzer()
    iter_vars: list[IterVar] = []
    for var, extent, type_ in zip(new_vars, shape, types):
        dom = Range.from_min_extent(make_const(0, var.dtype), _like(extent, var))
        analyzer.bind_domain(var, dom)
        iter_vars.append(IterVar(dom, var, type_))
    old_values = back.map_indices(new_vars, analyzer)
    for number, value in _leading_units(index_map, extents, new_vars).items():
        old_values[number] = value
    values = {iv.var: _like(value, iv.var) for iv, value in zip(node.iter_vars, old_values)}
    rule = _Accesses({iv.var: iv.dom for iv in iter_vars if iv.dom is not None}, analyzer)
    changed = rule.visit_stmt(substitute(change_block(node, iter_vars=[]), values))
    assert isinstance(changed, Block), "a block stays a block"
    new = change_block(changed, iter_vars=iter_vars)
    new_loops: list[tuple[Var, PrimExpr]] = [
        (Var(f"ax{i}", iv.var.dtype), iv.dom.extent)
        for i, iv in enumerate(iter_vars)
        if iv.dom is not None
    ]
    body = nest(new_loops, BlockRealize([v for v, _ in new_loops], TRUE, new, realize.span))
    state.replace(loops[0] if loops else block, body, {node: new})


def _dtypes(node: Block, index_map: IndexMap, shape: Sequence[PrimExpr]) -> list[DataType]:
    """The types of the new variables: the block's own, or a literal's if that is wider."""
    if not node.iter_vars:
        return [extent.dtype for extent in shape]
    dtype = node.iter_vars[0].var.dtype
    return [
        index.dtype if isinstance(index, IntImm) and index.dtype.bits > dtype.bits else dtype
        for index in index_map.final_indices
    ]


def _leading_units(
    index_map: IndexMap, extents: Sequence[PrimExpr], new_vars: Sequence[Var]
) -> dict[int, PrimExpr]:
    """The variables of one value that come first in a fusion, by number, as quotients of it.

    n, h of (1, 16)  ->  nh, in which n is nh // 16, so that an index which n was is still one.
    """
    found: dict[int, PrimExpr] = {}
    for index in index_map.final_indices:
        fused = list(vars_in(index))
        first = next((n for n, v in enumerate(index_map.initial_indices) if v in fused), None)
        if first is None or len(fused) == 1 or not is_one(extents[first]):
            continue
        more = [*extents]
        more[first] = make_const(2, more[first].dtype)
        value = index_map.inverse(more).map_indices(list(new_vars))[first]
        if isinstance(value, FloorDiv):
            found[first] = value
    return found


def _within(index_map: IndexMap, extents: Sequence[PrimExpr]) -> IndexMap:
    """The map as it is on these extents: of `i % 4` for i below 3 only three values are met."""
    analyzer = Analyzer()
    one = IntImm("int64", 1)
    mapped = math.prod(index_map.map_shape(extents), start=one)
    if analyzer.can_prove_equal(mapped, math.prod(extents, start=one)):
        return index_map  # each value is met
    for var, extent in zip(index_map.initial_indices, extents):
        analyzer.bind(var, Range.from_min_extent(make_const(0, var.dtype), _like(extent, var)))
    simple = [analyzer.simplify(index) for index in index_map.final_indices]
    return IndexMap(index_map.initial_indices, simple, index_map.inverse_index_map)


class _Accesses(StmtExprMutator):
    """Writes places of access as iteration maps where they are some; other values stay.

    `A[7 - v, w]` is `A[v * -1 + 7, w]`; in `A[7 - v, v * 2]` the indices are no map together.
    """

    def __init__(self, doms: Mapping[Var, Range], analyzer: Analyzer) -> None:
        super().__init__()
        self._doms, self._analyzer = doms, analyzer
        self._holds: PrimExpr = TRUE

    def visit_block_(self, op: Block) -> Stmt:
        made = super().visit_block_(op)
        assert isinstance(made, Block), "a block stays a block"
        reads = [self._region(region) for region in made.reads]
        return change_block(made, reads=reads, writes=[self._region(r) for r in made.writes])

    def _region(self, region: BufferRegion) -> BufferRegion:
        mins = self._indices([part.min for part in region.region])
        extents = [self._analyzer.simplify(part.extent) for part in region.region]
        ranges = [Range.from_min_extent(*part) for part in zip(mins, extents)]
        return BufferRegion(region.buffer, ranges)

    def visit_if_then_else_(self, op: IfThenElse) -> Stmt:
        then = self._where(op.condition, lambda: self.visit_stmt(op.then_case))
        rest = None if op.else_case is None else self.visit_stmt(op.else_case)
        return IfThenElse(self.visit_expr(op.condition), then, rest, op.span)

    def visit_call_(self, op: Call) -> PrimExpr:
        if not is_call_of(op, "tir.if_then_else"):
            return super().visit_call_(op)
        condition, then, rest = op.args
        chosen = self._where(condition, lambda: self.visit_expr(then))
        args = [self.visit_expr(condition), chosen, self.visit_expr(rest)]
        return Call(op.dtype, op.op, args, op.span)

    def _where(self, condition: PrimExpr, visit: Callable[[], T]) -> T:
        """What the visit gives where the condition holds."""
        before, self._holds = self._holds, logical_and(self._holds, condition)
        try:
            return visit()
        finally:
            self._holds = before

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        indices = self._indices([self.visit_expr(index) for index in op.indices])
        return BufferLoad(op.buffer, indices, op.predicate, op.span)

    def visit_buffer_store_(self, op: BufferStore) -> Stmt:
        indices = self._indices([self.visit_expr(index) for index in op.indices])
        return BufferStore(op.buffer, self.visit_expr(op.value), indices, op.predicate, op.span)

    def _indices(self, indices: Sequence[PrimExpr]) -> list[PrimExpr]:
        if all(isinstance(index, (Var, IntImm)) for index in indices):
            return [*indices]
        made = iter_map_simplify(
            indices, self._doms, self._holds, "surjective", simplify_trivial_iterators=False
        )
        made = _with_quotients(indices, made)
        if not all(expr_deep_equal(new, old) for new, old in zip(made, indices)):
            return made
        # no map: v0.22 leaves `(g * 3 + f) // 3`, which hides from our rules that it is g
        return _with_quotients(indices, [self._analyzer.simplify(index) for index in indices])


def _with_quotients(old: Sequence[PrimExpr], new: Sequence[PrimExpr]) -> list[PrimExpr]:
    """The new indices; one that is a quotient of one value stays so."""
    return [
        i if isinstance(i, FloorDiv) and isinstance(n, IntImm) else n for i, n in zip(old, new)
    ]


def _like(value: PrimExpr, var: Var) -> PrimExpr:
    return value if value.dtype is var.dtype else value.astype(var.dtype)


def _require_plain(node: Block, realize: BlockRealize, loops: list[StmtSRef]) -> None:
    names = {loop_of(sref).loop_var for sref in loops}
    bound = [v for v in realize.iter_values if isinstance(v, Var)]
    alone = all(loop_of(sref).body is inner.stmt for sref, inner in pairwise(loops))
    innermost = loop_of(loops[-1]).body is realize if loops else True
    if set(bound) != names or len(bound) != len(realize.iter_values) or not (alone and innermost):
        raise Illegal(
            f"the variables of block {node.name_hint!r} are not bound to one loop each, or its "
            "loops hold other statements",
            legal="a block in loops of its own, one a variable, as it was written",
            spots=[node],
            fast="The block is not in a perfect nest of loops that are its variables",
        )
    ranges = loop_ranges(loops)
    analyzer = Analyzer()
    whole = all(
        isinstance(value, Var)
        and iv.dom is not None
        and is_zero(iv.dom.min)
        and analyzer.can_prove_equal(ranges[value].min, iv.dom.min)
        and analyzer.can_prove_equal(ranges[value].extent, iv.dom.extent)
        for iv, value in zip(node.iter_vars, realize.iter_values)
    )
    if not (whole and is_one(realize.predicate)):
        raise Illegal(
            f"block {node.name_hint!r} does not run for all values of its variables",
            legal="loops over the whole domains, which start at 0, and no predicate",
            spots=[node],
            fast="The loops do not cover the domains of the block",
        )


def _types(node: Block, index_map: IndexMap) -> list[int]:
    """The kind of each new variable: that of the old ones it is made of."""
    own = {var: iv.iter_type for var, iv in zip(index_map.initial_indices, node.iter_vars)}
    found: list[int] = []
    for index in index_map.final_indices:
        types = {own[part] for part in vars_in(index) if part in own}
        if len(types) > 1:
            raise Illegal(
                f"the new variable {index} joins variables of different kinds",
                legal="new variables made of only data-parallel or only reducing ones",
                spots=[node],
                fast="The index map joins block iters of different types",
            )
        found.append(types.pop() if types else IterVar.DataPar)
    return found
