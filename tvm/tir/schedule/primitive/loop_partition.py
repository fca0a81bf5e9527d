"""Run a loop as several loops, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from tvm.arith import Analyzer, IntervalSet
from tvm.arith.int_set import eval_set
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IterVar, Var, as_expr, make_const
from tvm.tir.functor import StmtExprMutator, statements, substitute, uses_var
from tvm.tir.op.arith import cast
from tvm.tir.renew_defs import renew_defs
from tvm.tir.schedule.analysis.affine import analyzer_at, loop_ranges
from tvm.tir.schedule.analysis.query import block_of, loop_of, loops_above, realizes_below
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.loops import require_plain
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.schedule.regions import with_regions
from tvm.tir.schedule.scopes import TRUE
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, For, SeqStmt, Stmt

KIND = kind(
    "LoopPartition", "loop_partition", "loop", "*factors", "=preserve_unit_iters", many=True
)
Factor = PrimExpr | int | None


def loop_partition(
    state: SRefTree, loop: StmtSRef, factors: Sequence[Factor], preserve_unit_iters: bool
) -> list[StmtSRef]:
    """Make the loops, whose extents are the factors and what is left; a block around them keeps
    the scope as it was for others. Bindings stay as they are, those of one iteration too.

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
    around = loop_ranges(loops_above(loop))
    for i, (var, start) in enumerate(zip(new_vars, accumulate(extents[:-1], initial=zero))):
        part_range = Range.from_min_extent(start, extents[i])
        body = renew_defs(substitute(node.body, {node.loop_var: var}))
        body = _Namer(f"_{node.loop_var.name}{i}", {**around, var: part_range}).visit_stmt(body)
        part = For(var, start, extents[i], node.kind, body, span=node.span)
        parts.append(_around(part, f"{name}{i}_partition"))
    whole = _around(SeqStmt.flatten(parts), f"{name}_common")
    state.replace(loop, whole, {})
    found = {n.loop_var: n for n in statements(whole, For)}
    return [state.get_sref(found[var]) for var in new_vars]


def _around(body: Stmt, name: str) -> BlockRealize:
    """A block without variables, which leaves it to the blocks in it to say what they access."""
    return BlockRealize([], TRUE, Block([], [], [], name, body, span=body.span))


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
            fast="only one factor can be specified as -1 or none",
            detail="Only one factor can be specified as -1 or none",
        )
    known = [f for f in given if f is not None]
    remaining: PrimExpr = node.extent
    for factor in known:
        remaining = analyzer.simplify(remaining - factor)
    if not all(analyzer.can_prove(f > 0) for f in (*known, remaining)):
        raise Illegal(
            f"parts of {[str(f) for f in known]} iterations are asked of the loop "
            f"{node.loop_var.name!r} with extent {node.extent}, which leaves {remaining}",
            legal="positive factors whose sum is less than the extent",
            spots=[node],
            fast="The sum of factors is larger than or equal to the extent of loop",
            detail="The sum of factors is larger than or equal to the extent of loop {0}",
        )
    return [remaining if f is None else f for f in (given if None in given else [*given, None])]


class _Namer(StmtExprMutator):
    """Gives each block a name of its own.

    Where all variables are loops, their domains become the loops' ranges, and regions what the
    block accesses over all of them.
    """

    def __init__(self, suffix: str, ranges: Mapping[Var, Range]) -> None:
        super().__init__()
        self._suffix, self._ranges = suffix, dict(ranges)

    def visit_for_(self, op: For) -> Stmt:
        self._ranges[op.loop_var] = Range.from_min_extent(op.min, op.extent)
        return super().visit_for_(op)

    def visit_block_realize_(self, op: BlockRealize) -> Stmt:
        new = super().visit_block_realize_(op)
        assert isinstance(new, BlockRealize), "a realize stays one"
        loops = [v for v in op.iter_values if isinstance(v, Var) and v in self._ranges]
        if not loops or len(loops) != len(op.iter_values):
            return new
        doms = {iv.var: self._ranges[v] for iv, v in zip(op.block.iter_vars, loops)}
        block = with_regions(new.block)
        changed = change_block(
            block,
            iter_vars=[IterVar(doms[iv.var], iv.var, iv.iter_type) for iv in block.iter_vars],
            reads=[_over(region, doms) for region in block.reads],
            writes=[_over(region, doms) for region in block.writes],
        )
        return BlockRealize(new.iter_values, new.predicate, changed, new.span)

    def visit_block_(self, op: Block) -> Stmt:
        new = super().visit_block_(op)
        assert isinstance(new, Block), "a block stays a block"
        return change_block(new, name_hint=new.name_hint + self._suffix)


def _over(region: BufferRegion, doms: Mapping[Var, Range]) -> BufferRegion:
    """All that the region is while the variables run over the domains."""
    sets = {var: IntervalSet(r.min, r.min + r.extent - 1) for var, r in doms.items()}
    analyzer = Analyzer()
    found: list[Range] = []
    for part in region.region:
        low, high = eval_set(part.min, sets), eval_set(part.min + part.extent - 1, sets)
        if not (low.has_lower_bound() and high.has_upper_bound()):
            return BufferRegion.full_region(region.buffer)
        start = analyzer.simplify(low.min_value)
        found.append(
            Range.from_min_extent(start, analyzer.simplify(high.max_value - start + 1))
        )
    return BufferRegion(region.buffer, found)
