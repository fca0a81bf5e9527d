"""Operators whose result's size depends on the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.ffi import register_global_func
from tvm.ir.expr import StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike, ExternFunc, PrimValue
from tvm.relax.struct_info import PrimStructInfo, TensorStructInfo, TupleStructInfo, const_int
from tvm.support.dtype import DataType
from tvm.tir.expr import IntImm

from .base import call_pure_packed
from .declare import (
    Array,
    Expr,
    Infer,
    relax_op,
    whole,
)
from .shapes import axis_index, like

INT64 = DataType("int64")


def _flag(value: Any) -> Expr:
    return value if isinstance(value, Expr) else PrimValue(IntImm("int64", whole(value, "a flag")))


@relax_op(
    "relax.unique",
    "x: Tensor, sorted: Prim, return_index: Prim, return_inverse: Prim, return_counts: Prim, "
    "axis: Prim?",
)
def unique(
    x: ExprLike,
    sorted: Any = True,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
) -> Call:
    """The distinct elements (slices along `axis`), and on request where they are and how many.

    return_index: the first index of each; return_inverse: for each element the index of its equal
    in the result; return_counts: how often each comes.
    """
    flags = [_flag(v) for v in (sorted, return_index, return_inverse, return_counts)]
    return unique.call(x, *flags, None if axis is None else _flag(axis))


def _known_flag(ctx: Infer, name: str, info: PrimStructInfo) -> bool:
    value = const_int(info.value)
    if value is None:
        raise ctx.error(f"{name} must be known while compiling", f"{info}", "True, False")
    return bool(value)


@unique.infer
def _unique_info(
    ctx: Infer,
    x: TensorStructInfo,
    sorted: PrimStructInfo,
    return_index: PrimStructInfo,
    return_inverse: PrimStructInfo,
    return_counts: PrimStructInfo,
    axis: PrimStructInfo | None,
) -> StructInfo:
    wanted = [
        _known_flag(ctx, name, info)
        for name, info in (
            ("return_index", return_index),
            ("return_inverse", return_inverse),
            ("return_counts", return_counts),
        )
    ]
    axis_value = None if axis is None else const_int(axis.value)
    if axis_value is not None and x.ndim != -1:
        axis_index(ctx, axis_value, x.ndim)
    if x.ndim == 0:  # one element, which is found once
        one = [IntImm("int64", 1)]
        parts: list[StructInfo] = [like(x, one)]
        parts += [like(x, one, dtype=INT64)] * sum(wanted)
    else:
        parts = [like(x, None, 1 if axis is None else x.ndim)]
        parts += [like(x, None, 1, INT64)] * sum(wanted)
    return parts[0] if len(parts) == 1 else TupleStructInfo(parts)


def numpy_unique(
    x: Any,
    sorted: int,
    return_index: int,
    return_inverse: int,
    return_counts: int,
    axis: int | None = None,
) -> Any:
    """`unique` by numpy, on arrays or runtime tensors, which are given back in kind.

    Without `sorted`, the elements (slices) stand in the order in which they first come.
    """
    array = x if isinstance(x, np.ndarray) else x.numpy()
    values, first, inverse, counts = np.unique(array, True, True, True, axis)
    inverse = np.reshape(inverse, -1)  # one number an element, whatever its shape was
    if not sorted:
        order = np.argsort(first)
        values = np.take(values, order, 0 if axis is None else axis)
        first, counts = first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    wanted = ((first, return_index), (inverse, return_inverse), (counts, return_counts))
    parts = [values, *(np.asarray(part, np.int64) for part, given in wanted if given)]
    if not isinstance(x, np.ndarray):
        from tvm.runtime import tensor  # only compiled programs call this with runtime tensors

        parts = [tensor(np.ascontiguousarray(part)) for part in parts]
    return parts[0] if len(parts) == 1 else tuple(parts)


@unique.reference
def _unique_numpy(
    x: Array, sorted: int, index: int, inverse: int, counts: int, axis: int | None = None
) -> Any:
    return numpy_unique(x, sorted, index, inverse, counts, axis)


@unique.legalize
def _unique_te(bb: BlockBuilder, x: Expr, *flags: Expr) -> Expr:
    info = bb.normalize(unique.call(x, *flags)).struct_info
    return call_pure_packed(ExternFunc("relax.run.unique"), x, *flags, sinfo_args=info)


@relax_op("relax.nonzero", "x: Tensor")
def nonzero(x: ExprLike) -> Call:
    """The indices of the elements that are not zero.   (..., d dimensions) -> (d, count)"""
    return nonzero.call(x)


@nonzero.infer
def _nonzero_info(ctx: Infer, x: TensorStructInfo) -> StructInfo:
    return like(x, None, 2, INT64)


def numpy_nonzero(x: Any) -> Any:
    """`nonzero` by numpy, on an array or a runtime tensor, which is given back in kind."""
    array = x if isinstance(x, np.ndarray) else x.numpy()
    found = np.argwhere(array).transpose().astype(np.int64)
    if isinstance(x, np.ndarray):
        return found
    from tvm.runtime import tensor  # only compiled programs call this with runtime tensors

    return tensor(np.ascontiguousarray(found))


nonzero.reference(numpy_nonzero)


@nonzero.legalize
def _nonzero_te(bb: BlockBuilder, x: Expr) -> Expr:
    info = bb.normalize(nonzero(x)).struct_info
    return call_pure_packed(ExternFunc("relax.run.nonzero"), x, sinfo_args=info)


register_global_func("relax.run.unique", numpy_unique)
register_global_func("relax.run.nonzero", numpy_nonzero)
unique.op.set_attr("FCallPacked", "relax.run.unique")
nonzero.op.set_attr("FCallPacked", "relax.run.nonzero")
