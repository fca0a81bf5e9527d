"""Which loops LLVM's own vectoriser must leave alone.

    for i in range(n): c[i] = a[(i + 3) % 8] + b[(i + 9) % 64]

To read `a` and `b` by whole vectors LLVM checks, when the loop starts, that neither index wraps:
the first is a sum in 3 bits, the second one in 6. Where the numbers of the wide sum are larger, it
takes the check of the narrow one for implied, drops it, and reads behind a[7]. (ScalarEvolution's
SCEVWrapPredicate::implies compares numbers of different widths; seen in LLVM 22.1.)
So a loop that holds sums of several widths says that it is not to be vectorised. Vectors that the
program asks for are no concern: they are in the text already.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import expr as e

# Loop variables count in 32 bits and are widened for each address.
_EVERYWHERE: Final = frozenset({("sext", 32)})


class NarrowIndices:
    """The widths below that of an address that the sums of each open loop wrap around in."""

    def __init__(self) -> None:
        self._open: list[set[tuple[str, int]]] = []

    def enter(self) -> None:
        """A loop begins."""
        self._open.append(set())

    def leave(self) -> bool:
        """The innermost loop ends; whether LLVM may vectorise it."""
        found = self._open.pop()
        if self._open:
            self._open[-1] |= found  # LLVM may unroll a loop into the one around it
        if ("call", 0) in found:
            return False
        widths = [how for how, _ in found | _EVERYWHERE]
        return len(set(widths)) == len(widths)

    def wraps(self, how: str, bits: int, operand: PrimExpr) -> None:
        """`operand` is cut to `bits` and widened (`how`: zext, sext)."""
        if self._open and operand.dtype.is_scalar:
            self._open[-1].add((how, bits))

    def masks(self, mask: int, operand: PrimExpr) -> None:
        """`operand & mask`, where a run of ones is a sum in as many bits."""
        mask &= (1 << operand.dtype.bits) - 1
        if mask:
            self.wraps("zext", mask.bit_length() - (mask & -mask).bit_length() + 1, operand)

    def casts(self, operand: PrimExpr, target: DataType) -> None:
        """An integer is converted to another type of integers."""
        source = operand.dtype
        if not self._open or _is_data(operand):
            return
        if source.bits > target.bits:
            self.wraps("zext" if target.is_uint else "sext", target.bits, operand)
        elif source.bits < target.bits:
            self.wraps("zext" if source.is_uint else "sext", source.bits, operand)

    def calls(self) -> None:
        """Another function of the module is called: inlined, it may bring sums of any width."""
        if self._open:
            self._open[-1].add(("call", 0))


def _is_data(expr: PrimExpr) -> bool:
    """What comes from an array is no sum that grows by the iteration; a single cell may count."""
    while isinstance(expr, e.Cast):
        expr = expr.value
    return isinstance(expr, e.BufferLoad) and not all(
        isinstance(index, e.IntImm) for index in expr.indices
    )
