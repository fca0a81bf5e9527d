"""Rules for types that many operators share, and extents as plain numbers where they are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.expr import PrimExpr
from tvm.ir.structural import structural_equal
from tvm.ir.type import TupleType, Type
from tvm.relax.shape_math import simplify
from tvm.relay.ty import Any as AnyDim
from tvm.relay.ty import IncompleteType, TensorType
from tvm.tir.expr import IntImm

from .declare import Relate, Relation


def extents(tensor: TensorType) -> list[Any]:
    """The extents; numbers where they are known."""
    return [int(dim.value) if isinstance(dim, IntImm) else dim for dim in tensor.shape]


def tensor_type(dims: Sequence[Any], dtype: Any) -> TensorType:
    """A tensor type of extents that may be sums of others."""
    return TensorType([_plain(dim) for dim in dims], dtype)


def _plain(dim: Any) -> Any:
    return simplify(dim) if isinstance(dim, PrimExpr) and not isinstance(dim, AnyDim) else dim


def is_any(*dims: Any) -> bool:
    """True when one of the extents is known only at run time."""
    return any(isinstance(dim, AnyDim) for dim in dims)


def is_known(*types: Type) -> bool:
    """True when no type is open."""
    return not any(isinstance(found, IncompleteType) for found in types)


def tensor(ctx: Relate, index: int) -> TensorType | None:
    """The type of an operand that must be a tensor; None while it is open."""
    found = ctx.types[index]
    if isinstance(found, IncompleteType):
        return None
    if not isinstance(found, TensorType):
        raise ctx.fail(f"operand {index} is no tensor", "a tensor")
    return found


def identity(ctx: Relate) -> Type | None:
    """The result is as the first operand."""
    return tensor(ctx, 0)


def boolean(ctx: Relate) -> Type | None:
    """The result has the shape of the first operand, and bools."""
    x = tensor(ctx, 0)
    return None if x is None else TensorType(x.shape, "bool")


def same_extent(a: Any, b: Any) -> bool:
    """True when two extents are known to be equal."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    if is_any(a, b):
        return is_any(a) and is_any(b)
    if isinstance(a, int) or isinstance(b, int):
        return False
    return a is b or structural_equal(a, b)


def broadcast_extents(ctx: Relate, a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """The shape of two operands that are stretched to each other."""
    rank = max(len(a), len(b))
    wide_a, wide_b = [1] * (rank - len(a)) + list(a), [1] * (rank - len(b)) + list(b)
    return [_broadcast(ctx, x, y) for x, y in zip(wide_a, wide_b)]


def _broadcast(ctx: Relate, x: Any, y: Any) -> Any:
    if isinstance(x, int) and x == 1:
        return y
    if isinstance(y, int) and y == 1:
        return x
    if is_any(x):
        return y if isinstance(y, int) else AnyDim()
    if is_any(y):
        return x if isinstance(x, int) else AnyDim()
    if same_extent(x, y):
        return x
    if isinstance(x, int) and isinstance(y, int):
        raise ctx.fail(f"the shapes do not fit: extents {x} and {y}", "equal extents, or 1")
    return x if isinstance(y, int) else y


def broadcast(ctx: Relate) -> Type | None:
    """Two operands of one data type, stretched to each other."""
    return _broadcast_type(ctx, None)


def compare(ctx: Relate) -> Type | None:
    """As `broadcast`, with bools for a result."""
    return _broadcast_type(ctx, "bool")


def _broadcast_type(ctx: Relate, dtype: str | None) -> Type | None:
    a, b = tensor(ctx, 0), tensor(ctx, 1)
    if a is None or b is None:
        return None
    if a.dtype != b.dtype:
        raise ctx.fail("data types do not match", "operands of one data type; relay.cast converts")
    if a is b or a.shape == b.shape:
        return a if dtype is None else TensorType(a.shape, dtype)
    return TensorType(broadcast_extents(ctx, extents(a), extents(b)), dtype or a.dtype)


def axis_of(ctx: Relate, axis: int, rank: int) -> int:
    """An axis counted from the front; an error if the tensor has none such."""
    if not -rank <= axis < rank:
        raise ctx.fail(f"axis {axis} of a tensor with {rank} dimensions", f"{-rank} ... {rank - 1}")
    return axis % rank


def along_axis(ctx: Relate) -> TensorType | None:
    """The operand's own type; the attribute `axis` is one of its axes, or several, or None."""
    x, axis = tensor(ctx, 0), ctx.attrs.axis
    if x is not None and axis is not None:
        for each in axis if isinstance(axis, (tuple, list)) else [axis]:
            axis_of(ctx, int(each), len(x.shape))
    return x


def choice(ctx: Relate, attribute: str, *legal: str) -> None:
    """An error unless the attribute is one of these words."""
    if (found := ctx.attrs[attribute]) not in legal:
        raise ctx.fail(f"{attribute} {found!r}", ", ".join(map(repr, legal)))


def vector(ctx: Relate, index: int, extent: Any, dtype: Any) -> None:
    """Let an operand be a vector along an axis: one that is open gets that type."""
    ctx.assign(index, TensorType((extent,), dtype))


def tensors(ctx: Relate, index: int) -> list[TensorType] | None:
    """The types of the fields of a tuple of tensors; None while one is open."""
    found = ctx.types[index]
    if isinstance(found, IncompleteType):
        return None
    if not isinstance(found, TupleType):
        raise ctx.fail(f"operand {index} is no tuple", "a tuple of tensors")
    if not is_known(*found.fields):
        return None
    if not all(isinstance(field, TensorType) for field in found.fields):
        raise ctx.fail("a field is no tensor", "a tuple of tensors")
    return list(found.fields)  # type: ignore[arg-type]


__all__ = ["Relation"]
