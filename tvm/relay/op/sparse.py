"""Sparse tensors as lists of indices and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.ffi import register_global_func
from tvm.ir.type import TupleType, Type
from tvm.relax import op as R
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo
from tvm.relay.expr import Tuple, TupleWrapper
from tvm.relay.ty import Any as AnyDim
from tvm.relay.ty import TensorType

from .declare import INJECTIVE, OPAQUE, Expr, Relate, relay_op, topi
from .relations import extents, tensor


def _reshape_type(ctx: Relate) -> Type | None:
    indices, before, after = (tensor(ctx, at) for at in range(3))
    if indices is None or before is None or after is None:
        return None
    if (len(indices.shape), len(before.shape), len(after.shape)) != (2, 1, 1):
        raise ctx.fail("the operands have other ranks", "indices (n, d), shapes (d,) and (e,)")
    count, rank = extents(indices)[0], extents(after)[0]
    return TupleType([TensorType((count, rank), indices.dtype), TensorType((rank,), after.dtype)])


def _reshape(bb: Any, indices: Any, before: Any, after: Any) -> Any:
    count, rank = indices.struct_info.shape[0], after.struct_info.shape[0]
    return bb.call_te(topi.sparse_reshape, indices, before, after, [count, rank], [rank])


@relay_op("sparse_reshape", relation=_reshape_type, lower=_reshape, pattern=INJECTIVE, level=3)
def sparse_reshape(sparse_indices: Expr, prev_shape: Expr, new_shape: Expr) -> TupleWrapper:
    """The indices (n, d) of a tensor of `prev_shape` (d,) once it has `new_shape` (e,).

    One new extent may be -1. The result: indices (n, e), and the shape with all extents (e,).
    """
    return TupleWrapper(sparse_reshape.call(sparse_indices, prev_shape, new_shape), 2)


def _fill_type(ctx: Relate) -> Type | None:
    indices, values, shape, default = (tensor(ctx, at) for at in range(4))
    if indices is None or values is None or shape is None or default is None:
        return None
    if (len(indices.shape), len(values.shape), len(shape.shape)) != (2, 1, 1):
        raise ctx.fail("the operands have other ranks", "indices (n, d), values (n,), shape (d,)")
    if values.dtype != default.dtype:
        raise ctx.fail("values and default differ in data type", "one data type")
    many = AnyDim()
    return TupleType([
        TensorType((many, extents(indices)[1]), indices.dtype),
        TensorType((many,), values.dtype), TensorType((AnyDim(),), "bool"),
    ])  # fmt: skip


def filled_rows(indices: Any, values: Any, shape: Any, default: Any) -> list[Any]:
    """Indices and values with one entry more for each row that has none, and which rows those are.

    Rows come in order; entries of a row keep theirs.
    """
    rows = int(shape[0])
    if len(indices) and not (indices[:, 0].min() >= 0 and indices[:, 0].max() < rows):
        raise ValueError(
            f"sparse_fill_empty_rows: rows {indices[:, 0].min()} ... {indices[:, 0].max()} of a "
            f"tensor with {rows} rows; legal: 0 ... {rows - 1}"
        )
    empty = np.ones(rows, bool)
    empty[indices[:, 0]] = False
    added = np.zeros((int(empty.sum()), indices.shape[1]), indices.dtype)
    added[:, 0] = np.nonzero(empty)[0]
    found = np.concatenate([indices, added])
    given = np.concatenate([values, np.full(len(added), np.reshape(default, -1)[0], values.dtype)])
    order = np.argsort(found[:, 0], kind="stable")
    return [found[order], given[order], empty]


@register_global_func("relay.run.sparse_fill_empty_rows")
def _run_fill(indices: Any, values: Any, shape: Any, default: Any) -> Any:
    from tvm.runtime import tensor

    arrays = [operand.numpy() for operand in (indices, values, shape, default)]
    return [tensor(part) for part in filled_rows(*arrays)]


def _fill(bb: Any, indices: Any, values: Any, shape: Any, default: Any) -> Any:
    info = indices.struct_info
    found = TupleStructInfo([
        TensorStructInfo(dtype=info.dtype, ndim=2),
        TensorStructInfo(dtype=values.struct_info.dtype, ndim=1),
        TensorStructInfo(dtype="bool", ndim=1),
    ])  # fmt: skip
    return R.call_pure_packed(
        "relay.run.sparse_fill_empty_rows", indices, values, shape, default, sinfo_args=[found]
    )


@relay_op("sparse_fill_empty_rows", relation=_fill_type, lower=_fill, pattern=OPAQUE, level=3)
def sparse_fill_empty_rows(
    sparse_indices: Expr, sparse_values: Expr, dense_shape: Expr, default_value: Expr
) -> Tuple:
    """A sparse tensor with a value for each of its `dense_shape[0]` rows.

    Rows without one get `default_value` at their start. The result: indices, values, and for each
    row whether it had none.
    """
    made = sparse_fill_empty_rows.call(sparse_indices, sparse_values, dense_shape, default_value)
    parts = TupleWrapper(made, 3)
    return Tuple([parts[0], parts[1], parts[2]])


__all__ = ["sparse_fill_empty_rows", "sparse_reshape"]
