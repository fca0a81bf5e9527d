"""Padding: with a value, by reflection, by repeating the edge, by going round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.tir.expr import as_expr
from tvm.topi import tag
from tvm.topi.common import compute, numbered, stage
from tvm.topi.utils import equal_const_int

Amounts = Sequence[Any]


def _both_sides(
    data: te.Tensor, before: Amounts, after: Amounts | None
) -> tuple[list[Any], list[Any]]:
    ends = after if after else before
    for what, amounts in (("pad_before", before), ("pad_after", ends)):
        if len(amounts) != data.ndim:
            raise ShapeError(
                message(
                    f"Input dimension and {what} dismatch : {data.ndim} vs {len(amounts)}",
                    where=f"padding of {data.name}",
                    legal="one amount for each dimension",
                )
            )
    return list(before), list(ends)


@explained
def get_padded_shape(
    data: te.Tensor, pad_before: Amounts, pad_after: Amounts | None = None
) -> tuple[Any, ...]:
    """The shape after padding."""
    before, after = _both_sides(data, pad_before, pad_after)
    simplify = Analyzer().simplify
    return tuple(simplify(s + b + a) for s, b, a in zip(data.shape, before, after))


@explained
def pad(
    data: te.Tensor,
    pad_before: Amounts,
    pad_after: Amounts | None = None,
    pad_value: Any = 0.0,
    name: str = "PadInput",
    attrs: dict[str, Any] | None = None,
) -> te.Tensor:
    """The tensor with `pad_value` around it."""
    names = [f"i{i}" for i in range(data.ndim)]
    return padded(data, pad_before, pad_after, pad_value, name, names, attrs, both_ends=True)


def padded(
    data: te.Tensor,
    pad_before: Amounts,
    pad_after: Amounts | None,
    pad_value: Any,
    name: str,
    axes: Sequence[str],
    attrs: dict[str, Any] | None = None,
    kind: str = tag.INJECTIVE + ",pad",
    *,
    both_ends: bool = False,
) -> te.Tensor:
    """`pad`, with the names of the axes and the tag given by the operator that pads.

    With `both_ends`, an axis padded on one side is compared with both ends of the tensor.
    """
    before, after = _both_sides(data, pad_before, pad_after)
    value = pad_value if isinstance(pad_value, PrimExpr) else tir.const(pad_value, data.dtype)

    def element(*i: Any) -> PrimExpr:
        inside: list[PrimExpr] = []
        coords: list[PrimExpr] = []
        for index, low, high, extent in zip(i, before, after, data.shape):
            if equal_const_int(low, 0) and equal_const_int(high, 0):
                coords.append(index)
                continue
            coords.append(index - low)
            if both_ends or not equal_const_int(low, 0):
                inside.append(index >= low)
            if both_ends or not equal_const_int(high, 0):
                inside.append(index < extent + low)
        if not inside:
            return data(*coords)
        return tir.if_then_else(tir.all(*inside), data(*coords), value)

    shape = get_padded_shape(data, before, after)
    if list(axes) == numbered(shape):
        return stage(shape, element, name, kind, attrs)
    return compute(shape, element, name, kind, attrs, list(axes))


@explained
def mirror_pad(
    data: te.Tensor,
    pad_before: Amounts,
    pad_after: Amounts | None = None,
    mode: str = "SYMMETRIC",
    name: str = "MirrorPadInput",
) -> te.Tensor:
    """Padding by the mirror image; SYMMETRIC repeats the edge itself, REFLECT does not."""
    if mode not in ("SYMMETRIC", "REFLECT"):
        raise ValueError(f"mirror_pad: mode {mode!r}; legal: 'SYMMETRIC', 'REFLECT'")
    skip = 1 if mode == "SYMMETRIC" else 0
    _require_elements(data, pad_before, pad_after, name, 1 - skip)

    def source(index: PrimExpr, low: Any, extent: Any) -> PrimExpr:
        inner = index - low
        left = tir.if_then_else(index < low, low - index - skip, inner)
        beyond = index >= low + extent
        return tir.if_then_else(beyond, extent * 2 - inner - 2 + skip, left)

    return _from_edges(data, pad_before, pad_after, source, name, skips_plain=True)


def _require_elements(
    data: te.Tensor, pad_before: Amounts, pad_after: Amounts | None, name: str, less: int = 0
) -> None:
    """No side takes more than the tensor has, less those that are never repeated."""
    for amounts in _both_sides(data, pad_before, pad_after):
        for axis, (amount, extent) in enumerate(zip(amounts, data.shape)):
            asked, held = as_expr(amount), as_expr(extent)
            if not isinstance(asked, tir.IntImm) or not isinstance(held, tir.IntImm):
                continue
            if 0 < asked.value > held.value - less:
                raise ShapeError(
                    message(
                        f"{name}: padding of axis {axis} of {data.name}",
                        found=f"{asked.value} elements beside {held.value}",
                        legal=f"at most {max(held.value - less, 0)}",
                    )
                )


def _from_edges(
    data: te.Tensor,
    pad_before: Amounts,
    pad_after: Amounts | None,
    source: Callable[[PrimExpr, Any, Any], PrimExpr],
    name: str,
    *,
    skips_plain: bool = False,
) -> te.Tensor:
    """Padding with elements of the tensor: `source` says which one stands at an index.

    With `skips_plain` only axes that are padded are asked for.
    """
    before, after = _both_sides(data, pad_before, pad_after)

    def element(*i: Any) -> PrimExpr:
        coords = []
        for index, low, high, extent in zip(i, before, after, data.shape):
            plain = skips_plain and equal_const_int(low, 0) and equal_const_int(high, 0)
            coords.append(index if plain else source(index, low, extent))
        return data(*coords)

    shape = get_padded_shape(data, before, after)
    return compute(shape, element, name=name, tag=tag.INJECTIVE + ",pad")


@explained
def reflect_pad(
    data: te.Tensor, pad_before: Amounts, pad_after: Amounts | None = None,
    name: str = "ReflectPadInput",
) -> te.Tensor:  # fmt: skip
    """Padding by the mirror image without the edge.   a b c -> c b a b c b a"""
    _require_elements(data, pad_before, pad_after, name, 1)

    def source(index: PrimExpr, low: Any, extent: Any) -> PrimExpr:
        inner = index - low
        beyond = tir.if_then_else(inner >= extent, extent * 2 - inner - 2, inner)
        return tir.if_then_else(inner < 0, -inner, beyond)

    return _from_edges(data, pad_before, pad_after, source, name)


@explained
def replicate_pad(
    data: te.Tensor, pad_before: Amounts, pad_after: Amounts | None = None,
    name: str = "ReplicatePadInput",
) -> te.Tensor:  # fmt: skip
    """Padding by the edge.   a b c -> a a a b c c c"""

    def source(index: PrimExpr, low: Any, extent: Any) -> PrimExpr:
        inner = index - low
        beyond = tir.if_then_else(inner >= extent, extent - 1, inner)
        return tir.if_then_else(inner < 0, tir.const(0, inner.dtype), beyond)

    return _from_edges(data, pad_before, pad_after, source, name)


@explained
def circular_pad(
    data: te.Tensor, pad_before: Amounts, pad_after: Amounts | None = None,
    name: str = "CircularPadInput",
) -> te.Tensor:  # fmt: skip
    """Padding by going round.   a b c -> b c a b c a b"""
    _require_elements(data, pad_before, pad_after, name)

    def source(index: PrimExpr, low: Any, extent: Any) -> PrimExpr:
        return tir.indexmod(index - low, extent)

    return _from_edges(data, pad_before, pad_after, source, name)
