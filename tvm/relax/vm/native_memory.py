"""Where the values of a native graph lie, and how long each of them is needed."""

from __future__ import annotations

from dataclasses import dataclass

from tvm.ir.expr import PrimExpr
from tvm.ir.type import PointerType, PrimType
from tvm.relax.vm.memory_plan import Lifetime, MemoryPlan, plan_memory
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin


@dataclass(frozen=True)
class Location:
    """Where a tensor lies: `offset` bytes behind the start of a memory; its number in the arena.

    `row` is the start of the part that it is of what lies there, in bytes.
    """

    base: e.Var
    offset: PrimExpr
    number: int = -1
    row: e.Var | None = None

    def row_at(self, start: e.Var) -> Location:
        """A part of what lies here, from byte `start` on."""
        return Location(self.base, ops.add(self.offset, start), self.number, start)

    def address(self) -> PrimExpr:
        """The address of the first byte."""
        if ops.is_zero(self.offset):
            return self.base
        return builtin.handle_add_byte_offset(self.base, self.offset)

    def is_at(self, other: Location) -> bool:
        """Whether both are one location."""
        if self.base is not other.base or self.number != other.number or self.row is not other.row:
            return False
        return self.number >= 0 or self.offset is other.offset or _same(self.offset, other.offset)


def _same(a: PrimExpr, b: PrimExpr) -> bool:
    return isinstance(a, e.IntImm) and isinstance(b, e.IntImm) and a.value == b.value


class Arena:
    """The memory between kernels; memory is asked for in the same order each time."""

    def __init__(self, plan: MemoryPlan | None = None) -> None:
        self.base = e.Var("arena", PointerType(PrimType("uint8"), "global"))
        self._plan = plan
        self._lifetimes: list[Lifetime] = []

    def allocate(self, nbytes: PrimExpr, step: int) -> Location:
        """Room that is needed from a step on."""
        number = len(self._lifetimes)
        self._lifetimes.append(Lifetime(nbytes, step, step))
        zero = ops.const(0, "int64")
        offset = zero if self._plan is None else self._plan.offsets[number]
        return Location(self.base, offset, number)

    def around(self, body: s.Stmt) -> s.Stmt:
        """The statement with the memory."""
        if self._plan is None or ops.is_zero(self.total):
            return body
        yes = ops.const(True, "bool")
        body = s.Allocate(self.base, "uint8", [self.total], yes, body)
        for end, value in reversed(self._plan.ends):
            body = s.LetStmt(end, value, body)
        return body

    def use(self, location: Location, step: int) -> None:
        """A location is needed until a step, at least."""
        if location.number >= 0:
            lifetime = self._lifetimes[location.number]
            lifetime.last = max(lifetime.last, step)

    def keep(self, first: int, last: int) -> None:
        """What was made before step `first` and used since is needed until step `last`."""
        for lifetime in self._lifetimes:
            if lifetime.first < first <= lifetime.last:
                lifetime.last = max(lifetime.last, last)

    def plan(self) -> None:
        """Give every allocation its offset."""
        self._plan = plan_memory(self._lifetimes)

    def laid_out(self) -> list[tuple[Lifetime, PrimExpr]]:
        """Every allocation that was asked for: how long it is needed, and its offset."""
        offsets = self._plan.offsets if self._plan is not None else []
        return list(zip(self._lifetimes, offsets))

    @property
    def total(self) -> PrimExpr:
        """The bytes of all allocations together."""
        return ops.const(0, "int64") if self._plan is None else self._plan.total

    def again(self) -> Arena:
        """The planned arena, as if nothing had been asked for; its names are new."""
        assert self._plan is not None, "planned before"
        return Arena(self._plan.renamed())
