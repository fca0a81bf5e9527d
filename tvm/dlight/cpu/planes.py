"""Windows over planes of any size: extents are rounded up to whole tiles, so none needs a guard.

    P[v] = X[v] inside of X, else what the padding is          # a copy with room for whole tiles
    for y, x in rounded up extents, ry, rx:
        C_pad[y, x] += P[y * s + ry, x * s + rx] * W[ry, rx]
    C[y, x] = C_pad[y, x]

What is computed for elements past the end is not stored, so any values will do there. They must be
memory, though: an operand with an element for each result, as weights by channel have where these
are last, is copied into a buffer large enough for all of them too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.analysis import expr_deep_equal
from tvm.tir.buffer import Buffer
from tvm.tir.expr import LE, LT, BufferLoad, Call, IterVar, Var, is_call_of, make_const
from tvm.tir.functor import substitute, uses_any, walk
from tvm.tir.op.arith import ceildiv, less_equal, logical_and
from tvm.tir.op.forms import conjuncts
from tvm.tir.schedule import BlockRV, Schedule, ScheduleError
from tvm.tir.schedule.analysis.interval import linear_terms
from tvm.tir.schedule.analysis.query import realize_of, scope_of
from tvm.tir.schedule.buffers import BufferReplacer, with_scope
from tvm.tir.schedule.larger_extents import Grow, crop_nest, pad_nest, require_plain_loops
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.schedule.scopes import edit_scope, sref_below
from tvm.tir.stmt import Block, BufferRegion, BufferStore


@dataclass(frozen=True)
class Plane:
    """The one operand over which the windows of a block slide."""

    buffer: Buffer
    indices: tuple[PrimExpr, ...]
    terms: tuple[Mapping[Var, int], ...]  # of each index: the coefficients of block variables

    def step(self, var: Var) -> int | None:
        """The stride between neighbouring results; None if the variable is in several indices."""
        found = [terms[var] for terms in self.terms if terms.get(var)]
        return found[0] if len(found) == 1 else None


def plane_of(node: Block) -> Plane | None:
    """The operand whose indices add variables of the result and of the window."""
    domains = {iv.var: iv.dom for iv in node.iter_vars if iv.dom is not None}
    reducing = {iv.var for iv in node.iter_vars if iv.iter_type == IterVar.CommReduce}
    own = {region.buffer for region in node.writes}
    found: Plane | None = None
    for load in walk(node.body):
        if not isinstance(load, BufferLoad) or load.buffer in own:
            continue
        terms = [linear_terms(index, domains) for index in load.indices]
        if any(term is None or min(term.values(), default=0) < 0 for term in terms):
            return None
        known = tuple(term for term in terms if term is not None)
        if not any(set(term) & reducing and set(term) - reducing for term in known):
            continue
        if found is not None:
            return None
        found = Plane(load.buffer, load.indices, known)
    return found


def round_up(
    sch: Schedule, block: BlockRV, plane: Plane, multiples: Mapping[Var, int], lanes: int
) -> BlockRV | None:
    """Let a block run over multiples of some extents; returns the copy of its plane, or None.

    Rows of the copy are whole vectors. None if the block is of another form.
    """
    node: Block = sch.get(block)
    store = node.body
    if not isinstance(store, BufferStore) or not set(multiples) <= set(store.indices):
        return None
    extents = _grown(node, multiples)
    source, target = plane.buffer, _room(plane, multiples, extents, lanes)
    others = _other_rooms(node, plane, multiples, extents)
    if others is None:
        return None
    sums = _padded(
        store.buffer,
        [
            extents[index] if isinstance(index, Var) and index in multiples else extent
            for index, extent in zip(store.indices, store.buffer.shape)
        ],
    )
    new = BufferReplacer({source: target, store.buffer: sums, **others}).visit_stmt(node)
    assert isinstance(new, Block), "a block stays a block"
    new = change_block(
        new, iter_vars=[_over(iv, extents[iv.var]) for iv in node.iter_vars],
        reads=[_whole_rows(region) if region.buffer is target else region for region in new.reads],
    )  # fmt: skip
    state, sref = sch.state, sch.get_sref(block)
    grown = {
        value: extents[iv.var]
        for iv, value in zip(node.iter_vars, realize_of(state, sref).iter_values)
        if isinstance(value, Var)
    }
    require_plain_loops(state, sref, grown)
    scope = scope_of(sref)
    top = sref_below(scope, sref).stmt
    assert top is not None, "a block in the scope"
    copies = [pad_nest(small, large) for small, large in {source: target, **others}.items()]
    edit = Grow(node, new, grown, {top: copies}, {top: [crop_nest(sums, store.buffer)]})
    makers = sch.get_producers(block)
    edit_scope(state, scope, edit, allocate=[target, *others.values(), sums])
    copy = next(p for p in sch.get_producers(block) if sch.get(p).writes[0].buffer is target)
    for maker in makers:
        if sch.get(maker).writes[0].buffer is source:
            inline_copy(sch, maker, copy)
    for crop in sch.get_consumers(block):
        inline_copy(sch, crop, crop)
    return copy


def _grown(node: Block, multiples: Mapping[Var, int]) -> dict[Var, PrimExpr]:
    analyzer = Analyzer()
    found: dict[Var, PrimExpr] = {}
    for iv in node.iter_vars:
        assert iv.dom is not None, "block variables have domains"
        step = make_const(multiples.get(iv.var, 1), iv.var.dtype)
        found[iv.var] = analyzer.simplify(ceildiv(iv.dom.extent, step) * step)
    return found


def _room(
    plane: Plane, multiples: Mapping[Var, int], extents: Mapping[Var, PrimExpr], lanes: int
) -> Buffer:
    """A buffer for all elements of the plane that the grown block reads, in rows of vectors."""
    analyzer = Analyzer()
    shape: list[PrimExpr] = []
    for dim, (index, terms) in enumerate(zip(plane.indices, plane.terms)):
        is_last = dim == len(plane.indices) - 1
        if len(terms) <= 1 and not is_last and set(terms).isdisjoint(multiples):
            shape.append(plane.buffer.shape[dim])
            continue
        extent = _index_extent(index, extents)
        shape.append(analyzer.simplify(ceildiv(extent, lanes) * lanes) if is_last else extent)
    return _padded(plane.buffer, shape)


def _other_rooms(
    node: Block, plane: Plane, multiples: Mapping[Var, int], extents: Mapping[Var, PrimExpr]
) -> dict[Buffer, Buffer] | None:
    """Operands beside the plane that are too small for the grown block, and room for them.

    None where it cannot be told what the block reads of them.
    """
    domains = {iv.var: iv.dom for iv in node.iter_vars if iv.dom is not None}
    own = {region.buffer for region in node.writes}
    analyzer = Analyzer()
    found: dict[Buffer, Buffer] = {}
    for load in walk(node.body):
        if not isinstance(load, BufferLoad) or load.buffer in own:
            continue
        if load.buffer is plane.buffer:
            if not all(map(expr_deep_equal, load.indices, plane.indices)):
                return None
            continue
        shape: list[PrimExpr] = []
        for index, size in zip(load.indices, load.buffer.shape):
            if not uses_any(index, multiples):
                shape.append(size)
                continue
            terms = linear_terms(index, domains)
            if terms is None or min(terms.values(), default=0) < 0:
                return None
            needed = _index_extent(index, extents)
            shape.append(size if analyzer.can_prove(less_equal(needed, size)) else needed)
        if all(new is old for new, old in zip(shape, load.buffer.shape)):
            continue
        made = _padded(load.buffer, shape)
        known = found.setdefault(load.buffer, made)
        if not all(map(expr_deep_equal, known.shape, made.shape)):
            return None
    return found


def _index_extent(index: PrimExpr, extents: Mapping[Var, PrimExpr]) -> PrimExpr:
    """The extent of an index, which grows with all variables."""
    last = {var: extent - 1 for var, extent in extents.items()}
    return Analyzer().simplify(substitute(index, last) + 1)


def _padded(buffer: Buffer, shape: list[PrimExpr]) -> Buffer:
    made = with_scope(buffer, "global", f"{buffer.name}_pad")
    return made.with_changes(shape=tuple(shape), strides=(), elem_offset=None)


def _over(iv: IterVar, extent: PrimExpr) -> IterVar:
    domain = Range.from_min_extent(make_const(0, iv.var.dtype), extent)
    return IterVar(domain, iv.var, iv.iter_type, iv.thread_tag, iv.span)


def _whole_rows(region: BufferRegion) -> BufferRegion:
    """A read that counts as one of the whole row: what makes the row then makes all of it."""
    row = Range.from_min_extent(0, region.buffer.shape[-1])
    return BufferRegion(region.buffer, [*region.region[:-1], row])


def inline_copy(sch: Schedule, block: BlockRV, into: BlockRV) -> None:
    """Inline a copy where that is possible, and test each element once."""
    try:
        sch.compute_inline(block)
    except ScheduleError:
        return  # an output, or read elsewhere too
    if into is not block:
        node: Block = sch.get(into)
        merged = _tested_once(node)
        sch.state.replace(sch.get_sref(into), merged, {node: merged})


def _tested_once(node: Block) -> Block:
    """if a: (if b: x else p) else 0   ->   if b and those terms of a that b does not imply: x."""
    store = node.body
    assert isinstance(store, BufferStore), "a copy is one store"
    choice = store.value
    inner = choice.args[1] if is_choice(choice) else None  # type: ignore[attr-defined]
    if not is_choice(inner):
        return node
    assert isinstance(choice, Call), "looked at above"
    assert isinstance(inner, Call), "looked at above"
    analyzer = Analyzer()
    for iv in node.iter_vars:
        if iv.dom is not None:
            analyzer.bind(iv.var, iv.dom)
    condition = inner.args[0]
    known = conjuncts(condition)
    for term in conjuncts(choice.args[0]):
        if not analyzer.can_prove(term) and not any(_implies(k, term, analyzer) for k in known):
            condition = logical_and(condition, term)
    value = Call(inner.dtype, "tir.if_then_else", (condition, *inner.args[1:]), inner.span)
    return change_block(
        node, body=BufferStore(store.buffer, value, store.indices, None, store.span)
    )


def is_choice(node: object) -> bool:
    """Whether an expression is a value under a condition, else another."""
    return is_call_of(node, "tir.if_then_else")


def _implies(known: PrimExpr, term: PrimExpr, analyzer: Analyzer) -> bool:
    """i < a implies i < b for a <= b."""
    limit = _limit(known)
    if limit is None or not isinstance(term, LT) or not expr_deep_equal(limit[0], term.a):
        return False
    return analyzer.can_prove(less_equal(limit[1], term.b))


def _limit(term: PrimExpr) -> tuple[PrimExpr, PrimExpr] | None:
    """The sides of i < a, or those of i <= a - 1."""
    if isinstance(term, LT):
        return term.a, term.b
    return (term.a, term.b + 1) if isinstance(term, LE) else None
