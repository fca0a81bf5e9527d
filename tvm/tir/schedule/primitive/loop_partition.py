"""Run a loop as several loops, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IterVar, as_expr, make_const
from tvm.tir.functor import substitute, uses_var, walk
from tvm.tir.op.arith import cast
from tvm.tir.renew_defs import renew_defs
from tvm.tir.schedule.analysis.affine import analyzer_at
from tvm.tir.schedule.analysis.query import block_of, loop_of, realizes_below
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.loops import commit_loops, require_plain
from tvm.tir.schedule.rebuild import TrackingMutator, change_block
from tvm.tir.schedule.regions import with_regions
from tvm.tir.schedule.scopes import TRUE
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BlockRealize, For, SeqStmt, Stmt

KIND = kind(
    "LoopPartition", "loop_partition", "loop", "*factors", "=preserve_unit_iters", many=True
)
Factor = PrimExpr | int | None


def loop_partition(
    state: SRefTree, loop: StmtSRef, factors: Sequence[Factor], preserve_unit_iters: bool
) -> list[StmtSRef]:
    """Make the loops, whose extents are the factors and what is left; a block around them keeps
    the scope as it was for others.

    for i in range(n): S(i)
    ->
    block "S_i_common":
        block "S_i0_partition": for i0 in range(f): S(i0)
        block "S_i1_partition": for i1 in range(f, n): S(i1)
    """
    node = loop_of(loop)
    require_plain(node, "loop_partition")
    _require_no_init(node)
    children = state.child_blocks(loop)
    if not children:
        raise Illegal(
            f"the loop {node.loop_var.name!r} has no block", legal="a loop around a block",
            spots=[node],
        )  # fmt: skip
    name = f"{block_of(children[0]).name_hint}_{node.loop_var.name}"
    extents = _extents(node, factors, analyzer_at(loop))
    new_vars = [node.loop_var.copy_with_suffix(str(i)) for i in range(len(extents))]
    zero: PrimExpr = make_const(0, node.loop_var.dtype)
    parts: list[Stmt] = []
    for i, (var, start) in enumerate(zip(new_vars, accumulate(extents[:-1], initial=zero))):
        body = renew_defs(substitute(node.body, {node.loop_var: var}))
        body = _Namer(f"_{node.loop_var.name}{i}").visit_stmt(body)
        part = For(var, start, extents[i], node.kind, body, span=node.span)
        parts.append(_around(part, f"{name}{i}_partition"))
    whole = _around(SeqStmt.flatten(parts), f"{name}_common")
    made = commit_loops(state, loop, whole, {}, preserve_unit_iters)
    found = {n.loop_var: n for n in walk(made) if isinstance(n, For)}
    return [state.get_sref(found[var]) for var in new_vars]


def _around(body: Stmt, name: str) -> BlockRealize:
    """A block without variables, which says what its body accesses."""
    return BlockRealize([], TRUE, with_regions(Block([], [], [], name, body, span=body.span)))


def _require_no_init(node: For) -> None:
    """Refuse reductions over the loop that set their start themselves: only one part would."""
    for realize in realizes_below(node.body):
        block = realize.block
        for iv, value in zip(block.iter_vars, realize.iter_values):
            reduces = iv.iter_type == IterVar.CommReduce
            uses = uses_var(value, node.loop_var)
            if block.init is not None and reduces and uses:
                raise Illegal(
                    f"block {block.name_hint!r} reduces over the loop {node.loop_var.name!r} and "
                    "has an init",
                    legal="a loop of data-parallel variables, or decompose_reduction first",
                    spots=[node, block],
                    fast="The loop is a reduction loop of a block with an init",
                )


def _extents(node: For, factors: Sequence[Factor], analyzer: Analyzer) -> list[PrimExpr]:
    """How often each part runs; the open one, or one more, runs the remaining iterations."""
    dtype = node.loop_var.dtype
    given = [None if f is None else cast(as_expr(f), dtype) for f in factors]
    if given.count(None) > 1 or not given:
        raise Illegal(
            f"{given.count(None)} of {len(given)} factors are None",
            legal="one or more factors, at most one of them None",
            spots=[node],
            fast="`factors` can have at most one None",
        )
    known = [f for f in given if f is not None]
    remaining: PrimExpr = node.extent
    for factor in known:
        remaining = analyzer.simplify(remaining - factor)
    covered = None not in given and analyzer.can_prove_equal(remaining, 0)
    if not all(analyzer.can_prove(f > 0) for f in known) or not (
        covered or analyzer.can_prove(remaining > 0)
    ):
        raise Illegal(
            f"parts of {[str(f) for f in known]} iterations are asked of the loop "
            f"{node.loop_var.name!r} with extent {node.extent}, which leaves {remaining}",
            legal="positive factors whose sum is at most the extent (less, beside a None)",
            spots=[node],
            fast="The sum of the factors is larger than the extent of the loop",
        )
    if covered:
        return known
    return [remaining if f is None else f for f in (given if None in given else [*given, None])]


class _Namer(TrackingMutator):
    """Gives each block a name of its own."""

    def __init__(self, suffix: str) -> None:
        super().__init__()
        self._suffix = suffix

    def visit_block_(self, op: Block) -> Stmt:
        new = super().visit_block_(op)
        assert isinstance(new, Block), "a block stays a block"
        return change_block(new, name_hint=new.name_hint + self._suffix)
