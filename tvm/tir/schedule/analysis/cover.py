"""Whether what a block reads was all written before by the blocks that produce it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from tvm.arith import Analyzer, ProofStrength
from tvm.arith.deep_equal import deep_equal
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import DepKind, StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import Add, FloorDiv, IntImm, IterVar, Sub, Var
from tvm.tir.functor import StmtExprMutator, uses_any
from tvm.tir.op.arith import floordiv, is_one, is_zero
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import BlockRealize, BufferRegion, For, ForKind

from .affine import (
    Box,
    analyzer_at,
    bound_region,
    placing_of,
    relax_exact,
    relax_upper,
    same_placing,
)
from .query import block_of, loop_of, loops_above, realize_of, scope_of


def _lca(a: StmtSRef, b: StmtSRef) -> StmtSRef:
    """The innermost sref around both."""
    around: set[StmtSRef] = set()
    sref: StmtSRef | None = a.parent
    while sref is not None:
        around.add(sref)
        sref = sref.parent
    sref = b.parent
    while sref is not None and sref not in around:
        sref = sref.parent
    assert sref is not None, "blocks of one function"
    return sref


def _ranges_up_to(sref: StmtSRef, outer: StmtSRef) -> dict[Var, Range]:
    found: dict[Var, Range] = {}
    ancestor = sref.parent
    while ancestor is not None and ancestor is not outer:
        if isinstance(ancestor.stmt, For):
            loop = loop_of(ancestor)
            found[loop.loop_var] = Range.from_min_extent(loop.min, loop.extent)
        ancestor = ancestor.parent
    return found


def region_cover(
    state: SRefTree, consumer: StmtSRef, moved: StmtSRef | None = None
) -> bool:
    """True if each region that `consumer` reads of a buffer made in its scope is written before.

    Once found it stands, while the same blocks make the buffer: primitives only divide and move
    the blocks so that they still do, whether or not it can be shown of the new loops. Of a block
    that was `moved` it has to be shown anew.
    """
    makers = _makers(state, consumer)
    known = dict(() if moved is consumer else state.covered_by(consumer) or ())
    unknown = {
        buffer: several
        for buffer, several in makers.items()
        if known.get(buffer) != several or moved in several
    }
    if unknown:
        if not _covers_now(state, consumer, unknown):
            return False
        state.set_covered_by(consumer, tuple(makers.items()))
    return True


def _covers_now(
    state: SRefTree, consumer: StmtSRef, makers: Mapping[Buffer, tuple[StmtSRef, ...]]
) -> bool:
    """The same of some buffers, shown of the loops as they are."""
    # The answer depends on the loops and bindings of the block and its producers only; it stands
    # as long as those do, whatever else changes in the scope.
    producers = [producer for several in makers.values() for producer in several]
    placing = [part for sref in (consumer, *producers) for part in placing_of(state, sref)]
    facts, key = state.facts(block_of(consumer)), tuple(makers)
    known = facts.get("cover")
    if known is None or known[0] != key or not same_placing(known[1], placing):
        known = (key, placing, _covers(state, consumer, makers))
        facts["cover"] = known
    return bool(known[2])


def _makers(state: SRefTree, consumer: StmtSRef) -> dict[Buffer, tuple[StmtSRef, ...]]:
    """The blocks that write what a block reads, by buffer."""
    makers: dict[Buffer, list[StmtSRef]] = {}
    if consumer.parent is not None:
        for dep in state.get_block_scope(scope_of(consumer)).get_deps_by_dst(consumer):
            if dep.kind is DepKind.RAW:
                for write in block_of(dep.src).writes:
                    makers.setdefault(write.buffer, []).append(dep.src)
    return {buffer: tuple(several) for buffer, several in makers.items()}


def _covers(
    state: SRefTree, consumer: StmtSRef, makers: Mapping[Buffer, Sequence[StmtSRef]]
) -> bool:
    return all(
        _is_covered(state, consumer, region, makers[region.buffer])
        for region in block_of(consumer).reads
        if region.buffer in makers
    )


def _is_covered(
    state: SRefTree,
    consumer: StmtSRef,
    region: BufferRegion,
    producers: Sequence[StmtSRef],
) -> bool:
    realize = realize_of(state, consumer)
    shape = region.buffer.shape
    lcas = [_lca(producer, consumer) for producer in producers]
    for producer, lca in zip(producers, lcas):
        ranges = _ranges_up_to(producer, lca)
        if not _is_partial(producer, realize_of(state, producer), ranges, consumer) and _writes_all(
            realize_of(state, producer), region.buffer, ranges
        ):
            return True
    read = bound_region(region, realize)
    pieces: list[Box] = []
    for producer, lca in zip(producers, lcas):
        analyzer = analyzer_at(lca)
        ranges = _ranges_up_to(producer, lca)
        made = _written(state, producer, region.buffer, ranges, analyzer, consumer)
        inner = _ranges_up_to(consumer, lca)
        if made is not None:
            needed = relax_upper(read, inner, shape, analyzer)
            pieces = _merge(analyzer, pieces, made)
            if any(_contains(analyzer, piece, needed, shape) for piece in (made, *pieces)):
                return True
        threads = shared_threads(lca, region.buffer)
        if threads and _is_covered_by_all(
            state, producer, lca, region.buffer, (read, inner), consumer
        ):
            return True
    return False


def _writes_all(realize: BlockRealize, buffer: Buffer, ranges: dict[Var, Range]) -> bool:
    """True if a loop of its own runs from end to end of each dimension: the usual case."""
    if not is_one(realize.predicate):
        return False
    values = {iv.var: value for iv, value in zip(realize.block.iter_vars, realize.iter_values)}
    write = next((w for w in realize.block.writes if w.buffer is buffer), None)
    unused = dict(ranges)
    for part, extent in zip(write.region if write is not None else (), buffer.shape):
        value = values.get(part.min) if isinstance(part.min, Var) else part.min
        rng = unused.pop(value, None) if isinstance(value, Var) else None
        if rng is None:  # the one element of a dimension
            rng = Range.from_min_extent(value, part.extent) if value is not None else None
        elif not is_one(part.extent):
            return False
        if rng is None or not is_zero(rng.min) or not _is_same(rng.extent, extent):
            return False
    return write is not None


def _is_same(a: PrimExpr, b: PrimExpr) -> bool:
    return a is b or deep_equal(a, b)


def _is_covered_by_all(
    state: SRefTree,
    producer: StmtSRef,
    lca: StmtSRef,
    buffer: Buffer,
    read: tuple[list[Range], dict[Var, Range]],
    consumer: StmtSRef,
) -> bool:
    """Whether the threads that share the memory write together what all of them read."""
    threads, analyzer = shared_threads(lca, buffer), analyzer_at(lca)
    ranges = {**_ranges_up_to(producer, lca), **threads}
    made = _written(state, producer, buffer, ranges, analyzer, consumer)
    if made is None:
        return False
    needed = relax_upper(read[0], {**read[1], **threads}, buffer.shape, analyzer)
    return _contains(analyzer, made, needed, buffer.shape)


def _written(
    state: SRefTree,
    producer: StmtSRef,
    buffer: Buffer,
    ranges: dict[Var, Range],
    analyzer: Analyzer,
    consumer: StmtSRef,
) -> Box | None:
    realize = realize_of(state, producer)
    if _is_partial(producer, realize, ranges, consumer):
        return None
    for write in realize.block.writes:
        if write.buffer is buffer:
            region = bound_region(write, realize)
            return relax_exact(region, ranges, realize.predicate, buffer.shape, analyzer)
    return None


def _is_partial(
    producer: StmtSRef, realize: BlockRealize, inner: dict[Var, Range], consumer: StmtSRef
) -> bool:
    """True if a loop outside of the inner ones is a step of the producer's sum.

    To a consumer that sums nothing serial steps do no harm: its last run sees the whole sum.
    """
    again = sums_nothing(consumer)
    outer = [loop_of(sref) for sref in loops_above(producer)]
    steps = {at.loop_var for at in outer if not (again and at.kind is ForKind.SERIAL)}
    return sums_over(realize, steps - set(inner))


def sums_nothing(block: StmtSRef) -> bool:
    """True if all variables of a block are data-parallel."""
    return all(iv.iter_type == IterVar.DataPar for iv in block_of(block).iter_vars)


def sums_over(realize: BlockRealize, loop_vars: AbstractSet[Var]) -> bool:
    """True if one of the loops is a step of the block's sum."""
    return any(
        iv.iter_type != IterVar.DataPar and uses_any(value, loop_vars)
        for iv, value in zip(realize.block.iter_vars, realize.iter_values)
    )


def shared_threads(loop: StmtSRef, buffer: Buffer) -> dict[Var, Range]:
    """Thread loops from `loop` outwards whose threads share the buffer, so that all of them count.

    Of a global buffer each thread is taken to write its own part, as it was before the move.
    """
    scope = buffer.scope()
    found: dict[Var, Range] = {}
    sref: StmtSRef | None = loop
    while sref is not None:
        stmt = sref.stmt
        if isinstance(stmt, For) and stmt.kind is ForKind.THREAD_BINDING:
            assert stmt.thread_binding is not None, "a bound loop has its axis"
            tag = stmt.thread_binding.thread_tag
            blocks = tag.startswith("blockIdx")
            shared = scope.startswith("shared") and not blocks
            if shared or (scope == "warp" and tag == "threadIdx.x"):
                found[stmt.loop_var] = Range.from_min_extent(stmt.min, stmt.extent)
        sref = sref.parent
    return found


def _contains(
    analyzer: Analyzer, whole: Box, part: Box, shape: Sequence[PrimExpr]
) -> bool:
    """`part`, cut to the buffer, lies in `whole`."""
    prove = analyzer.can_prove
    return all(
        (w_low is p_low or _at_most(analyzer, w_low, p_low) or prove(w_low <= 0))
        and (
            w_high is p_high
            or _at_most(analyzer, p_high, w_high)
            or _at_most(analyzer, extent - 1, w_high)
        )
        for w_low, w_high, p_low, p_high, extent in zip(
            whole.low, whole.high, part.low, part.high, shape
        )
    )


def _at_most(analyzer: Analyzer, a: PrimExpr, b: PrimExpr) -> bool:
    """True if a <= b, also for quotients some steps apart: (x + 7) // 2 and (x + 1) // 2 + 3."""
    if analyzer.can_prove(a <= b) or analyzer.can_prove(_stepped(a) <= _stepped(b)):
        return True
    if analyzer.const_int_bound(analyzer.simplify(b - a)).min_value >= 0:
        return True  # a sum rounded up: what is added is a remainder
    return analyzer.can_prove(a <= b, ProofStrength.SYMBOLIC_BOUND)


def _stepped(expr: PrimExpr) -> PrimExpr:
    return _Stepper().visit_expr(expr)


class _Stepper(StmtExprMutator):
    """Takes whole steps out of quotients."""

    def visit_floor_div_(self, op: FloorDiv) -> PrimExpr:
        a, step = self.visit_expr(op.a), op.b
        if isinstance(a, (Add, Sub)) and isinstance(a.b, IntImm) and isinstance(step, IntImm):
            shift = a.b.value if isinstance(a, Add) else -a.b.value
            whole, remainder = divmod(shift, step.value)
            return floordiv(a.a + remainder, step) + whole
        return floordiv(a, op.b)


def _merge(analyzer: Analyzer, pieces: list[Box], box: Box) -> list[Box]:
    """The boxes with one more; boxes that touch in one dimension and agree in the others join."""
    others: list[Box] = []
    for piece in pieces:
        joined = _join(analyzer, piece, box)
        if joined is None:
            others.append(piece)
        else:
            box = joined
    return [*others, box]


def _join(analyzer: Analyzer, a: Box, b: Box) -> Box | None:
    equal, prove = analyzer.can_prove_equal, analyzer.can_prove
    differ = [
        i
        for i in range(len(a.low))
        if not (equal(a.low[i], b.low[i]) and equal(a.high[i], b.high[i]))
    ]
    if len(differ) > 1:
        return None
    if not differ:
        return a
    dim = differ[0]
    for first, second in ((a, b), (b, a)):
        touches = prove(second.low[dim] <= first.high[dim] + 1)
        if not touches or not prove(first.low[dim] <= second.low[dim]):
            continue
        if prove(second.high[dim] >= first.high[dim]):
            top = second.high[dim]
        elif prove(second.high[dim] <= first.high[dim]):
            top = first.high[dim]
        else:
            return None
        return Box(first.low, [*first.high[:dim], top, *first.high[dim + 1 :]])
    return None
