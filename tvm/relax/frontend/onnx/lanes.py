"""Loops over numbers side by side, as vectors whose width divides their number."""

from __future__ import annotations

from collections.abc import Callable

from tvm import tir
from tvm.ir.expr import PrimExpr
from tvm.tir.stmt import ForKind
from tvm.topi.loops import loop


def width_of(count: int, most: int = 16) -> int:
    """How many of them go together."""
    return next(n for n in (64, 32, 16, 8, 4, 2, 1) if n <= most and count % n == 0)


def lanes(count: int, body: Callable[[PrimExpr], tir.Stmt]) -> tir.Stmt:
    """`body(j)` for j below the count, some at a time."""
    return blocks(count, lambda lane: lane(body), 16)


def numbered_lanes(count: int, body: Callable[[PrimExpr, PrimExpr], tir.Stmt]) -> tir.Stmt:
    """`body(j, lane)` likewise: what lanes add up stays theirs."""
    width = width_of(count)
    kind = ForKind.VECTORIZED if width > 1 else ForKind.SERIAL

    def block(number: PrimExpr) -> tir.Stmt:
        extent = tir.const(width, "int64")
        return loop(extent, lambda i: body(number * width + i, i), "i", kind)

    return loop(tir.const(count // width, "int64"), block, "block")


def blocks(
    count: int, body: Callable[[Callable[[Callable[[PrimExpr], tir.Stmt]], tir.Stmt]], tir.Stmt],
    most: int,
) -> tir.Stmt:  # fmt: skip
    """The body for blocks of elements; the function that it gets is a loop over one of them."""
    width = width_of(count, most)

    def block(number: PrimExpr) -> tir.Stmt:
        def lane(make: Callable[[PrimExpr], tir.Stmt]) -> tir.Stmt:
            kind = ForKind.VECTORIZED if width > 1 else ForKind.SERIAL
            extent = tir.const(width, "int64")
            return loop(extent, lambda i: make(number * width + i), "i", kind)

        return body(lane)

    return loop(tir.const(count // width, "int64"), block, "block")
