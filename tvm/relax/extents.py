"""Extents that importing cannot compare: decided, or checked, when the program runs.

Two extents that have to be equal are matched once, which costs a comparison of two numbers. Where
an extent may also be 1 and then be repeated, the common extent is a symbol of its own

    k = if_then_else(a == 1, b, a)

and what does not provably have it is read at index 0 along that axis where its own extent is
another, which most operators do as they read their operands anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.structural import structural_equal, structural_hash
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.shape_math import same_extent
from tvm.relax.struct_info import ShapeExpr, ShapeStructInfo, TensorStructInfo
from tvm.tir.expr import INT64, IntImm
from tvm.tir.functor import walk

# Expressions of more nodes than this get a name, and those with symbols that data tells.
LONGEST: Final = 80
LONGEST_OF_DATA: Final = 8


def extents_of(value: RelaxExpr) -> tuple[PrimExpr, ...] | None:
    """The extents of a tensor, or None where they are not known."""
    info = value.struct_info
    shape = info.shape if isinstance(info, TensorStructInfo) else None
    return tuple(shape.values) if isinstance(shape, ShapeExpr) else None


def is_number(extent: PrimExpr, number: int) -> bool:
    """Whether an extent is this number."""
    return isinstance(extent, IntImm) and extent.value == number


def fresh_extent(name: str = "extent") -> tir.SizeVar:
    """A symbol for an extent, which is never negative."""
    return tir.SizeVar(name, "int64")


def named(bb: BlockBuilder, value: PrimExpr, name: str = "extent") -> PrimExpr:
    """The value of an expression as a symbol of its own."""
    if isinstance(value, (IntImm, tir.Var)):
        return value
    symbol = fresh_extent(name)
    bb.match_cast(ShapeExpr([value]), ShapeStructInfo([symbol]))
    return symbol


def require_equal(bb: BlockBuilder, found: PrimExpr, wanted: PrimExpr) -> None:
    """Check as the program runs that two extents are the same, unless that is sure."""
    if not same_extent(found, wanted):
        bb.match_cast(ShapeExpr([found]), ShapeStructInfo([wanted]))


def require_at_least(bb: BlockBuilder, found: PrimExpr, least: int) -> None:
    """Check as the program runs that an extent is no smaller, unless that is sure."""
    if not Analyzer().can_prove(found >= least):
        larger = tir.max(found, tir.const(least, "int64"))
        bb.match_cast(ShapeExpr([larger]), ShapeStructInfo([found]))


def with_extents(bb: BlockBuilder, value: RelaxExpr) -> RelaxExpr:
    """The value, with symbols for extents that only running it tells, and for long expressions."""
    value = bb.normalize_argument(value)
    info = value.struct_info
    if not isinstance(info, TensorStructInfo) or info.ndim < 1:
        return value
    own = extents_of(value)
    extents: list[PrimExpr] = [fresh_extent() for _ in range(info.ndim)]
    if own is not None:
        extents = [_short(bb, extent) for extent in own]
        if all(new is old for new, old in zip(extents, own)):
            return value
    elif info.shape is not None:
        return value
    return bb.match_cast(value, TensorStructInfo(extents, info.dtype))


def _short(bb: BlockBuilder, extent: PrimExpr) -> PrimExpr:
    """The extent, or a symbol for it where it is long: each pass that meets it simplifies it."""
    if isinstance(extent, (IntImm, tir.Var)) or not _is_long(bb, extent):
        return extent
    alike = bb.named_extents().setdefault(structural_hash(extent), [])
    for known, symbol in alike:
        if structural_equal(known, extent):
            return symbol
    symbol = named(bb, extent)
    alike.append((extent, symbol))
    return symbol


def _is_long(bb: BlockBuilder, extent: PrimExpr) -> bool:
    """Whether it has many nodes; few are enough where data tells a part of it.

    What only inputs tell stays an expression where it can: memory is planned by those.
    """
    nodes = list(islice(walk(extent), LONGEST + 1))
    if len(nodes) > LONGEST:
        return True
    told = any(isinstance(node, tir.Var) and not bb.is_given(node) for node in nodes)
    return told and len(nodes) > LONGEST_OF_DATA


def agreeing(bb: BlockBuilder, value: RelaxExpr, wanted: Sequence[PrimExpr | None]) -> RelaxExpr:
    """The value, checked to have these extents where they are given."""
    own = extents_of(value)
    info = value.struct_info
    if own is None or not isinstance(info, TensorStructInfo) or len(own) != len(wanted):
        return value
    pairs = [(have, have if want is None else want) for have, want in zip(own, wanted)]
    if all(same_extent(have, want) is not None for have, want in pairs):
        return value  # the same, or so wrong that the operator says it
    return bb.match_cast(value, TensorStructInfo([want for _, want in pairs], info.dtype))


def common_extent(bb: BlockBuilder, a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """The extent that two are broadcast to, checked where that is open."""
    if same_extent(a, b) is not None or is_number(b, 1):
        return b if is_number(a, 1) else a
    if is_number(a, 1):
        return b
    if _tells(bb, a, b):
        return a
    if _tells(bb, b, a):
        return b
    one = tir.const(1, "int64")
    if isinstance(b, IntImm):
        a, b = b, a
    if isinstance(a, IntImm) or _exceeds_one(a):
        require_equal(bb, tir.if_then_else(b == one, a, b), a)
        return a
    if _exceeds_one(b):
        return common_extent(bb, b, a)
    require_equal(bb, tir.if_then_else(tir.any(a == one, b == one), a, b), a)
    common = fresh_extent()
    bb.match_cast(ShapeExpr([tir.if_then_else(a == one, b, a)]), ShapeStructInfo([common]))
    bb.broadcast_from[common] = _parts(bb, a) | _parts(bb, b)
    return common


def _tells(bb: BlockBuilder, a: PrimExpr, b: PrimExpr) -> bool:
    """Whether `a` is what `b` is broadcast to, as all that `b` comes from is part of it."""
    return isinstance(a, tir.Var) and a in bb.broadcast_from and _parts(bb, b) <= _parts(bb, a)


def _parts(bb: BlockBuilder, extent: PrimExpr) -> frozenset[Any]:
    """The extents that it is broadcast from, each of which is 1 or the extent."""
    if isinstance(extent, tir.Var):
        return bb.broadcast_from.get(extent, frozenset([extent]))
    return frozenset([object()])  # of an expression nothing is known


def _exceeds_one(extent: PrimExpr) -> bool:
    return Analyzer().can_prove(extent > tir.const(1, "int64"))


def broadcast(bb: BlockBuilder, values: Sequence[RelaxExpr]) -> list[RelaxExpr]:
    """Values whose extents are provably equal or 1, as operators on elements want them.

    Values whose extents are not known, or fit together already, stay as they are.
    """
    shapes = [extents_of(value) for value in values]
    if any(shape is None for shape in shapes):
        return list(values)
    known = [shape for shape in shapes if shape is not None]
    common = broadcast_shapes(bb, known)
    return [repeated(bb, value, common[len(common) - len(own) :])
            for value, own in zip(values, known)]  # fmt: skip


def broadcast_shapes(bb: BlockBuilder, shapes: Sequence[tuple[PrimExpr, ...]]) -> list[PrimExpr]:
    """The extents that several shapes are broadcast to, checked where that is open."""
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(IntImm(INT64, 1),) * (rank - len(shape)) + shape for shape in shapes]
    return [_common(bb, column) for column in zip(*padded)]


def _common(bb: BlockBuilder, column: Sequence[PrimExpr]) -> PrimExpr:
    result = column[0]
    for extent in column[1:]:
        result = common_extent(bb, result, extent)
    return result


def fitted(bb: BlockBuilder, value: RelaxExpr, wanted: Sequence[PrimExpr]) -> RelaxExpr:
    """The value with the last of these extents; each of its own is that one, or 1."""
    own = extents_of(value)
    if own is None or len(own) > len(wanted):
        return value
    behind = wanted[len(wanted) - len(own) :]
    one = tir.const(1, "int64")
    for have, want in zip(own, behind):
        if not is_number(have, 1) and same_extent(have, want) is None:
            require_equal(bb, tir.if_then_else(have == one, want, have), want)
    return repeated(bb, value, behind)


def repeated(bb: BlockBuilder, value: RelaxExpr, common: Sequence[PrimExpr]) -> RelaxExpr:
    """The value with these extents, but where its own is 1 for sure."""
    own = extents_of(value)
    info = value.struct_info
    if own is None or not isinstance(info, TensorStructInfo):
        return value
    wanted = [
        have if is_number(have, 1) or same_extent(have, want) is not None else want
        for have, want in zip(own, common)
    ]
    if all(have is want for have, want in zip(own, wanted)):
        return value
    return bb.emit_te(_repeat, value, wanted, primfunc_name_hint="repeat")


def _repeat(x: te.Tensor, shape: Sequence[PrimExpr]) -> te.Tensor:
    """`x` with the extents that are asked for; where its own is another, that is 1."""
    zero = tir.const(0, "int64")

    def element(*at: Any) -> Any:
        # a choice between elements, not between their indices: neighbours stay neighbours
        forms: list[tuple[list[Any], list[Any]]] = [([], [])]
        for i, own, want in zip(at, x.shape, shape):
            kept = [([*index, i], fits if own is want else [*fits, own == want])
                    for index, fits in forms]  # fmt: skip
            first = [] if own is want else [([*index, zero], fits) for index, fits in forms]
            forms = kept + first
        result: PrimExpr = x(*forms[-1][0])
        for index, fits in reversed(forms[:-1]):
            result = tir.if_then_else(tir.all(*fits), x(*index), result)
        return result

    made: te.Tensor = te.compute(list(shape), element, name="repeat")
    return made
