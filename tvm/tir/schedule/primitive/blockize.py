"""Make a block of its own of a loop and all that is in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tvm.ir.expr import PrimExpr
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IterVar, Var
from tvm.tir.functor import substitute, uses_any, vars_in
from tvm.tir.op.arith import is_one, logical_and
from tvm.tir.op.forms import conjuncts
from tvm.tir.schedule.analysis.query import (
    block_of,
    is_ancestor,
    loop_of,
    loops_above,
    realize_of,
)
from tvm.tir.schedule.dividing import (
    Divided,
    OuterPart,
    divided,
    outer_regions,
)
from tvm.tir.schedule.error import Illegal, name_of
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.rebuild import TrackingMutator, change_block, change_loop
from tvm.tir.schedule.scopes import TRUE, common_ancestor, sref_below
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, For, SeqStmt, Stmt

KIND = kind("Blockize", "blockize", "target", "=preserve_unit_iters")


def blockize(
    state: SRefTree, target: StmtSRef | list[StmtSRef], preserve_unit_iters: bool
) -> StmtSRef:
    """Divide the block's variables into parts outside and inside of the loop.

    for io: for ii:                        for io:
        vi = io * n + ii             ->        block: vio = io
        S(vi)                                      for ii: vii = ii; S(vio * n + vii)

    Of several blocks, the loops below those that all share go into the new block.
    """
    if isinstance(target, list):
        return _blockize_blocks(state, target, preserve_unit_iters)
    loop = loop_of(target)
    children = state.child_blocks(target)
    if len(children) != 1:
        raise Illegal(
            f"{name_of(loop)} holds {len(children)} blocks",
            legal="a loop around exactly one block (or a list of blocks)",
            spots=[loop],
            fast="The loop subtree does not have exactly one block",
        )
    realize = realize_of(state, children[0])
    above = loops_above(children[0])
    made = divided(realize, above, above[above.index(target) :], preserve_unit_iters)
    init = None if made.init is None else _init_nest(loop, realize, made)
    reads, writes = outer_regions(made)
    swap = _Swap({realize: made if init is None else _accumulating(made)})
    body = swap.visit_stmt(loop)
    outer = Block(
        made.outer_iters, reads, writes, f"{realize.block.name_hint}_o", body, init,
        span=realize.block.span,
    )  # fmt: skip
    whole = BlockRealize(made.outer_values, made.outer_predicate, outer, realize.span)
    state.replace(target, whole, swap.reuse)
    return state.get_sref(outer)


def _accumulating(made: Divided) -> Divided:
    """The init stands outside, so the inner block reads what it adds to."""
    inner = made.inner
    return replace(made, inner=change_block(inner, reads=[*inner.writes, *inner.reads]))


def _blockize_blocks(
    state: SRefTree, blocks: Sequence[StmtSRef], preserve_unit_iters: bool
) -> StmtSRef:
    """One block around several that stand one after the other, with all loops they do not share.

    for i:                              for i:
        for j: S(i, j)          ->          block "outer_S_T_":
        for k: T(i, k)                          for j: S(i, j)
                                                for k: T(i, k)
    """
    ancestor, first, last = _stretch_of(state, blocks)
    blocks = [child for child in state.child_blocks(ancestor) if child in blocks]  # in their order
    union = OuterPart()
    made: dict[BlockRealize, Divided] = {}
    for block in blocks:
        realize = realize_of(state, block)
        above = loops_above(block)
        inside = [sref for sref in above if sref is not ancestor and is_ancestor(ancestor, sref)]
        made[realize] = union.share(divided(realize, above, inside, preserve_unit_iters))
    swap = _Swap(made)
    old = ancestor.stmt
    assert old is not None, "a common ancestor stands in the program"
    parts = _parts(old.body)
    body = SeqStmt.flatten([swap.visit_stmt(part) for part in parts[first : last + 1]])
    name = f"outer_{'_'.join([block_of(block).name_hint for block in blocks])}_"
    span = block_of(blocks[0]).span
    outer = Block(union.iters, union.reads, union.writes, name, body, span=span)
    whole = BlockRealize(union.values, union.predicate, outer, span)
    around = SeqStmt.flatten([*parts[:first], whole, *parts[last + 1 :]])
    if isinstance(old, Block):
        new = change_block(old, body=around)
        state.replace(ancestor, new, {**swap.reuse, old: new})
    else:
        state.replace(ancestor, change_loop(old, body=around), swap.reuse)
    return state.get_sref(outer)


def _stretch_of(state: SRefTree, blocks: Sequence[StmtSRef]) -> tuple[StmtSRef, int, int]:
    """The innermost sref around all blocks, and the first and last of its statements they are in.

    Refused unless those statements hold these blocks and nothing else.
    """
    if not blocks:
        raise Illegal("no block is given", legal="one or more blocks")
    ancestor = common_ancestor(blocks)
    assert ancestor.stmt is not None, "a common ancestor stands in the program"
    tops = [sref_below(ancestor, block) for block in blocks]
    numbers = [max(top.seq_index, 0) for top in tops]
    first, last = min(numbers), max(numbers)
    parts = _parts(ancestor.stmt.body)[first : last + 1]
    plain = all(isinstance(part, (For, BlockRealize)) for part in parts)
    inside = [
        child for child in state.child_blocks(ancestor)
        if first <= max(sref_below(ancestor, child).seq_index, 0) <= last
    ]  # fmt: skip
    others = [child.stmt for child in inside if child not in blocks]
    if not plain or others or len(blocks) != len(inside):
        names = [block_of(block).name_hint for block in blocks]
        raise Illegal(
            f"the blocks {names} do not stand one after the other, alone in their loops",
            legal="all blocks of neighbouring statements, each once",
            spots=others or [block.stmt for block in blocks],
            fast="The blocks are not the only ones in consecutive statements",
        )
    return ancestor, first, last


def _parts(body: Stmt) -> list[Stmt]:
    return list(body.seq) if isinstance(body, SeqStmt) else [body]


class _Swap(TrackingMutator):
    """Replaces divided blocks by their inner parts."""

    def __init__(self, made: Mapping[BlockRealize, Divided]) -> None:
        super().__init__()
        self._made = dict(made)

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_block_realize_(self, op: BlockRealize) -> Stmt:
        parts = self._made.get(op)
        if parts is None:
            return op
        self.track(op.block, parts.inner)
        return BlockRealize(parts.inner_values, parts.inner_predicate, parts.inner, op.span)


def _init_nest(loop: For, realize: BlockRealize, made: Divided) -> Stmt:
    """The init of the inner block in loops of its own, over its spatial variables."""
    assert made.init is not None, "asked for only with an init"
    renamed: dict[Var, PrimExpr] = {}
    iter_vars: list[IterVar] = []
    values: list[PrimExpr] = []
    for iv, value in zip(made.inner_iters, made.inner_values):
        if iv.iter_type == IterVar.DataPar:
            copy = iv.var.copy_with_suffix("_init")
            renamed[iv.var] = copy
            iter_vars.append(IterVar(iv.dom, copy, iv.iter_type))
            values.append(value)
    used = set(vars_in(*values))
    loops: list[For] = []
    summing: set[Var] = set()
    stmt: Stmt = loop
    while isinstance(stmt, For):
        if stmt.loop_var in used:
            loops.append(stmt)
        else:
            summing.add(stmt.loop_var)
        stmt = stmt.body
    fresh: dict[Var, PrimExpr] = {f.loop_var: f.loop_var.copy_with_suffix("") for f in loops}
    writes = [
        BufferRegion(w.buffer, substitute(list(w.region), renamed)) for w in made.inner.writes
    ]
    name = f"{realize.block.name_hint}_init"
    block = Block(iter_vars, [], writes, name, substitute(made.init, renamed), span=made.init.span)
    inside: PrimExpr = TRUE
    for part in conjuncts(made.inner_predicate):
        if not is_one(part) and not uses_any(part, summing):
            inside = logical_and(inside, substitute(part, fresh))
    body: Stmt = BlockRealize(substitute(values, fresh), inside, block)
    for old in reversed(loops):
        var = fresh[old.loop_var]
        assert isinstance(var, Var), "a copy of a loop variable"
        body = For(
            var, old.min, old.extent, old.kind, body, old.thread_binding, old.annotations, old.span
        )
    return body
