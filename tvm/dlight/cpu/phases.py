"""Rows that are read in steps of two, copied in two parts: what is at even places, and at odd ones.

    a b c d e f g h    ->    a c e g    b d f h

What lanes two apart read is then one vector of neighbours, where it would be lanes picked from two
vectors, most of which lie in two lines of the cache.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.expr import BufferLoad, Call, IntImm, Max, Ramp, Shuffle, Var
from tvm.tir.op.arith import floordiv, floormod, less
from tvm.tir.stmt import BufferStore, For, ForKind, IfThenElse, SeqStmt, Stmt

from .any_size import vector
from .window_axes import Axis

PARTS: Final = 2
FEWEST: Final = 4  # lanes, below which nothing is picked


def has_phases(cpu: CpuModel, axis: Axis, lanes: int) -> bool:
    """Whether rows are worth copying so: ends of rows are loaded under masks."""
    masks = "avx512f" in cpu.features or "avx2" in cpu.features
    return axis.step == PARTS and masks and lanes >= FEWEST


class Phases:
    """Where elements of a row lie that a window takes steps of two along."""

    def __init__(
        self, axis: Axis, before: int | PrimExpr, lanes: int, dtype: str, room: int
    ) -> None:
        self.axis, self.lanes = axis, lanes
        # from one part of a copy to the other: a number, so that both have one address
        self.apart = room // PARTS // lanes * lanes
        # copies begin at an even place of the plane, which is so many before the first one read
        self.odd = floormod(-before, PARTS) if isinstance(before, PrimExpr) else -before % PARTS
        places = self._quotients(self.odd if isinstance(self.odd, int) else 0)
        usual = Counter(places).most_common(1)[0][0]
        self.shift = -usual % lanes  # in front of a part: most steps read whole lines of the cache
        self.broken = sum(place != usual for place in places)  # of the steps, those that do not
        self.pair = decl_buffer((PARTS * lanes,), dtype, "pair", scope="local")

    def _quotients(self, odd: int) -> list[int]:
        return [(tap * self.axis.scale + odd) // PARTS for tap in self.axis.taps]

    def pitch(self, read: PrimExpr) -> PrimExpr:
        """From one row of a part to the next, where so many elements of a row are read.

        They are an odd number of vectors, which are spread over all sets of a cache.
        """
        pairs = floordiv(read + PARTS, PARTS)
        vectors = floordiv(pairs + (self.shift + 2 * self.lanes - 1), self.lanes)
        return (floordiv(vectors, 2) * 2 + 1) * self.lanes

    def columns(self, rows: int) -> int:
        """Columns of the result for which a part has room, of so many rows."""
        own = self.apart // rows - self.shift - 3 * self.lanes
        return own - self.axis.reach // PARTS - PARTS

    def place(self, tap: PrimExpr) -> PrimExpr:
        """Where a step finds the first of its elements."""
        place = tap * self.axis.scale + self.odd
        return floormod(place, PARTS) * self.apart + floordiv(place, PARTS)

    def copied(
        self, copy: Buffer, target: PrimExpr, length: PrimExpr,
        value: Callable[[PrimExpr], PrimExpr], other: PrimExpr,
    ) -> Stmt:  # fmt: skip
        """Copies elements from an even place on; behind the last there is `other`."""
        number, two = Var("i", str(length.dtype)), PARTS * self.lanes
        whole = floordiv(Max(length, IntImm(length.dtype, 0)), two)

        def piece(start: PrimExpr, *, last: bool) -> Stmt:
            def element(i: PrimExpr) -> PrimExpr:
                if not last:
                    return value(i)
                own = (less(i, length), value(i), other)
                return Call(other.dtype, "tir.if_then_else", own)

            return self._piece(copy, target, start, element)

        pieces = For(number, 0, whole, ForKind.SERIAL, piece(number * self.lanes, last=False))
        rest = IfThenElse(less(whole * two, length), piece(whole * self.lanes, last=True))
        return SeqStmt([pieces, rest])

    def _piece(
        self, copy: Buffer, target: PrimExpr, start: PrimExpr,
        element: Callable[[PrimExpr], PrimExpr],
    ) -> Stmt:  # fmt: skip
        """Two vectors, of which each part gets one from `start` on."""
        made: list[Stmt] = []
        dtype = str(start.dtype)
        for half in range(PARTS):
            lane = Var("lane", dtype)
            read = element(start * PARTS + (lane + half * self.lanes))
            store = BufferStore(self.pair, read, [lane + half * self.lanes])
            made.append(vector(lane, self.lanes, store))
        one = IntImm(dtype, 1)
        held = [BufferLoad(self.pair, [Ramp(IntImm(dtype, half * self.lanes), one, self.lanes)])
                for half in range(PARTS)]  # fmt: skip
        for phase in range(PARTS):
            picked = Shuffle(held, [PARTS * lane + phase for lane in range(self.lanes)])
            at = Ramp(target + start + self.apart * phase, one, self.lanes)
            made.append(BufferStore(copy, picked, [at]))
        return SeqStmt(made)
