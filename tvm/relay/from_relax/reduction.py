"""Reductions, sorting and sums along axes."""

from __future__ import annotations

from typing import Any

from tvm.relay import op as _op
from tvm.relay.expr import TupleGetItem

from .elementwise import dtype_of
from .translate import RULES, Translator, as_number, rule


def ints(value: Any) -> Any:
    """Axes as plain numbers."""
    if value is None:
        return None
    return [int(v) for v in value] if isinstance(value, (list, tuple)) else int(value)


def _reduce(name: str, ours: str) -> None:
    RULES[f"relax.{name}"] = lambda t, call, x: getattr(_op, ours)(
        x, axis=ints(call.attrs.axis), keepdims=bool(call.attrs.keepdims)
    )


for _name in ("sum", "mean", "max", "min", "prod", "std", "variance"):
    _reduce(_name, _name)


def cast_to(call: Any, value: Any, dtype: str) -> Any:
    """`value` of the type that the call has in Relax."""
    return value if dtype == dtype_of(call) else _op.cast(value, dtype_of(call))


@rule("relax.argmax", "relax.argmin")
def arg_reduce(t: Translator, call: Any, x: Any) -> Any:
    """The index of the largest or smallest element."""
    make = _op.argmax if call.op.name.endswith("argmax") else _op.argmin
    axis = call.attrs.axis
    found = make(x, axis=None if axis is None else [int(axis)], keepdims=bool(call.attrs.keepdims))
    return cast_to(call, found, "int32")


@rule("relax.cumsum", "relax.cumprod")
def scan(t: Translator, call: Any, x: Any) -> Any:
    """Sums or products up to each element."""
    make = _op.cumsum if call.op.name.endswith("cumsum") else _op.cumprod
    return make(
        x, axis=ints(call.attrs.axis), dtype=dtype_of(call), exclusive=bool(call.attrs.exclusive)
    )


@rule("relax.sort")
def sort(t: Translator, call: Any, x: Any) -> Any:
    """In order along an axis."""
    return _op.sort(x, axis=int(call.attrs.axis), is_ascend=not call.attrs.descending)


@rule("relax.argsort")
def argsort(t: Translator, call: Any, x: Any) -> Any:
    """The indices of the elements in order."""
    return _op.argsort(
        x, axis=int(call.attrs.axis), is_ascend=not call.attrs.descending, dtype=dtype_of(call)
    )


@rule("relax.topk")
def topk(t: Translator, call: Any, x: Any) -> Any:
    """The first elements in order, with their indices."""
    attrs: Any = call.attrs
    found = _op.topk(
        x, k=int(attrs.k), axis=int(attrs.axis), ret_type=str(attrs.ret_type),
        is_ascend=not attrs.largest, dtype=str(attrs.dtype),
    )  # fmt: skip
    if attrs.ret_type != "both":
        return found
    whole = getattr(found, "tuple_value", found)
    return (TupleGetItem(whole, 0), TupleGetItem(whole, 1))


@rule("relax.nonzero")
def nonzero(t: Translator, call: Any, x: Any) -> Any:
    """The indices of elements that are not zero, an axis a row."""
    return cast_to(call, _op.transpose(_op.argwhere(x), [1, 0]), "int32")


@rule("relax.bucketize")
def bucketize(t: Translator, call: Any, x: Any, boundaries: Any) -> Any:
    """The bucket of each element."""
    return _op.searchsorted(boundaries, x, right=bool(call.attrs.right), dtype=dtype_of(call))


@rule("relax.unique")
def unique(
    t: Translator, call: Any, x: Any, order: Any, index: Any, inverse: Any, counts: Any,
    axis: Any = None,
) -> Any:  # fmt: skip
    """The distinct elements, and on request where they are and how many; of slices there are none.

    Relay's own operator gives vectors as long as the operand, of which the beginning counts.
    """
    if axis is not None and len(call.args[0].struct_info.shape.values) != 1:
        return t.by_kernels(call, "relax.unique along an axis")
    made = _op.unique(_op.reshape(x, [-1]), bool(as_number(order)), True)
    count = made[3]
    index, inverse, counts = (bool(as_number(one)) for one in (index, inverse, counts))

    def known(part: Any) -> Any:
        return _op.strided_slice(part, [0], count, slice_mode="size")

    parts = [known(made[0])]
    parts += [_op.cast(known(made[1]), "int64")] if index else []
    parts += [_op.cast(made[2], "int64")] if inverse else []
    parts += [_op.cast(known(made[4]), "int64")] if counts else []
    return parts[0] if len(parts) == 1 else tuple(parts)
