"""What is known about the contents of buffers at a point of a program.

    for i in range(16):
        A[i] = 0                for every i in [0, 16): A[i] == 0
    T.assume(n < 3 or B[n] == 1)            where n >= 3: B[n] == 1

A fact says that an element has a value, for all values of its parameters for which a condition
holds. Its value and its condition read no memory, so only a store to the buffer ends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tvm.arith.analyzer import Analyzer
from tvm.arith.constraint import facts_in
from tvm.arith.pattern import linear_equation
from tvm.ir.expr import PrimExpr, Range
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.effects import is_acting_call, reads_memory
from tvm.tir.functor import StmtExprMutator, substitute, uses_var, vars_in, walk
from tvm.tir.op import arith as op
from tvm.tir.op.forms import terms_of

TRUE: Final = e.IntImm(e.BOOL, 1)
MAX_FACTS: Final = 64  # older ones are forgotten


class BufferFact:
    """buffer[indices] == value, for all parameters within their ranges where `where` holds."""

    __slots__ = ("buffer", "indices", "params", "value", "where")

    def __init__(
        self,
        buffer: Buffer,
        indices: Sequence[PrimExpr],
        value: PrimExpr,
        where: PrimExpr = TRUE,
        params: Sequence[tuple[e.Var, Range]] = (),
    ) -> None:
        self.buffer: Final = buffer
        self.indices: Final = tuple(indices)
        self.value: Final = value
        self.where: Final = where
        self.params: Final = tuple(params)

    def only(self, condition: PrimExpr) -> BufferFact:
        """The fact where a further condition holds."""
        both = condition if self.where is TRUE else op.logical_and(self.where, condition)
        return BufferFact(self.buffer, self.indices, self.value, both, self.params)

    def for_all(self, var: e.Var, dom: Range) -> BufferFact:
        """The fact for all values of a loop variable."""
        params = (*self.params, (var, dom))
        return BufferFact(self.buffer, self.indices, self.value, self.where, params)

    def mentions(self, var: e.Var) -> bool:
        """The variable occurs in the fact."""
        parts = (*self.indices, self.value, self.where)
        return any(uses_var(part, var) for part in parts)

    def value_at(self, indices: Sequence[PrimExpr], analyzer: Analyzer) -> PrimExpr | None:
        """The value of the element at these indices, if the fact is about it."""
        names = [var for var, _ in self.params]
        found: dict[e.Var, PrimExpr] = {}
        for own, asked in zip(self.indices, indices):
            if not asked.dtype.is_scalar or not self._solve(own, asked, names, found, analyzer):
                return None
        for var, dom in self.params:
            if var not in found:
                return None
            end = op.add(dom.min, dom.extent)
            inside = op.logical_and(
                op.greater_equal(found[var], dom.min), op.less(found[var], end)
            )
            if not analyzer.can_prove(inside):
                return None
        if self.where is not TRUE and not analyzer.can_prove(substitute(self.where, found)):
            return None
        value = substitute(self.value, found) if found else self.value
        return analyzer.simplify(value) if value.dtype.is_integer else value

    def _solve(
        self,
        own: PrimExpr,
        asked: PrimExpr,
        names: Sequence[e.Var],
        found: dict[e.Var, PrimExpr],
        analyzer: Analyzer,
    ) -> bool:
        """Give the parameters in `own` the values with which it equals `asked`."""
        linear = linear_equation(own, names) if names else [own]
        if not linear:
            return False
        remainder = op.subtract(asked, linear[-1])
        digits = [(c, v) for c, v in zip(linear[:-1], names) if not op.is_zero(c)]
        if not digits:
            return analyzer.can_prove_equal(asked, own)
        if not all(isinstance(c, e.IntImm) for c, _ in digits):
            return False
        digits.sort(key=lambda digit: abs(digit[0].value))  # type: ignore[attr-defined]
        step = digits[0][0].value  # type: ignore[attr-defined]
        if abs(step) != 1:
            return False
        if len(digits) == 1:
            return _set(found, digits[0][1], op.multiply(remainder, step), analyzer)
        ranges = dict(self.params)
        for position, (count, var) in enumerate(digits):  # i * 4 + j over j < 4: digits of a number
            factor = count.value  # type: ignore[attr-defined]
            if factor != step or not op.is_zero(ranges[var].min):
                return False
            digit = op.floordiv(remainder, factor)
            if position + 1 < len(digits):
                extent = ranges[var].extent
                if not isinstance(extent, e.IntImm):
                    return False
                step = factor * extent.value
                digit = op.floormod(digit, extent)
            if not _set(found, var, digit, analyzer):
                return False
        return True


def _set(
    found: dict[e.Var, PrimExpr], var: e.Var, value: PrimExpr, analyzer: Analyzer
) -> bool:
    known = found.get(var)
    if known is not None:
        return analyzer.can_prove_equal(known, value)
    found[var] = analyzer.simplify(value)
    return True


class BufferFacts:
    """The facts at the point that a walk in the order of execution has reached."""

    __slots__ = ("_analyzer", "now")

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self.now: list[BufferFact] = []

    # --- questions ---

    def known(self, load: e.BufferLoad) -> PrimExpr | None:
        """The value that a load is known to have."""
        if load.predicate is not None:
            return None
        for fact in reversed(self.now):
            if fact.buffer is load.buffer:
                value = fact.value_at(load.indices, self._analyzer)
                if value is not None:
                    return value
        return None

    def put_in(self, expr: PrimExpr) -> PrimExpr:
        """The expression with loads replaced by known values."""
        if not self.now or not any(isinstance(n, e.BufferLoad) for n in walk(expr)):
            return expr
        return _Replacer(self).visit_expr(expr)

    # --- what statements do ---

    def store(self, buffer: Buffer, indices: Sequence[PrimExpr], value: PrimExpr | None) -> None:
        """An element gets a value; None stands for one that is not known."""
        self.now = [left for fact in self.now for left in self._after_store(fact, buffer, indices)]
        if value is None or reads_memory(value) or any(map(reads_memory, indices)):
            return
        if all(index.dtype.is_scalar for index in indices):
            self._add(BufferFact(buffer, indices, value))
        else:
            self._store_lanes(buffer, indices, value)

    def _store_lanes(
        self, buffer: Buffer, indices: Sequence[PrimExpr], value: PrimExpr
    ) -> None:
        ramp = indices[-1]
        if not isinstance(ramp, e.Ramp) or not isinstance(ramp.lanes, e.IntImm):
            return
        lane = e.Var("lane", ramp.base.dtype)
        if isinstance(value, e.Broadcast):
            element: PrimExpr = value.value
        elif isinstance(value, e.Ramp):
            number = op.cast(lane, value.base.dtype)
            element = op.add(value.base, op.multiply(number, value.stride))
        else:
            return
        last = op.add(ramp.base, op.multiply(lane, ramp.stride))
        dom = Range.from_min_extent(op.const(0, lane.dtype), op.cast(ramp.lanes, lane.dtype))
        self._add(BufferFact(buffer, (*indices[:-1], last), element).for_all(lane, dom))

    def _add(self, fact: BufferFact) -> None:
        self.now = [*self.now[-MAX_FACTS + 1 :], fact]

    def _after_store(
        self, fact: BufferFact, buffer: Buffer, indices: Sequence[PrimExpr]
    ) -> list[BufferFact]:
        """What is left of a fact: nothing, or the elements that are not stored."""
        if fact.buffer.data is not buffer.data:
            return [fact]
        plain = all(index.dtype.is_scalar for index in indices) and not any(
            map(reads_memory, indices)
        )
        if fact.buffer is not buffer or not plain:
            return []
        same = [op.equal(own, stored) for own, stored in zip(fact.indices, indices)]
        simple = self._analyzer.simplify(op.all(*same))
        if isinstance(simple, e.IntImm):
            return [] if simple.value else [fact]
        return [fact.only(op.logical_not(simple))]

    def assume(self, condition: PrimExpr) -> None:
        """The condition holds: what it says of elements is noted."""
        for one in facts_in(condition):
            pure: list[PrimExpr] = []
            about: list[PrimExpr] = []
            for part in terms_of(one, e.Or):
                (about if reads_memory(part) else pure).append(part)
            if len(about) != 1 or not isinstance(about[0], e.EQ):
                continue
            for load, value in ((about[0].a, about[0].b), (about[0].b, about[0].a)):
                if isinstance(load, e.BufferLoad) and not reads_memory(value):
                    where = op.logical_not(op.any(*pure)) if pure else TRUE
                    self._add(BufferFact(load.buffer, load.indices, value, where))
                    break

    def join(self, condition: PrimExpr, after_then: list[BufferFact]) -> None:
        """Behind an if: what both branches leave, and what one of them says under its condition.

        `now` are the facts behind the else branch.
        """
        both = set(map(id, after_then)) & set(map(id, self.now))
        common = [fact for fact in after_then if id(fact) in both]
        if not reads_memory(condition):
            common += [f.only(condition) for f in after_then if id(f) not in both]
            opposite = op.logical_not(condition)
            common += [f.only(opposite) for f in self.now if id(f) not in both]
        self.now = common

    def forget(self, stmt: s.Stmt) -> None:
        """Anything that the statement writes may have any value."""
        written = Written(stmt)
        if written.anything:
            self.now = []
        self.now = [fact for fact in self.now if fact.buffer.data not in written.data]

    def enter_loop(self, loop: s.For) -> LoopEntry:
        """Keep what holds at the start of every iteration."""
        entry = LoopEntry(loop, self.now)
        self.now = []
        for fact in entry.before:
            if entry.written.anything:
                break
            stores = entry.written.data.get(fact.buffer.data)
            own = _own_axis(stores, fact.buffer, loop) if stores else None
            if not stores:
                self.now.append(fact)
            elif own is not None:  # earlier iterations wrote elsewhere
                axis, index = own
                here = fact.only(op.equal(fact.indices[axis], index))
                entry.origins.append((here, fact, axis, index))
                self.now.append(here)
        return entry

    def leave_loop(self, entry: LoopEntry) -> None:
        """Behind a loop: what its iterations left, and what was known before."""
        loop, written, now = entry.loop, entry.written, self.now
        var, dom = loop.loop_var, Range.from_min_extent(loop.min, loop.extent)
        old = set(map(id, entry.before))
        self.now = [
            fact for fact in entry.before
            if not written.anything and fact.buffer.data not in written.data
        ]  # fmt: skip
        runs = self._analyzer.can_prove(op.greater(loop.extent, 0))
        for fact in now:
            if id(fact) in old:
                continue
            if not fact.mentions(var):
                if runs:
                    self.now.append(fact)
                continue
            stores = written.data.get(fact.buffer.data, [])
            own = _own_axis(stores, fact.buffer, loop)
            if not stores or self._is_at(fact, own):
                self.now.append(fact.for_all(var, dom))
            elif own is not None:
                self._leave_other(fact, entry, dom)

    def _leave_other(self, fact: BufferFact, entry: LoopEntry, dom: Range) -> None:
        """A fact from before the loop: as it was, or where an iteration let it be."""
        for here, origin, axis, index in entry.origins:
            if fact is here:
                self.now.append(origin)
                return
            if fact.buffer is here.buffer and fact.indices == here.indices:
                shift = op.subtract(index, entry.loop.loop_var)
                iteration = op.subtract(fact.indices[axis], shift)
                end = op.add(dom.min, dom.extent)
                inside = op.logical_and(
                    op.greater_equal(iteration, dom.min), op.less(iteration, end)
                )
                where = substitute(fact.where, {entry.loop.loop_var: iteration})
                value = substitute(fact.value, {entry.loop.loop_var: iteration})
                made = BufferFact(fact.buffer, fact.indices, value, where, fact.params)
                self.now.append(made.only(inside))
                return

    def _is_at(self, fact: BufferFact, own: tuple[int, PrimExpr] | None) -> bool:
        """The fact is about an element that only this iteration writes."""
        if own is None:
            return False
        axis, index = own
        return self._analyzer.can_prove_equal(fact.indices[axis], index)


class LoopEntry:
    """What was known before a loop, and which facts at its start came from there."""

    __slots__ = ("before", "loop", "origins", "written")

    def __init__(self, loop: s.For, before: list[BufferFact]) -> None:
        self.loop: Final = loop
        self.before: Final = before
        self.written: Final = Written(loop.body)
        self.origins: Final[list[tuple[BufferFact, BufferFact, int, PrimExpr]]] = []


class Written:
    """The memory that a statement writes: the stores by pointer, or anything."""

    __slots__ = ("anything", "data")

    def __init__(self, stmt: s.Stmt) -> None:
        self.data: dict[e.Var, list[s.BufferStore]] = {}
        self.anything = False
        for node in walk(stmt):
            if isinstance(node, s.BufferStore):
                self.data.setdefault(node.buffer.data, []).append(node)
            elif is_acting_call(node):
                self.anything |= not is_assume(node)
            elif isinstance(node, s.Block) and node.match_buffers:
                self.anything = True


def _own_axis(
    stores: Iterable[s.BufferStore], buffer: Buffer, loop: s.For
) -> tuple[int, PrimExpr] | None:
    """An axis and an index there, i + c, that each iteration writes for itself."""
    found: tuple[int, PrimExpr] | None = None
    for store in stores:
        if store.buffer is not buffer:
            return None
        axes = [
            (axis, index) for axis, index in enumerate(store.indices) if _moves_with(index, loop)
        ]
        if found is not None:
            axes = [p for p in axes if p[0] == found[0] and str(p[1]) == str(found[1])]
        if not axes:
            return None
        found = axes[0]
    return found


def _moves_with(index: PrimExpr, loop: s.For) -> bool:
    """The index is the loop variable plus a literal."""
    if not index.dtype.is_scalar or reads_memory(index):
        return False
    linear = linear_equation(index, [loop.loop_var])
    return bool(linear) and op.is_one(linear[0]) and isinstance(linear[1], e.IntImm)


def is_assume(expr: PrimExpr) -> bool:
    """The expression is T.assume(condition)."""
    return e.is_call_of(expr, "tir.assume")


def assumed(stmt: s.Stmt) -> PrimExpr | None:
    """The condition of T.evaluate(T.assume(condition))."""
    if isinstance(stmt, s.Evaluate) and is_assume(stmt.value):
        condition = stmt.value.args[0]  # type: ignore[attr-defined]
        assert isinstance(condition, PrimExpr)
        return condition
    return None


class _Replacer(StmtExprMutator):
    """Replaces loads by known values."""

    def __init__(self, facts: BufferFacts) -> None:
        super().__init__()
        self._facts = facts

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        load = super().visit_buffer_load_(op)
        known = self._facts.known(load) if isinstance(load, e.BufferLoad) else None
        return load if known is None else known


def variables_of_buffers(stmt: s.Stmt) -> set[e.Var]:
    """What the definitions of the buffers of a statement mention."""
    found: set[e.Var] = set()
    seen: set[int] = set()
    for node in walk(stmt):
        if isinstance(node, PrimExpr) and not isinstance(node, e.BufferLoad):
            continue
        held = [getattr(node, "buffer", None), getattr(node, "node", None)]
        if isinstance(node, s.Block):
            held.extend(node.alloc_buffers)
        for one in held:
            if isinstance(one, Buffer) and id(one) not in seen:
                seen.add(id(one))
                found.add(one.data)
                for part in (*one.shape, *one.strides, one.elem_offset):
                    found.update(vars_in(part))
    return found
