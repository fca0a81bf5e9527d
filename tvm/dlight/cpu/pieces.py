"""Rows of any length in pieces, within each of which all reads run straight on.

    for r in R, x in X: B[r, x] = T.if_then_else(x >= p and x < n + p, A[r, x - p], 0)
    ->
    for t in tasks:                                 # parallel: shares of rows, or of parts of one
        for r, in the share:
            for x in [0, p): B[r, x] = 0            # each in whole vectors, then a masked one
            for x in [p, n + p): B[r, x] = A[r, x - p]
            for x in [n + p, X): B[r, x] = 0

Choices and minima end a piece where they change sides, wherever they stand: as values (pads,
concatenations) or in indices (edges that are repeated or mirrored). Remainders and quotients
(copies side by side) get a loop over their periods. What is the same along a row is decided once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.target.cpu_model import CpuModel
from tvm.tir.analysis import expr_deep_equal
from tvm.tir.buffer import Buffer
from tvm.tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    And,
    BinaryOpExpr,
    BufferLoad,
    Call,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Max,
    Min,
    Not,
    Or,
    Select,
    Var,
    make_const,
)
from tvm.tir.functor import StmtExprMutator, children, substitute, uses_var, walk
from tvm.tir.op.arith import equal, less, less_equal, logical_and, logical_not
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.schedule.analysis.interval import linear_terms
from tvm.tir.schedule.analysis.query import realize_of
from tvm.tir.stmt import Block, BufferStore, For, ForKind, IfThenElse, SeqStmt, Stmt
from tvm.tir.transform.lane_predicate import in_bounds

from .access import accesses, extent, size_of
from .any_size import Scope, digits_of, opaque, vector
from .cost import MIN_US, ROW
from .planes import is_choice

MOST: Final = 12  # pieces of a row; of more, code would grow without end
TASKS: Final = 4  # for each core, so that none waits long for the last
SEGMENT: Final = 4096  # elements of a row that are worth a share of their own
SHORT: Final = 8  # elements of fewer bits than masks are for, that are moved at once
MASKED_BITS: Final = (32, 64)  # of elements that all vector units can mask


def schedule_pieces(
    sch: Schedule, block: BlockRV, cpu: CpuModel, each_us: float, *, gathers: bool
) -> str | None:
    """Give a block the loops above; `each_us` is the time of an element. None for other blocks.

    `gathers` says whether lanes from addresses of their own are worth a vector.
    """
    node: Block = sch.get(block)
    loops = sch.get_loops(block)
    store = node.body
    if not isinstance(store, BufferStore) or node.init is not None or node.alloc_buffers:
        return None
    if (
        store.buffer.dtype.bits < 8
        or not store.buffer.dtype.is_scalar
        or store.predicate is not None
    ):
        return None
    if all(extent(iv) is not None for iv in node.iter_vars) or not _stands_alone(sch, block):
        return None
    *rows, along = node.iter_vars
    values = realize_of(sch.state, sch.get_sref(block)).iter_values
    names = [sch.get(loop).loop_var for loop in loops]
    if [v for v in values if not isinstance(v, IntImm)] != names or values[-1] is not names[-1]:
        return None
    if len({iv.var.dtype for iv in node.iter_vars}) > 1 or store.buffer in _read(node):
        return None
    moves = next(m for access, m in accesses(node) if isinstance(access, BufferStore))
    if moves[along.var] != 1:
        return None
    made = _Pieces(node, rows, along, cpu)
    size = extent(along)
    if not made.changes(store.value) and (size is not None or all(map(_is_one, rows))):
        return None  # whole vectors do
    if size is not None and size < ROW:
        return None
    try:
        nest = made.nest(each_us)
    except _OtherFormError:
        return None
    if made.gathers and not gathers:
        return None
    sch.state.replace(sch.get_sref(loops[0]), nest)
    return f"{node.name_hint}: {made.words()}, rows shared out by their number"


def _stands_alone(sch: Schedule, block: BlockRV) -> bool:
    """Whether the loops around a block hold nothing else, and stand in the root block."""
    sref = sch.get_sref(block).parent
    while sref is not None and isinstance(sref.stmt, For):
        if sref.stmt.kind is not ForKind.SERIAL or isinstance(sref.stmt.body, SeqStmt):
            return False
        sref = sref.parent
    return sref is not None and sref.parent is None and len(sch.get_loops(block)) > 0


def _read(node: Block) -> set[Buffer]:
    return {n.buffer for n in walk(node.body) if isinstance(n, BufferLoad)}


class _OtherFormError(Exception):
    """A row has too many pieces, or none whose ends are known."""


@dataclass(frozen=True)
class _Bounds:
    """A condition on a row's variable: none below, none from here on, and what else must hold."""

    lower: tuple[PrimExpr, ...]
    upper: tuple[PrimExpr, ...]
    others: tuple[PrimExpr, ...]


class _Pieces:
    """Makes the loops of one block."""

    def __init__(self, node: Block, rows: Sequence[IterVar], along: IterVar, cpu: CpuModel) -> None:
        assert isinstance(node.body, BufferStore), "looked at by the caller"
        self._node, self._store, self._cpu = node, node.body, cpu
        self._rows, self._along, self._x = rows, along, along.var
        self._dtype = along.var.dtype
        self._lanes = cpu.lanes(self._store.buffer.dtype.bits)
        self._count = 0
        self.gathers = False
        self._analyzer = Analyzer()
        for iv in node.iter_vars:
            if iv.dom is not None:
                self._analyzer.bind(iv.var, iv.dom)

    def words(self) -> str:
        """What the loops are."""
        pieces = "one piece" if self._count == 1 else f"{self._count} pieces"
        return (
            f"rows in {pieces}, {self._lanes} lanes {'gathered' if self.gathers else 'at a time'}"
        )

    def changes(self, value: PrimExpr) -> bool:
        """Whether a value is of several pieces along a row."""
        return self._first_change(value) is not None

    def nest(self, each_us: float) -> Stmt:
        """The loops: tasks, planes, rows of a plane, parts of a row."""
        wide = [iv for iv in self._rows if not _is_one(iv)]
        zero, one = self._int(0), self._int(1)
        planes, row = (wide[:-1], wide[-1:]) if wide else ([], [])
        height = size_of(row[0]) if row else one
        lots, length = self._product(planes), size_of(self._along)
        rows = lots * height
        tasks = self._int(TASKS * self._cpu.cores if self._cpu.cores > 1 else 1)
        parts = Max(one, Min(tasks // Max(rows, one), length // SEGMENT))
        worth = max(1, round(MIN_US / max(each_us, 1e-9)))
        count = Max(one, Min(Min(rows * parts, tasks), (rows * length) // worth))
        task, scope = self._var("task"), Scope()
        cut = scope.let("parts", parts)
        own = scope.let("count", count)
        part = scope.let("part", _rounded_up((length + (cut - 1)) // cut, self._lanes))
        units = scope.let("units", rows * cut)
        begin = scope.let("begin", task * units // own)
        end = scope.let("end", (task + 1) * units // own)
        each = scope.let("each", Max(height * cut, one))  # of a plane; none where there are none
        plane, inner = self._var("plane"), Scope()
        values = digits_of(inner, plane, planes)
        for iv in self._rows:
            values.setdefault(iv.var, zero)
        before = inner.let("before", plane * each)
        y, s = row[0].var if row else self._var("y"), self._var("s")
        unit = (before + y * cut) if row else before
        low, high = s * part, Min((s + 1) * part, length)
        value = _Within(self._node.iter_vars).visit_expr(self._store.value)
        of_row = Scope()
        value = self._once_a_row(self._simplified(value), of_row)
        of_row.add(self._pieces(value, low, high))
        body = of_row.stmt()
        first_part, last_part = Max(begin - unit, zero), Min(end - unit, cut)
        body = For(s, first_part, last_part - first_part, ForKind.SERIAL, body)
        first, last = Max(begin - before, zero) // cut, Min(end - before, each)
        if row:
            values.pop(y, None)
            body = For(y, first, (last + (cut - 1)) // cut - first, ForKind.SERIAL, body)
        inner.add(substitute(body, values))
        start, stop = begin // each, (end + (each - 1)) // each
        scope.add(For(plane, start, stop - start, ForKind.SERIAL, inner.stmt()))
        reads = [region.buffer for region in self._node.reads]
        block = opaque(self._node.name_hint, scope.stmt(), [], reads, [self._store.buffer])
        kind = ForKind.SERIAL if self._cpu.cores == 1 else ForKind.PARALLEL
        return For(task, 0, count, kind, block, span=self._node.span)

    def _once_a_row(self, value: PrimExpr, scope: Scope) -> PrimExpr:
        """The value, with elements that are the same along a row read ahead of it.

        Where a vector takes them by a choice, they would have to be read for its lanes.
        """
        if not any(isinstance(node, Select) for node in walk(value)):
            return value
        found: dict[BufferLoad, Var] = {}
        for node in walk(value):
            same = isinstance(node, BufferLoad) and not uses_var(node, self._x)
            if same and node not in found and in_bounds(node, self._analyzer):
                found[node] = scope.let(node.buffer.name, node)
        return _Known(found).visit_expr(value)

    # --- pieces ---

    def _pieces(self, value: PrimExpr, low: PrimExpr, high: PrimExpr) -> Stmt:
        """The value stored in [low, high) of a row."""
        change = self._first_change(value)
        if change is None:
            self._count += 1
            if self._count > MOST:
                raise _OtherFormError
            return self._straight(value, low, high)
        if isinstance(change, FloorDiv | FloorMod):
            return self._periods(value, change, low, high)
        asked = _choice(change)[0]
        holds, bounds = True, self._bounds(asked)
        condition = asked
        if bounds is None:
            holds, condition = False, _negated(asked)
            bounds = self._bounds(condition)
        assert bounds is not None, "only such are changes"
        then, other = (
            self._simplified(_Decided(asked, answer).visit_expr(value))
            for answer in (holds, not holds)
        )
        if not bounds.lower and not bounds.upper:
            return IfThenElse(
                condition, self._pieces(then, low, high), self._pieces(other, low, high)
            )
        scope, parts = Scope(), []
        first, last = low, high
        if bounds.lower:
            first = scope.let("first", Max(low, Min(high, _most(bounds.lower))))
            parts.append(self._pieces(other, low, first))
        if bounds.upper:
            last = scope.let("last", Max(first, Min(high, _least(bounds.upper))))
        parts.append(self._pieces(then, first, last))
        if bounds.upper:
            parts.append(self._pieces(other, last, high))
        scope.add(SeqStmt.flatten(*parts))
        made = scope.stmt()
        if bounds.others:
            every = bounds.others[0]
            for term in bounds.others[1:]:
                every = logical_and(every, term)
            made = IfThenElse(every, made, self._pieces(other, low, high))
        return made

    def _periods(
        self, value: PrimExpr, change: BinaryOpExpr, low: PrimExpr, high: PrimExpr
    ) -> Stmt:
        """A loop over the periods of a quotient or remainder."""
        offset = self._offset(change.a)
        assert offset is not None, "only such are changes"
        size, number, scope = change.b, self._var("period"), Scope()
        first = scope.let("first", Max(low, number * size - offset))
        last = scope.let("last", Min(high, (number + 1) * size - offset))
        rule = _OnePeriod(change.a, size, number)
        scope.add(self._pieces(self._simplified(rule.visit_expr(value)), first, last))
        start, stop = (low + offset) // size, (high + offset + (size - 1)) // size
        count = Select(less(low, high), stop - start, self._int(0))
        return For(number, start, count, ForKind.SERIAL, scope.stmt())

    def _straight(self, value: PrimExpr, low: PrimExpr, high: PrimExpr) -> Stmt:
        """One piece: whole vectors, then what is left."""
        self._look_at(value)
        length, lanes = high - low, self._lanes
        done = low
        parts: list[Stmt] = []
        for width in self._widths():
            number, lane = self._var("i"), self._var("lane")
            vectors = (high - done) // width
            body = vector(lane, width, self._put(value, done + number * width + lane))
            parts.append(For(number, 0, vectors, ForKind.SERIAL, body))
            done = done + vectors * width
        left = high - done
        if self._masks():
            left, lane = length % lanes, self._var("lane")
            store = self._put(value, high - left + lane)
            some = IfThenElse(less(lane, left), store)
            parts.append(IfThenElse(less(self._int(0), left), vector(lane, lanes, some)))
        else:
            lane = self._var("i")
            parts.append(For(lane, 0, left, ForKind.SERIAL, self._put(value, done + lane)))
        return SeqStmt(parts)

    def _widths(self) -> list[int]:
        """The vectors of a piece, widest first."""
        lanes = self._lanes
        return [lanes] if self._masks() or lanes <= SHORT else [lanes, SHORT]

    def _masks(self) -> bool:
        """Whether vectors of the elements can be stored in part."""
        read = [region.buffer for region in self._node.reads]
        return all(buffer.dtype.bits in MASKED_BITS for buffer in (self._store.buffer, *read))

    def _put(self, value: PrimExpr, at: PrimExpr) -> Stmt:
        here = {self._x: at}
        indices = [substitute(index, here) for index in self._store.indices]
        return BufferStore(
            self._store.buffer, substitute(value, here), indices, None, self._store.span
        )

    def _look_at(self, value: PrimExpr) -> None:
        """Note reads of lanes that are not neighbours; none where no vector can have them."""
        domains = {self._x: Range.from_min_extent(self._int(0), self._int(1))}
        for load in walk(value):
            if not isinstance(load, BufferLoad):
                continue
            (offset, *_) = load.buffer.offset_of(load.indices)
            terms = linear_terms(self._simplified(offset), domains)
            if terms is None or terms.get(self._x, 0) not in (0, 1, -1):
                self.gathers = True

    # --- what changes along a row ---

    def _first_change(self, value: PrimExpr) -> PrimExpr | None:
        """The outermost part of a value that ends pieces; None if there is none."""
        stack: list[tuple[PrimExpr, bool]] = [(value, False)]
        while stack:
            node, index = stack.pop(0)
            if index and not uses_var(node, self._x):
                continue  # found once a row
            chooses = isinstance(node, Select) or is_choice(node)
            if chooses or (index and isinstance(node, Min | Max)):
                condition, *_ = _choice(node)
                if not index or uses_var(condition, self._x):
                    either = (condition, _negated(condition))
                    if any(self._bounds(one) is not None for one in either):
                        return node
            if index and isinstance(node, FloorDiv | FloorMod) and self._is_long(node):
                return node
            below = index or isinstance(node, BufferLoad)
            stack += [(part, below) for part in children(node) if isinstance(part, PrimExpr)]
        return None

    def _is_long(self, node: BinaryOpExpr) -> bool:
        """Whether a quotient stays the same for some elements, however many these are."""
        size = node.b.value if isinstance(node.b, IntImm) else ROW
        return size >= ROW and not uses_var(node.b, self._x) and self._offset(node.a) is not None

    def _offset(self, index: PrimExpr) -> PrimExpr | None:
        """What is added to the variable along the row; None where it is not there once."""
        if not uses_var(index, self._x):
            return None
        domains = {self._x: Range.from_min_extent(self._int(0), self._int(1))}
        terms = linear_terms(index, domains)
        if terms is None or terms.get(self._x) != 1:
            return None
        return self._simplified(substitute(index, {self._x: self._int(0)}))

    def _bounds(self, condition: PrimExpr) -> _Bounds | None:
        """What a condition says of the variable along the row; None if that is no range."""
        lower: list[PrimExpr] = []
        upper: list[PrimExpr] = []
        others: list[PrimExpr] = []
        stack = [condition]
        while stack:
            term = stack.pop()
            if isinstance(term, And):
                stack += [term.b, term.a]
                continue
            if not uses_var(term, self._x):
                others.append(term)
                continue
            if not isinstance(term, LT | LE | GT | GE | EQ) or not term.a.dtype.is_int:
                return None
            a, b = (term.b, term.a) if isinstance(term, GT | GE) else (term.a, term.b)
            strict = isinstance(term, LT | GT)
            room = b - a if not strict else b - a - 1  # zero or more
            domains = {self._x: Range.from_min_extent(self._int(0), self._int(1))}
            terms = linear_terms(room, domains)
            if terms is None or terms.get(self._x) not in (1, -1):
                return None
            base = self._simplified(substitute(room, {self._x: self._int(0)}))
            base = base.astype(str(self._dtype)) if base.dtype is not self._dtype else base
            if isinstance(term, EQ):
                at = base if terms[self._x] == -1 else self._simplified(-base)
                lower.append(at)
                upper.append(at + 1)
            elif terms[self._x] == 1:
                lower.append(self._simplified(-base))
            else:
                upper.append(self._simplified(base + 1))
        return _Bounds(tuple(lower), tuple(upper), tuple(others))

    def _simplified(self, value: PrimExpr) -> PrimExpr:
        return self._analyzer.simplify(value)

    def _product(self, ivs: Sequence[IterVar]) -> PrimExpr:
        return math.prod([size_of(iv) for iv in ivs], start=self._int(1))

    def _int(self, value: int) -> IntImm:
        found = make_const(value, self._dtype)
        assert isinstance(found, IntImm), "of the dtype of an index"
        return found

    def _var(self, name: str) -> Var:
        return Var(name, self._dtype)


def _is_one(iv: IterVar) -> bool:
    return extent(iv) == 1


def _rounded_up(value: PrimExpr, lanes: int) -> PrimExpr:
    return (value + (lanes - 1)) // lanes * lanes


def _most(values: Sequence[PrimExpr]) -> PrimExpr:
    found = values[0]
    for value in values[1:]:
        found = Max(found, value)
    return found


def _least(values: Sequence[PrimExpr]) -> PrimExpr:
    found = values[0]
    for value in values[1:]:
        found = Min(found, value)
    return found


def _choice(node: PrimExpr) -> tuple[PrimExpr, PrimExpr, PrimExpr]:
    """The condition of a choice, the value where it holds, and the other one."""
    if isinstance(node, Select):
        return node.condition, node.true_value, node.false_value
    if isinstance(node, Min):
        return less_equal(node.a, node.b), node.a, node.b
    if isinstance(node, Max):
        return less_equal(node.b, node.a), node.a, node.b
    assert isinstance(node, Call), "choices are such calls, or selections"
    condition, yes, no = node.args
    return condition, yes, no


def _negated(condition: PrimExpr) -> PrimExpr:
    """The condition that holds where this one does not."""
    if isinstance(condition, Not):
        return condition.a
    if isinstance(condition, Or):
        return logical_and(_negated(condition.a), _negated(condition.b))
    if isinstance(condition, LT):
        return less_equal(condition.b, condition.a)
    if isinstance(condition, LE):
        return less(condition.b, condition.a)
    if isinstance(condition, GT):
        return less_equal(condition.a, condition.b)
    if isinstance(condition, GE):
        return less(condition.a, condition.b)
    if isinstance(condition, NE):
        return equal(condition.a, condition.b)
    return logical_not(condition)


class _Known(StmtExprMutator):
    """Takes variables for loads."""

    def __init__(self, values: dict[BufferLoad, Var]) -> None:
        super().__init__()
        self._values = values

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        known = self._values.get(op)
        return super().visit_buffer_load_(op) if known is None else known


class _Decided(StmtExprMutator):
    """Takes one side of all choices by the same condition."""

    def __init__(self, condition: PrimExpr, answer: bool) -> None:
        super().__init__()
        self._condition, self._answer = condition, answer

    def visit_select_(self, op: Select) -> PrimExpr:
        found = self._side(op)
        return super().visit_select_(op) if found is None else found

    def visit_call_(self, op: Call) -> PrimExpr:
        found = self._side(op) if is_choice(op) else None
        return super().visit_call_(op) if found is None else found

    def visit_min_(self, op: Min) -> PrimExpr:
        found = self._side(op)
        return super().visit_min_(op) if found is None else found

    def visit_max_(self, op: Max) -> PrimExpr:
        found = self._side(op)
        return super().visit_max_(op) if found is None else found

    def _side(self, op: PrimExpr) -> PrimExpr | None:
        condition, yes, no = _choice(op)
        if not expr_deep_equal(condition, self._condition):
            return None
        return self.visit_expr(yes if self._answer else no)


class _OnePeriod(StmtExprMutator):
    """Quotients and remainders of an index, within a period of known number."""

    def __init__(self, index: PrimExpr, size: PrimExpr, number: Var) -> None:
        super().__init__()
        self._index, self._size, self._number = index, size, number

    def visit_floor_div_(self, op: FloorDiv) -> PrimExpr:
        return self._number if self._is_it(op) else super().visit_floor_div_(op)

    def visit_floor_mod_(self, op: FloorMod) -> PrimExpr:
        if not self._is_it(op):
            return super().visit_floor_mod_(op)
        return self._index - self._number * self._size

    def _is_it(self, op: FloorDiv | FloorMod) -> bool:
        return expr_deep_equal(op.a, self._index) and expr_deep_equal(op.b, self._size)


class _Within(StmtExprMutator):
    """What is left of a variable's division by its own extent is the variable."""

    def __init__(self, ivs: Sequence[IterVar]) -> None:
        super().__init__()
        self._extents = {iv.var: size_of(iv) for iv in ivs}

    def visit_floor_mod_(self, op: FloorMod) -> PrimExpr:
        size = self._extents.get(op.a) if isinstance(op.a, Var) else None
        return (
            op.a
            if size is not None and expr_deep_equal(size, op.b)
            else super().visit_floor_mod_(op)
        )
