"""Blocks over larger domains than they were written for: their loops, and copies around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, Call, IntImm, IterVar, Var, make_const
from tvm.tir.functor import vars_in
from tvm.tir.op.arith import less, logical_and
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, BufferStore, For, Stmt

from .analysis.query import block_of, loops_above, realize_of
from .error import Illegal
from .rebuild import nest
from .scopes import TRUE, ScopeEdit
from .tree import SRefTree


class Grow(ScopeEdit):
    """Puts a block into loops that run over larger extents, named by loop variable."""

    def __init__(
        self,
        old: Block,
        new: Block,
        extents: dict[Var, PrimExpr],
        before: dict[Stmt, list[Stmt]],
        after: dict[Stmt, list[Stmt]],
    ) -> None:
        super().__init__({old: new}, before, after)
        self._extents = extents

    def visit_for_(self, op: For) -> Stmt:
        new = super().visit_for_(op)
        extent = self._extents.get(op.loop_var)
        if extent is None or extent is op.extent:
            return new
        if isinstance(new, For):
            return _with_extent(new, extent)
        # the loop is the outermost one, and has the added statements around it
        parts = [_with_extent(p, extent) if _is_loop(p, op.loop_var) else p for p in new.seq]  # type: ignore[attr-defined]
        return type(new)(parts, new.span)  # type: ignore[call-arg]


def _is_loop(stmt: Stmt, var: Var) -> bool:
    return isinstance(stmt, For) and stmt.loop_var is var


def _with_extent(loop: Stmt, extent: PrimExpr) -> For:
    assert isinstance(loop, For), "a loop"
    return For(
        loop.loop_var, loop.min, extent, loop.kind, loop.body, loop.thread_binding,
        loop.annotations, loop.span,
    )  # fmt: skip


def whole_loops(state: SRefTree, block: StmtSRef) -> dict[Var, Var]:
    """The block's variables that are one loop each, over all of their domain, by those loops.

    Refused where the loops hold more than the block.
    """
    node, realize = block_of(block), realize_of(state, block)
    loops = [sref.stmt for sref in loops_above(block) if isinstance(sref.stmt, For)]
    inner = [*loops[1:], realize]
    if any(outer.body is not below for outer, below in zip(loops, inner)):
        raise no_plain_loops(node)
    prover = Analyzer()
    by_name = {loop.loop_var: loop for loop in loops}
    used = Counter(
        var
        for part in (*realize.iter_values, realize.predicate, *(loop.extent for loop in loops))
        for var in set(vars_in(part))
    )
    found: dict[Var, Var] = {}
    for iv, value in zip(node.iter_vars, realize.iter_values):
        loop = by_name.get(value) if isinstance(value, Var) and used[value] == 1 else None
        if loop is not None and iv.dom is not None and all(
            prover.can_prove_equal(a, b)
            for a, b in ((loop.min, iv.dom.min), (loop.extent, iv.dom.extent))
        ):  # fmt: skip
            found[loop.loop_var] = iv.var
    return found


def require_plain_loops(state: SRefTree, block: StmtSRef, grown: dict[Var, PrimExpr]) -> None:
    """Refuse a block that does not stand alone in one loop for each of its variables, over all of
    the variable's domain.
    """
    node = block_of(block)
    found = whole_loops(state, block)
    if set(found) != set(grown) or not len(found) == len(node.iter_vars) == len(loops_above(block)):
        raise no_plain_loops(node)


def no_plain_loops(node: Block) -> Illegal:
    """The refusal of a block whose variables are parts of loops, or of domains."""
    return Illegal(
        f"the variables of block {node.name_hint!r} are not bound to one loop each",
        legal="a block alone in loops that are its variables, as it was written",
        spots=[node],
        fast="The block does not have a trivial binding",
    )


def pad_nest(source: Buffer, target: Buffer) -> Stmt:
    """target[v] = source[v] inside of the source's shape, else zero."""
    iter_vars, values, loops = grid_axes(target.shape)
    indices = [iv.var for iv in iter_vars]
    inside: PrimExpr = TRUE
    for index, small, large in zip(indices, source.shape, target.shape):
        if small is not large:
            inside = logical_and(inside, less(index, small))
    zero = make_const(0, source.dtype)
    value = Call(source.dtype, "tir.if_then_else", (inside, BufferLoad(source, indices), zero))
    block = Block(
        iter_vars,
        [BufferRegion.from_point(source, indices)],
        [BufferRegion.from_point(target, indices)],
        target.name,
        BufferStore(target, value, indices),
    )
    return nest(loops, BlockRealize(values, TRUE, block))


def crop_nest(source: Buffer, target: Buffer) -> Stmt:
    """target[v] = source[v] over the target's shape."""
    iter_vars, values, loops = grid_axes(target.shape)
    indices = [iv.var for iv in iter_vars]
    block = Block(
        iter_vars,
        [BufferRegion.from_point(source, indices)],
        [BufferRegion.from_point(target, indices)],
        source.name,
        BufferStore(target, BufferLoad(source, indices), indices),
    )
    return nest(loops, BlockRealize(values, TRUE, block))


def grid_axes(
    shape: Sequence[PrimExpr],
) -> tuple[list[IterVar], list[PrimExpr], list[tuple[Var, PrimExpr]]]:
    """Block variables over a shape, the loop variables that they are, and the loops."""
    iter_vars: list[IterVar] = []
    values: list[PrimExpr] = []
    loops: list[tuple[Var, PrimExpr]] = []
    for dim, extent in enumerate(shape):
        loop, var = Var(f"i{dim}", extent.dtype), Var(f"v{dim}", extent.dtype)
        dom = Range.from_min_extent(IntImm(extent.dtype, 0), extent)
        iter_vars.append(IterVar(dom, var, IterVar.DataPar))
        values.append(loop)
        loops.append((loop, extent))
    return iter_vars, values, loops


