"""Another look at the memory of a tensor, without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.ir.expr import StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, DataTypeImm, ExprLike, ExternFunc, Tuple
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.relax.op.base import call_pure_packed
from tvm.relax.op.declare import Array, Expr, Infer, as_shape, relax_op, show_shape
from tvm.relax.shape_math import product
from tvm.relax.struct_info import (
    VOID,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    const_int,
)

from .memory import as_dtype, as_prim

ABSENT = Tuple(())


@relax_op("relax.memory.view", "x: Tensor, shape: Expr, dtype: Expr, relative_byte_offset: Expr")
def view(
    data: ExprLike, shape: Any = None, dtype: Any = None, relative_byte_offset: Any = None
) -> Call:
    """The memory of a tensor with another shape or dtype, or from a later byte on."""
    return view.call(
        data,
        ABSENT if shape is None else as_shape(shape),
        ABSENT if dtype is None else as_dtype(dtype),
        ABSENT if relative_byte_offset is None else as_prim(relative_byte_offset),
    )


def _is_absent(info: StructInfo) -> bool:
    return isinstance(info, TupleStructInfo) and not info.fields


@view.infer
def _view_info(
    ctx: Infer,
    x: TensorStructInfo,
    shape: StructInfo,
    dtype: StructInfo,
    relative_byte_offset: StructInfo,
) -> StructInfo:
    given = ctx.call.args[2]
    kind = x.dtype if _is_absent(dtype) else VOID
    if isinstance(given, DataTypeImm):
        kind = given.value
    if not _is_absent(shape) and not isinstance(shape, ShapeStructInfo):
        raise ctx.error("shape must be a shape", f"{shape}", "a shape, or nothing")
    if not _is_absent(relative_byte_offset) and not isinstance(
        relative_byte_offset, PrimStructInfo
    ):
        raise ctx.error("relative_byte_offset must be a number", f"{relative_byte_offset}")
    if isinstance(shape, ShapeStructInfo):
        found = TensorStructInfo(shape.values, kind, x.vdevice, shape.ndim)
    elif kind is not x.dtype and VOID not in (kind, x.dtype) and kind.itemsize != x.dtype.itemsize:
        raise ctx.error(
            "a view with elements of another size needs a shape", f"{x.dtype} as {kind}"
        )
    else:
        found = TensorStructInfo(x.shape, kind, x.vdevice, x.ndim)
    _check_size(ctx, x, found, relative_byte_offset)
    return found


def _check_size(
    ctx: Infer, x: TensorStructInfo, found: TensorStructInfo, offset: StructInfo
) -> None:
    if x.values is None or found.values is None or VOID in (x.dtype, found.dtype):
        return
    old, new = const_int(product(x.values)), const_int(product(found.values))
    start = const_int(offset.value) if isinstance(offset, PrimStructInfo) else 0
    if None in (old, new, start):
        return
    assert old is not None, "checked above"
    assert new is not None, "checked above"
    assert start is not None, "checked above"
    if start < 0 or start + new * found.dtype.itemsize > old * x.dtype.itemsize:
        raise ctx.shape_error(
            "the view does not lie within the tensor",
            f"{show_shape(found)} {found.dtype} from byte {start} of {show_shape(x)} {x.dtype}",
            f"at most {old * x.dtype.itemsize} bytes",
        )


@view.reference
def _view_numpy(x: Array, shape: Any, dtype: Any, relative_byte_offset: Any) -> Array:
    kind = x.dtype if dtype == () else numpy_dtype(dtype)
    start = 0 if relative_byte_offset == () else int(relative_byte_offset)
    target = x.shape if shape == () and x.shape != () else tuple(shape)
    count = int(np.prod(target))
    data = np.ascontiguousarray(x).tobytes()[start : start + count * kind.itemsize]
    return np.frombuffer(data, kind).reshape(target)


@relax_op("relax.memory.ensure_zero_offset", "x: Tensor")
def ensure_zero_offset(data: ExprLike) -> Call:
    """The same tensor, copied if it does not begin at the start of its memory."""
    return ensure_zero_offset.call(data)


ensure_zero_offset.infer(lambda ctx, x: x)
ensure_zero_offset.reference(lambda x: x)


@ensure_zero_offset.legalize
def _ensure_zero_offset_te(bb: BlockBuilder, x: Expr) -> Expr:
    return call_pure_packed(
        ExternFunc("vm.builtin.ensure_zero_offset"), x, sinfo_args=x.struct_info
    )
