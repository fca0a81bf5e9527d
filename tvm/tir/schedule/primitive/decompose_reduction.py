"""Give the init of a reduction a block and loops of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm.ir.expr import PrimExpr
from tvm.tir.analysis.deep_equal import expr_deep_equal, region_deep_equal
from tvm.tir.analysis.reducer import reducer_of
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import Call, IterVar, Var, is_call_of
from tvm.tir.functor import StmtExprMutator, substitute, uses_any, vars_in
from tvm.tir.op.arith import is_one, logical_and
from tvm.tir.schedule.analysis.affine import loop_ranges
from tvm.tir.schedule.analysis.blocks import require_reduction
from tvm.tir.schedule.analysis.query import (
    block_of,
    is_ancestor,
    loop_of,
    loops_above,
    realize_of,
    scope_of,
)
from tvm.tir.schedule.error import Illegal, name_of
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.predicates import conditions_without, guard_of_idle_loops
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.schedule.scopes import TRUE, ScopeEdit, edit_scope
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, For, Stmt

KIND = kind("DecomposeReduction", "decompose_reduction", "block", "loop")


def decompose_reduction(state: SRefTree, block: StmtSRef, loop: StmtSRef) -> StmtSRef:
    """Initialize before `loop`; the block itself only updates.

    for i: for k:                       for i:
        with T.init(): C[i] = 0     ->      C[i] = 0          # C_init
        C[i] += A[i, k]                     for k: C[i] += A[i, k]    # C_update
    """
    node = block_of(block)
    loops = loops_above(block)
    if loop not in loops:
        raise Illegal(
            f"{name_of(loop.stmt)} is not around block {node.name_hint!r}",
            legal="one of the loops around the block",
            spots=[loop.stmt, node],
            fast="The loop is not an ancestor of the block",
        )
    require_reduction(state, block)
    realize = realize_of(state, block)
    _require_above_reduction(realize, loops, loop)
    init = _init_nest(realize, loops, loop)
    update, predicate = _update(node), realize.predicate
    if state.is_guarded(block):
        update, predicate = _without_guard(node, update, realize)
    edit = _Decompose(realize, predicate, update, before={loop_of(loop): [init]})
    scope = scope_of(block)
    assert is_ancestor(scope, loop), "the loop is within the scope"
    edit_scope(state, scope, edit)
    stmt: Stmt = init
    while isinstance(stmt, For):
        stmt = stmt.body
    assert isinstance(stmt, BlockRealize), "the innermost statement of the nest"
    return state.get_sref(stmt.block)


class _Decompose(ScopeEdit):
    """Replaces the block, and where it runs."""

    def __init__(
        self,
        old: BlockRealize,
        predicate: PrimExpr,
        update: Block,
        before: Mapping[Stmt, Sequence[Stmt]],
    ) -> None:
        super().__init__({old.block: update}, before=before)
        self._old, self._predicate = old, predicate

    def visit_block_realize_(self, op: BlockRealize) -> Stmt:
        if op is self._old and self._predicate is not op.predicate:
            new = self.visit_block_(op.block)
            assert isinstance(new, Block), "a block stays a block"
            whole = BlockRealize(op.iter_values, self._predicate, new, op.span)
            return self._around(op.block, whole)
        return super().visit_block_realize_(op)


def _without_guard(
    node: Block, update: Block, realize: BlockRealize
) -> tuple[Block, PrimExpr]:
    """The update where its condition holds only: elsewhere it adds what the sum started from.

    C_rf[k1] += if_then_else(k0 * 8 + k1 < n, A[k0 * 8 + k1], 0)
    ->
    where(k0 * 8 + k1 < n): C_rf[k1] += A[k0 * 8 + k1]
    """
    reducer = reducer_of(node)
    part = reducer.parts[0] if reducer is not None and len(reducer.parts) == 1 else None
    if reducer is None or not (isinstance(part, Call) and is_call_of(part, "tir.if_then_else")):
        return update, realize.predicate
    condition, value, start = part.args
    if not expr_deep_equal(start, reducer.identities[0]):
        return update, realize.predicate
    bound = {iv.var: v for iv, v in zip(node.iter_vars, realize.iter_values)}
    body = _Instead(part, value).visit_stmt(update.body)
    runs = logical_and(realize.predicate, substitute(condition, bound))
    return change_block(update, body=body), runs


class _Instead(StmtExprMutator):
    """Puts one expression in the place of another."""

    def __init__(self, old: PrimExpr, new: PrimExpr) -> None:
        super().__init__()
        self._old, self._new = old, new

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return self._new if expr is self._old else super().visit_expr(expr)


def _require_above_reduction(
    realize: BlockRealize, loops: list[StmtSRef], loop: StmtSRef
) -> None:
    reducing = _reducing_loops(realize)
    for outer in loops[: loops.index(loop)]:
        if loop_of(outer).loop_var in reducing:
            raise Illegal(
                f"the loop {loop_of(outer).loop_var.name!r} outside of "
                f"{loop_of(loop).loop_var.name!r} runs over a reduction, so the init would wipe "
                "out what was summed before",
                legal="a loop that is not inside of any loop of the reduction",
                spots=[outer.stmt, loop.stmt],
                fast="The loop is not higher than all the loops related to the reduction",
            )


def _reducing_loops(realize: BlockRealize) -> set[Var]:
    return {
        node
        for iv, value in zip(realize.block.iter_vars, realize.iter_values)
        if iv.iter_type != IterVar.DataPar
        for node in vars_in(value)
    }


def _init_nest(realize: BlockRealize, loops: list[StmtSRef], loop: StmtSRef) -> Stmt:
    """The init as a block, in copies of the loops from `loop` inward that it depends on."""
    block = realize.block
    assert block.init is not None, "a reduction"
    renamed: dict[Var, PrimExpr] = {}
    iter_vars: list[IterVar] = []
    values: list[PrimExpr] = []
    for iv, value in zip(block.iter_vars, realize.iter_values):
        if iv.iter_type == IterVar.DataPar:
            copy = iv.var.copy_with_suffix("")
            renamed[iv.var] = copy
            iter_vars.append(IterVar(iv.dom, copy, iv.iter_type, iv.thread_tag, iv.span))
            values.append(value)
    writes = [BufferRegion(w.buffer, substitute(list(w.region), renamed)) for w in block.writes]
    init_block = Block(
        iter_vars, [], writes, f"{block.name_hint}_init", substitute(block.init, renamed),
        annotations=block.annotations, span=block.init.span or block.span,
    )  # fmt: skip
    used = set(vars_in(*values))
    kept = [loop_of(s) for s in loops[loops.index(loop) :] if loop_of(s).loop_var in used]
    fresh: dict[Var, PrimExpr] = {f.loop_var: f.loop_var.copy_with_suffix("_init") for f in kept}
    predicate = _init_predicate(realize, set(used), loops, loop)
    body: Stmt = BlockRealize(
        substitute(values, fresh), substitute(predicate, fresh), init_block, block.init.span
    )
    for node in reversed(kept):
        var = fresh[node.loop_var]
        assert isinstance(var, Var), "a copy of the loop variable"
        body = For(
            var, substitute(node.min, fresh), substitute(node.extent, fresh), node.kind, body,
            node.thread_binding, None, node.span,
        )  # fmt: skip
    return body


def _init_predicate(
    realize: BlockRealize, used: set[Var], loops: list[StmtSRef], loop: StmtSRef
) -> PrimExpr:
    """The parts of the predicate that are about loops of the init; the others stay behind.

    Of a limit of loops that no variable names, what it says of the outer of them: where nothing
    is added, nothing is set to its start either.
    """
    if is_one(realize.predicate):
        return TRUE
    depth = loops.index(loop)
    around, inside = loop_ranges(loops[:depth]), loop_ranges(loops[depth:])
    inner = set(inside) - used
    predicate: PrimExpr = TRUE
    for part in reversed(conditions_without(realize, {var: inside[var] for var in inner})):
        told: PrimExpr | None = part
        if uses_any(part, inner):
            told = guard_of_idle_loops(part, realize, inside, around)
        predicate = predicate if told is None else logical_and(predicate, told)
    return predicate


def _update(block: Block) -> Block:
    """The block without its init, which now reads what it updates, if it did not say so before."""
    updated = [w for w in block.writes if not any(region_deep_equal(w, r) for r in block.reads)]
    reads = [*updated, *block.reads]
    return change_block(block, reads=reads, name_hint=f"{block.name_hint}_update", init=None)
