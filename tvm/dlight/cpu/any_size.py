"""What kernels for any size are built of: names, numbers of a call, panels that the call chooses.

    vectors, parts, columns, lines, panels = the fastest of a few, by arithmetic
    for p in panels:                                # rows of elements, or parts of one
        elements[r * columns + x] = ...             # of `lines` rows, side by side

A panel holds whole vectors. The elements of a row lie side by side, and those of the next
row behind them: vectors that reach past the end of a row write what the next row writes again. So
lanes are empty only at the end of a panel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tvm.arith import Analyzer
from tvm.dlight.base import open_schedule
from tvm.ir.expr import PrimExpr
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.expr import BufferLoad, Call, IntImm, IterVar, Max, Min, Var, make_const
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op.arith import equal, is_zero, less, less_equal
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.schedule.scopes import TRUE
from tvm.tir.stmt import (
    Block,
    BlockRealize,
    BufferRegion,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
)

from .access import has_size, size_of

INDEX: Final = "int64"
PLAN: Final = 64  # numbers of a plan
UNROLLED_VECTORS: Final = (2, 4)  # vectors of a row that are copied without a loop
UNIT: Final = 64  # of modelled time, which generated code compares as whole numbers


def name_of(name: str, dtype: str = INDEX) -> Var:
    """A loop variable."""
    return Var(name, dtype)


def i64(value: int) -> IntImm:
    """An integer constant in the dtype of the loop variables."""
    return IntImm(INDEX, value)


class Scope:
    """Statements, with the let bindings that they use ahead of them."""

    def __init__(self) -> None:
        self._lets: list[tuple[Var, PrimExpr]] = []
        self._body: list[Stmt] = []

    def let(self, name: str, value: PrimExpr) -> Var:
        """Bind a value to a variable."""
        var = Var(name, value.dtype)
        self._lets.append((var, value))
        return var

    def add(self, stmt: Stmt) -> None:
        """Append a statement."""
        self._body.append(stmt)

    def stmt(self) -> Stmt:
        """The statements within their bindings."""
        body = SeqStmt.flatten(self._body)
        for var, value in reversed(self._lets):
            body = LetStmt(var, value, body)
        return body


class Plan:
    """Numbers that are found once a call, in memory.

    As names for expressions they would be seen through by every proof, again and again.
    """

    def __init__(self, dtype: str = INDEX) -> None:
        self.memory = decl_buffer((i64(PLAN),), dtype, "plan")
        self._count = 0
        self._steps: list[tuple[Stmt, tuple[Var, PrimExpr] | None]] = []

    def slot(self, _: str) -> IntImm:
        """The index of a slot for a number."""
        self._count += 1
        assert self._count <= PLAN, "room for all"
        return i64(self._count - 1)

    def at(self, slot: IntImm) -> PrimExpr:
        """The number in a slot."""
        return BufferLoad(self.memory, [slot])

    def keep(self, name: str, value: PrimExpr) -> PrimExpr:
        """Store a number in a new slot; the variable bound to it."""
        slot, var = self.slot(name), Var(name, self.memory.dtype)
        store = BufferStore(self.memory, value, [slot])
        self._steps.append((store, (var, self.at(slot))))
        return var

    def read(self, name: str, slot: IntImm) -> PrimExpr:
        """The variable bound to the number in a slot."""
        var = Var(name, self.memory.dtype)
        self._steps.append((Evaluate(i64(0)), (var, self.at(slot))))
        return var

    def put(
        self, slots: Sequence[IntImm], values: Sequence[PrimExpr], condition: PrimExpr | None
    ) -> None:
        """Stores numbers in slots, under a condition."""
        stores = SeqStmt(
            [BufferStore(self.memory, value, [slot]) for slot, value in zip(slots, values)]
        )
        step = stores if condition is None else IfThenElse(condition, stores)
        self._steps.append((step, None))

    def around(self, body: Stmt) -> Stmt:
        """The statement, preceded by the stores and bindings so far."""
        for step, name in reversed(self._steps):
            body = body if name is None else LetStmt(*name, body)
            body = body if isinstance(step, Evaluate) else SeqStmt.flatten([step, body])
        return body


class KnownPlan(Plan):
    """The same where all that is chosen by is known: the numbers are found now."""

    def __init__(self, dtype: str = INDEX) -> None:
        super().__init__(dtype)
        self._found: dict[int, PrimExpr] = {}

    def at(self, slot: IntImm) -> PrimExpr:
        return self._found[slot.value] if slot.value in self._found else super().at(slot)

    def keep(self, name: str, value: PrimExpr) -> PrimExpr:
        found = Analyzer().simplify(value)
        return found if isinstance(found, IntImm) else super().keep(name, found)

    def read(self, name: str, slot: IntImm) -> PrimExpr:
        return self._found[slot.value]

    def put(
        self, slots: Sequence[IntImm], values: Sequence[PrimExpr], condition: PrimExpr | None
    ) -> None:
        holds = condition is None or not is_zero(Analyzer().simplify(condition))
        if holds:
            self._found.update(zip((slot.value for slot in slots), values))


def digits_of(scope: Scope, number: PrimExpr, ivs: Sequence[IterVar]) -> dict[Var, PrimExpr]:
    """The block variables that a flat index stands for, the last one fastest."""
    found: dict[Var, PrimExpr] = {}
    quotient = number
    wide = [iv for iv in ivs if not has_size(iv, 1)]
    for iv in reversed(ivs):
        if iv not in wide:
            found[iv.var] = make_const(0, iv.var.dtype)
        elif iv is wide[0]:
            found[iv.var] = quotient
        else:
            found[iv.var] = scope.let(iv.var.name, quotient % size_of(iv))
            quotient = scope.let("rest", quotient // size_of(iv))
    return found


@dataclass(frozen=True)
class Panels:
    """How the rows of a call make panels."""

    vectors: PrimExpr  # of a panel
    parts: PrimExpr  # of a row
    columns: PrimExpr  # of a part, and from one row of a panel to the next
    lines: PrimExpr  # rows of a panel
    panels: PrimExpr


def choose_panels(
    plan: Plan, rows: PrimExpr, across: PrimExpr, lanes: int, costs: Sequence[int]
) -> Panels:
    """The fastest panels for so many rows of elements; `costs` are those of one to some vectors.

    All sizes that registers hold are tried, by arithmetic, when the program runs.
    """
    names = ("time", "vectors", "parts", "width", "lines", "panels")
    best = [plan.slot(name) for name in names]
    for count, cost in enumerate(costs, 1):
        room = count * lanes
        parts = plan.keep("parts", (across + (room - 1)) // room)
        columns = plan.keep("columns", (across + parts - 1) // parts)
        one, all_ = IntImm(rows.dtype, 1), IntImm(rows.dtype, room)
        most = plan.keep("most", Max(one, Min(all_ // columns, rows)))
        groups = plan.keep("groups", (rows + most - 1) // most)
        lines = plan.keep("lines", (rows + groups - 1) // groups)
        panels = plan.keep("panels", groups * parts)
        time = plan.keep("time", panels * cost)
        found = (time, IntImm(rows.dtype, count), parts, columns, lines, panels)
        plan.put(best, found, None if count == 1 else less(time, plan.at(best[0])))
    return Panels(*(plan.read(name, slot) for name, slot in zip(names[1:], best[1:])))


def one_of(chosen: PrimExpr, sizes: Sequence[int], make: Callable[[int], Stmt]) -> Stmt:
    """Branches over the possible sizes; the one that equals `chosen` runs."""
    if isinstance(chosen, IntImm):
        return make(chosen.value)
    *others, last = sizes
    choice = make(last)
    for size in reversed(others):
        choice = IfThenElse(equal(chosen, IntImm(chosen.dtype, size)), make(size), choice)
    return choice


def vector(lane: Var, lanes: int, body: Stmt) -> Stmt:
    """A vectorized loop over the lanes."""
    return For(lane, 0, lanes, ForKind.VECTORIZED, body)


def copied_row(
    copy: Buffer, target: PrimExpr, length: PrimExpr, lanes: int,
    value: Callable[[PrimExpr], PrimExpr], other: PrimExpr,
) -> Stmt:  # fmt: skip
    """Copies elements in whole vectors; the last vector ends at the last element.

    Behind fewer than a vector there is `other`, up to a vector.
    """
    dtype = length.dtype

    def piece(start: PrimExpr) -> Stmt:
        lane = name_of("lane", str(dtype))
        store = BufferStore(copy, value(start + lane), [target + start + lane])
        return vector(lane, lanes, store)

    def start(number: PrimExpr) -> PrimExpr:
        return Min(number * lanes, length - lanes)

    number, lane = name_of("i", str(dtype)), name_of("lane", str(dtype))
    vectors = (length + (lanes - 1)) // lanes
    made: Stmt = For(number, 0, vectors, ForKind.SERIAL, piece(start(number)))
    for count in reversed(UNROLLED_VECTORS):
        straight = SeqStmt.flatten([piece(start(IntImm(dtype, n))) for n in range(count)])
        made = IfThenElse(less_equal(length, IntImm(dtype, count * lanes)), straight, made)
    some = Call(other.dtype, "tir.if_then_else", (less(lane, length), value(lane), other))
    short = vector(lane, lanes, BufferStore(copy, some, [target + lane]))
    return IfThenElse(less(length, IntImm(dtype, lanes)), short, made)


def filled(
    memory: Buffer, start: PrimExpr, count: PrimExpr, lanes: int, value: PrimExpr
) -> Stmt:
    """Fills `count` elements with one value, in whole vectors; the last of them ends early.

    Few are stored without a loop, which LLVM would make a call of a library.
    """
    dtype = count.dtype

    def piece(start: PrimExpr) -> Stmt:
        lane = name_of("lane", str(dtype))
        return vector(lane, lanes, BufferStore(memory, value, [start + lane]))

    number, vectors = name_of("i", str(dtype)), count // lanes
    made: Stmt = For(number, 0, vectors, ForKind.SERIAL, piece(start + number * lanes))
    ends = piece(start), piece(start + (vectors - 1) * lanes)
    made = IfThenElse(less_equal(vectors, IntImm(dtype, 2)), SeqStmt(list(ends)), made)
    return IfThenElse(less(IntImm(dtype, 0), vectors), made)


def opaque(
    name: str, body: Stmt, made: list[Buffer], reads: list[Buffer], writes: list[Buffer]
) -> BlockRealize:
    """Wraps statements in one block that schedule rules skip."""
    block = Block(
        [], [BufferRegion.full_region(b) for b in reads],
        [BufferRegion.full_region(b) for b in writes], name, body, None, made,
    )  # fmt: skip
    return BlockRealize([], TRUE, block)


class Loads(StmtExprMutator):
    """Replaces loads of some buffers, and variables in all others."""

    def __init__(
        self,
        loads: Mapping[Buffer, PrimExpr],
        values: Mapping[Var, PrimExpr],
    ) -> None:
        super().__init__()
        self._loads, self._values = loads, values

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        found = self._loads.get(op.buffer)
        return super().visit_buffer_load_(op) if found is None else found

    def visit_var_(self, op: Var) -> PrimExpr:
        return self._values.get(op, op)


def replaced(sch: Schedule, gone: Sequence[BlockRV], nest: Stmt) -> Schedule:
    """A schedule of the function with a statement instead of some blocks."""
    func = sch.mod["main"]
    assert isinstance(func, PrimFunc), "rules schedule TIR functions"
    tops = {sch.get(sch.get_loops(block)[0]) for block in gone}
    own = {region.buffer for block in gone[:-1] for region in sch.get(block).writes}
    realize = func.body
    assert isinstance(realize, BlockRealize), "a function of blocks"
    root, left = realize.block, []
    body = root.body.seq if isinstance(root.body, SeqStmt) else (root.body,)
    for stmt in body:
        if stmt not in tops:
            left.append(stmt)
        elif stmt is sch.get(sch.get_loops(gone[-1])[0]):
            left.append(nest)
    kept = [buffer for buffer in root.alloc_buffers if buffer not in own]
    new = Block([], [], [], root.name_hint, SeqStmt.flatten(left), None, kept)
    return open_schedule(func.with_body(BlockRealize([], realize.predicate, new)))
