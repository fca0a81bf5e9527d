"""Where each intermediate value of a graph lives: offsets in one arena.

Two values share memory when they are never needed at the same time. Values of known size are placed
largest first, each at the lowest offset where no living neighbour is (Y. Pisarchyk and J. Lee,
Efficient Memory Management for Deep Neural Net Inference, 2020, greedy by size). Values of symbolic
size follow behind them; two share a slot when their sizes are multiples of the same expression.
Where a slot ends has a name: a program states it once, however many values lie behind it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tvm.ir.expr import PrimExpr
from tvm.ir.structural import structural_equal
from tvm.tir.expr import INT64, IntImm, Mul, Var
from tvm.tir.functor import substitute
from tvm.tir.op.arith import add, const, floordiv, multiply
from tvm.tir.op.forms import terms_of

ALIGNMENT = 64  # bytes: a cache line, and the widest vector


@dataclass
class Lifetime:
    """A value of `nbytes` bytes that is needed from step `first` to step `last`, both included."""

    nbytes: PrimExpr
    first: int
    last: int

    def overlaps(self, other: Lifetime) -> bool:
        """Whether both are needed at some step."""
        return self.first <= other.last and other.first <= self.last


@dataclass
class MemoryPlan:
    """The offset of each value in bytes, and the size of the whole arena.

    Both are numbers, or names that are defined by `ends`, each by those before it.
    """

    offsets: list[PrimExpr]
    total: PrimExpr
    ends: list[tuple[Var, PrimExpr]] = field(default_factory=list)

    def renamed(self) -> MemoryPlan:
        """The same plan with names of its own."""
        fresh = {name: Var(name.name_hint, name.dtype) for name, _ in self.ends}

        def again(value: PrimExpr) -> PrimExpr:
            return fresh.get(value, value) if isinstance(value, Var) else value

        ends = [(fresh[name], substitute(value, fresh)) for name, value in self.ends]
        return MemoryPlan(list(map(again, self.offsets)), again(self.total), ends)


def aligned(nbytes: int) -> int:
    """The size rounded up to the alignment."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def plan_memory(values: list[Lifetime]) -> MemoryPlan:
    """Assign an offset in one arena to every value."""
    offsets: list[PrimExpr | None] = [None] * len(values)
    static = [i for i, v in enumerate(values) if isinstance(v.nbytes, IntImm)]
    top = _assign_static(values, static, offsets)
    ends: list[tuple[Var, PrimExpr]] = []
    total = _assign_symbolic(values, offsets, IntImm(INT64, top), ends)
    placed = [offset for offset in offsets if offset is not None]
    assert len(placed) == len(values), "every value has an offset"
    return MemoryPlan(placed, total, ends)


def _assign_static(
    values: list[Lifetime], static: list[int], offsets: list[PrimExpr | None]
) -> int:
    """Largest first, lowest free offset; gives the end of the highest value."""

    def size(i: int) -> int:
        nbytes = values[i].nbytes
        assert isinstance(nbytes, IntImm), "the caller chose the static ones"
        return aligned(max(nbytes.value, 1))

    spans: dict[int, tuple[int, int]] = {}  # where each placed value lies
    alive = _Alive(values)
    for i in sorted(static, key=lambda j: (-size(j), values[j].first, j)):
        need, offset = size(i), 0
        for low, high in sorted(spans[j] for j in alive.together_with(values[i])):
            if low - offset >= need:
                break
            offset = max(offset, high)
        spans[i] = (offset, offset + need)
        alive.add(i)
        offsets[i] = IntImm(INT64, offset)
    return max((high for _, high in spans.values()), default=0)


class _Alive:
    """Allocated values by the time they are needed; finds those that live together with another.

    What is alive at a step stands in the nodes of a binary tree over the steps that cover it, each
    value in the few nodes that make up its lifetime.
    """

    def __init__(self, values: list[Lifetime]) -> None:
        self._values = values
        steps = max((v.last for v in values), default=0) + 1
        self._width = 1 << max(steps - 1, 1).bit_length()
        self._nodes: dict[int, list[int]] = {}
        self._starting: dict[int, list[int]] = {}

    def add(self, i: int) -> None:
        """Remember a placed value."""
        value = self._values[i]
        self._starting.setdefault(value.first, []).append(i)
        low, high = value.first + self._width, value.last + self._width + 1
        while low < high:
            if low & 1:
                self._nodes.setdefault(low, []).append(i)
                low += 1
            if high & 1:
                high -= 1
                self._nodes.setdefault(high, []).append(i)
            low, high = low >> 1, high >> 1

    def together_with(self, value: Lifetime) -> list[int]:
        """Those alive at its first step, and those that begin while it lives."""
        found: list[int] = []
        node = value.first + self._width
        while node:
            found += self._nodes.get(node, ())
            node >>= 1
        for step in range(value.first + 1, value.last + 1):
            found += self._starting.get(step, ())
        return found


def _assign_symbolic(
    values: list[Lifetime], offsets: list[PrimExpr | None], total: PrimExpr,
    ends: list[tuple[Var, PrimExpr]],
) -> PrimExpr:  # fmt: skip
    """One slot behind the other; gives the end of the last."""
    slots, slot_of = _slots(values, [i for i, offset in enumerate(offsets) if offset is None])
    starts: list[PrimExpr] = []
    for slot in slots:
        starts.append(total)
        end = Var("end", "int64")
        ends.append((end, add(total, slot.size())))
        total = end
    for i, k in slot_of.items():
        offsets[i] = starts[k]
    return total


@dataclass
class _Slot:
    """Room for `factor * unit` bytes, which is taken until step `last`."""

    factor: int
    unit: PrimExpr
    last: int

    def size(self) -> PrimExpr:
        """The bytes, rounded up to the alignment."""
        nbytes = multiply(self.unit, const(self.factor, "int64"))
        if self.factor % ALIGNMENT == 0:
            return nbytes
        step = const(ALIGNMENT, "int64")
        return multiply(floordiv(add(nbytes, const(ALIGNMENT - 1, "int64")), step), step)


def _slots(values: list[Lifetime], order: list[int]) -> tuple[list[_Slot], dict[int, int]]:
    """Slots in order of time, and the slot of each value.

    A slot is taken over when its last value is dead and the sizes are multiples of one expression:
    the smallest that is large enough, or else the largest, which grows.
    """
    slots: list[_Slot] = []
    slot_of: dict[int, int] = {}
    for i in sorted(order, key=lambda j: values[j].first):
        value = values[i]
        factor, unit = _scaled(value.nbytes)
        free = [
            k for k, slot in enumerate(slots)
            if slot.last < value.first and structural_equal(slot.unit, unit)
        ]  # fmt: skip
        fitting = [k for k in free if slots[k].factor >= factor]
        if fitting:
            chosen = min(fitting, key=lambda k: slots[k].factor)
        elif free:
            chosen = max(free, key=lambda k: slots[k].factor)
        else:
            chosen = len(slots)
            slots.append(_Slot(factor, unit, value.last))
        slots[chosen].factor = max(slots[chosen].factor, factor)
        slots[chosen].last = value.last
        slot_of[i] = chosen
    return slots, slot_of


def _scaled(nbytes: PrimExpr) -> tuple[int, PrimExpr]:
    """A size as a number times an expression."""
    factor, parts = 1, []
    for expr in terms_of(nbytes, Mul):
        if isinstance(expr, IntImm) and expr.value > 0:
            factor *= expr.value
        else:
            parts.append(expr)
    unit: PrimExpr = parts[0] if parts else IntImm(INT64, 1)
    for part in parts[1:]:
        unit = multiply(unit, part)
    return factor, unit
