"""The layout in which a loop nest accesses a buffer contiguously."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.arith import Analyzer, IterSplitExpr, IterSumExpr, detect_iter_map
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.buffer import Buffer
from tvm.tir.expr import IntImm, Var, as_expr, make_const
from tvm.tir.index_map import IndexMap
from tvm.tir.op.arith import cast, floordiv, floormod, is_one
from tvm.tir.stmt import For


def suggest_index_map(
    buffer: Buffer,
    indices: Sequence[PrimExpr],
    loops: Sequence[For],
    predicate: Any,
) -> IndexMap | None:
    """A map of the buffer's indices under which `indices` run in the order of the loops.

    Each digit of the accessed index becomes a dimension, those of outer loops first. None if the
    index is no surjective affine map of the loops, or the same everywhere. The map is of the type
    of the indices.
    """
    analyzer = Analyzer()
    ranges = {loop.loop_var: Range.from_min_extent(loop.min, loop.extent) for loop in loops}
    flat = _flat(indices, buffer)
    found = detect_iter_map([flat], ranges, as_expr(predicate), allow_padding=False)
    if not found.indices or not found.indices[0].args:
        return None
    digits = _digits(found.indices[0])
    order = _loop_order(digits, [loop.loop_var for loop in loops])
    if order is None:
        return None
    names = [Var(f"i{d}", index.dtype) for d, index in enumerate(indices)]
    for name, extent in zip(names, buffer.shape):
        dom = Range.from_min_extent(make_const(0, name.dtype), cast(extent, name.dtype))
        analyzer.bind(name, dom)
    flat = _flat(names, buffer)
    results: list[PrimExpr] = []
    for i in order:
        digit = floordiv(flat, cast(digits[i].scale, flat.dtype))
        extent = cast(digits[i].extent, flat.dtype)
        results.append(analyzer.simplify(floormod(digit, extent) if i else digit))
    return IndexMap(names, results, None)


def _digits(flat: IterSumExpr) -> list[IterSplitExpr]:
    """The digits of an index, the largest scale first; one fused digit is shown by its parts."""
    whole = flat.args[0]
    inner = whole.source.source
    plain = len(flat.args) == 1 and is_one(whole.scale) and is_one(whole.lower_factor)
    return list(inner.args if plain and isinstance(inner, IterSumExpr) else flat.args)


def _flat(indices: Sequence[PrimExpr], buffer: Buffer) -> PrimExpr:
    """The flat index, the last dimension moving fastest."""
    flat: PrimExpr | None = None
    for index, extent in zip(indices, buffer.shape):
        flat = index if flat is None else flat * cast(extent, index.dtype) + index
    return IntImm("int32", 0) if flat is None else flat


def _loop_order(digits: Sequence[IterSplitExpr], loop_vars: Sequence[Var]) -> list[int] | None:
    """Positions of the digits by their loop, outermost first, and their place in it; None for
    fused digits.
    """
    numbers = {var: n for n, var in enumerate(loop_vars)}
    keys: list[tuple[int, int, int]] = []
    for position, digit in enumerate(digits):
        source = digit.source.source
        if not isinstance(source, Var) or source not in numbers:
            return None
        step = digit.lower_factor
        place = -step.value if isinstance(step, IntImm) else 0
        keys.append((numbers[source], place, position))
    return [position for *_, position in sorted(keys)]
