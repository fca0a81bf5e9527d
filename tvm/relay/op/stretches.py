"""Tensors stretched to a shape, and summed back to the shape that they were stretched from."""

from __future__ import annotations

from typing import Any

from tvm.ir.type import Type
from tvm.relax import op as R
from tvm.relay.expr import Call, Constant
from tvm.relay.ty import TensorType

from .declare import (
    ATTRS_CLASSES,
    BROADCAST,
    REQUIRED,
    Expr,
    Relate,
    Relation,
    constant_ints,
    dynamic,
    is_open,
    relay_op,
)
from .relations import extents, tensor


def fixed_ints(value: Any, what: str) -> tuple[int, ...]:
    """Numbers that are known while a program is written; a TypeError otherwise."""
    found = constant_ints(value)
    if found is None:
        raise TypeError(
            f"{what}: known only at run time; legal: numbers, or a relay.const; "
            "relay.transform.DynamicToStatic finds numbers for values that are constant"
        )
    return tuple(found)


def _shape(shape: Any) -> tuple[Any, ...]:
    if isinstance(shape, Constant):
        return fixed_ints(shape, "the shape")
    return tuple(int(d) if isinstance(d, int) or not hasattr(d, "span") else d for d in shape)


def _shape_wanted(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    return None if x is None else TensorType(ctx.attrs.shape, x.dtype)


def _shape_of_second(ctx: Relate) -> Type | None:
    x, like = tensor(ctx, 0), tensor(ctx, 1)
    if x is None or like is None:
        return None
    if x.dtype != like.dtype:
        raise ctx.fail(f"{x.dtype} and {like.dtype}", "tensors of one type")
    return TensorType(like.shape, x.dtype)


def _require_stretch(ctx: Relate, small: list[Any], large: list[Any]) -> None:
    pairs = zip(reversed(small), reversed(large))
    known = [(a, b) for a, b in pairs if isinstance(a, int) and isinstance(b, int)]
    if len(small) > len(large) or any(a not in (1, b) for a, b in known):
        raise ctx.fail(
            f"{small} does not stretch to {large}",
            "the same extents from behind, or ones that are repeated",
        )


def _stretched(target: Relation, *, back: bool = False) -> Relation:
    """The target's type; the operand must stretch to its shape, or (`back`) it to the operand's."""

    def relation(ctx: Relate) -> Type | None:
        found, x = target(ctx), tensor(ctx, 0)
        if isinstance(found, TensorType) and x is not None:
            small, large = extents(x), extents(found)
            _require_stretch(ctx, *((large, small) if back else (small, large)))
        return found

    return relation


def _broadcast_to_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    wanted = list(ctx.attrs.shape)
    _require_stretch(ctx, extents(x), wanted)
    return TensorType(wanted, ctx.attrs.dtype or x.dtype)


@relay_op("broadcast_to", "InitOpAttrs", operands=("data",), relation=_broadcast_to_type, level=4,
          pattern=BROADCAST, optional={"dtype": ""},
          lower=lambda bb, x, *, shape, dtype: R.broadcast_to(x, list(shape)))  # fmt: skip
def broadcast_to(data: Expr, shape: Any) -> Call:
    """The tensor stretched to a shape."""
    if is_open(shape):
        attrs = ATTRS_CLASSES["InitOpAttrs"](shape=None, dtype="")
        return dynamic("dyn.broadcast_to", attrs, data, shape)
    shape = (shape,) if isinstance(shape, int) else shape
    return broadcast_to.call(data, shape=_shape(shape), dtype="")


@relay_op("broadcast_to_like", pattern=BROADCAST, level=10,
          relation=_stretched(_shape_of_second),
          lower=lambda bb, x, like: R.broadcast_to(x, like.struct_info.shape))  # fmt: skip
def broadcast_to_like(data: Expr, broadcast_type: Expr) -> Call:
    """The tensor stretched to the shape of another."""
    return broadcast_to_like.call(data, broadcast_type)


@relay_op("collapse_sum_like", pattern=2 + 1, level=10,
          relation=_stretched(_shape_of_second, back=True),
          lower=lambda bb, x, like: R.collapse_sum_like(x, like))  # fmt: skip
def collapse_sum_like(data: Expr, collapse_type: Expr) -> Call:
    """Sums over the axes along which another tensor would be stretched."""
    return collapse_sum_like.call(data, collapse_type)


@relay_op("collapse_sum_to", "InitOpAttrs", operands=("data",), level=4, pattern=2 + 1,
          relation=_stretched(_shape_wanted, back=True),
          optional={"dtype": REQUIRED},
          lower=lambda bb, x, *, shape, dtype: R.collapse_sum_to(x, list(shape)))  # fmt: skip
def collapse_sum_to(data: Expr, shape: Any) -> Call:
    """Sums over the axes along which a shape would be stretched."""
    return collapse_sum_to.call(data, shape=_shape(shape), dtype="")
