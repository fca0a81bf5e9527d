"""Where each intermediate value of a graph lives: offsets in one arena.

Two values share memory when they are never needed at the same time. Values of known size are placed
largest first, each at the lowest offset where no living neighbour is (Y. Pisarchyk and J. Lee,
Efficient Memory Management for Deep Neural Net Inference, 2020, greedy by size). Values of symbolic
size follow behind them; two share a slot when their sizes are the same expression.
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm.ir.expr import PrimExpr
from tvm.ir.structural import structural_equal
from tvm.tir.expr import INT64, IntImm
from tvm.tir.op.arith import add, const, floordiv, multiply

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
    """The offset of each value in bytes, and the size of the whole arena."""

    offsets: list[PrimExpr]
    total: PrimExpr


def aligned(nbytes: int) -> int:
    """The size rounded up to the alignment."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def plan_memory(values: list[Lifetime]) -> MemoryPlan:
    """Place all values in one arena."""
    offsets: list[PrimExpr | None] = [None] * len(values)
    static = [i for i, v in enumerate(values) if isinstance(v.nbytes, IntImm)]
    top = _place_static(values, static, offsets)
    total: PrimExpr = IntImm(INT64, top)
    total = _place_symbolic(values, offsets, total)
    placed = [offset for offset in offsets if offset is not None]
    assert len(placed) == len(values), "every value has a place"
    return MemoryPlan(placed, total)


def _place_static(
    values: list[Lifetime], static: list[int], offsets: list[PrimExpr | None]
) -> int:
    """Largest first, lowest free offset; gives the end of the highest value."""

    def size(i: int) -> int:
        nbytes = values[i].nbytes
        assert isinstance(nbytes, IntImm), "the caller chose the static ones"
        return aligned(max(nbytes.value, 1))

    placed: list[tuple[int, int, int]] = []  # offset, end, value
    for i in sorted(static, key=lambda j: (-size(j), values[j].first, j)):
        need, offset = size(i), 0
        for low, high, j in sorted(placed):
            if not values[i].overlaps(values[j]):
                continue
            if low - offset >= need:
                break
            offset = max(offset, high)
        placed.append((offset, offset + need, i))
        offsets[i] = IntImm(INT64, offset)
    return max((high for _, high, _ in placed), default=0)


def _place_symbolic(
    values: list[Lifetime], offsets: list[PrimExpr | None], total: PrimExpr
) -> PrimExpr:
    """In order of time; a slot is taken over when its last value is dead and the sizes agree."""
    slots: list[tuple[PrimExpr, PrimExpr, int]] = []  # size, offset, last step
    order = [i for i, offset in enumerate(offsets) if offset is None]
    for i in sorted(order, key=lambda j: values[j].first):
        value = values[i]
        for k, (size, offset, last) in enumerate(slots):
            if last < value.first and structural_equal(size, value.nbytes):
                offsets[i] = offset
                slots[k] = (size, offset, value.last)
                break
        else:
            offsets[i] = total
            slots.append((value.nbytes, total, value.last))
            total = add(total, _aligned_expr(value.nbytes))
    return total


def _aligned_expr(nbytes: PrimExpr) -> PrimExpr:
    step = const(ALIGNMENT, "int64")
    return multiply(floordiv(add(nbytes, const(ALIGNMENT - 1, "int64")), step), step)
