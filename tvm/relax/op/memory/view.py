"""Another look at the memory of a tensor, without a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvm.ffi import register_global_func
from tvm.ir.expr import PrimExpr, StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.derive import DERIVERS
from tvm.relax.expr import Call, DataTypeImm, ExprLike, ExternFunc, Tuple
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.relax.op.base import call_pure_packed
from tvm.relax.op.declare import Array, Expr, Infer, as_shape, relax_op, show_extent, show_shape
from tvm.relax.shape_math import product
from tvm.relax.struct_info import (
    VOID,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.tir.expr import INT64, IntImm

from .memory import as_dtype, as_prim

ABSENT = Tuple(())


@relax_op("relax.memory.view", "x: Tensor, shape: Expr, dtype: Expr, relative_byte_offset: Expr",
          reads_shape_variables=True)  # fmt: skip
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
    elif not _is_absent(dtype) and not isinstance(dtype, ObjectStructInfo):
        raise ctx.operand_error("dtype must be a data type", f"{dtype}", "a dtype, or nothing")
    if not _is_absent(shape) and not isinstance(shape, ShapeStructInfo):
        raise ctx.operand_error("shape must be a shape", f"{shape}", "a shape, or nothing")
    if not _is_absent(relative_byte_offset) and not isinstance(
        relative_byte_offset, PrimStructInfo
    ):
        raise ctx.operand_error("relative_byte_offset must be a number", f"{relative_byte_offset}")
    if isinstance(shape, ShapeStructInfo):
        found = TensorStructInfo.of(shape.values, kind, x.vdevice, shape.ndim)
    else:
        found = TensorStructInfo.of(x.shape, kind, x.vdevice, x.ndim)
    start: PrimExpr = IntImm(INT64, 0)  # the least that an unknown offset may be
    if isinstance(relative_byte_offset, PrimStructInfo):
        start = relative_byte_offset.value if relative_byte_offset.value is not None else start
    if _leaves(ctx, x, found, start, _is_absent(shape), _is_absent(dtype)):
        raise ctx.shape_error(
            "the view does not lie within the tensor",
            f"{show_shape(found)} {found.dtype} from byte {show_extent(start)} of "
            f"{show_shape(x)} {x.dtype}",
            "a view that ends where the tensor ends, or before",
        )
    return found


VIEW_DERIVATION = "tvm.relax.struct_info.infer_view_sinfo"


def infer_view_sinfo(call: Call, ctx: BlockBuilder | None) -> StructInfo:
    """The result of a function that makes a view of a tensor, shape, dtype and byte offset."""
    plain = Call(view.op, call.args, None, (), call.span)
    rule = view.op.get_attr("FInferStructInfo")
    found: StructInfo = rule(plain, BlockBuilder() if ctx is None else ctx)
    return found


DERIVERS.register(VIEW_DERIVATION, infer_view_sinfo)
register_global_func(VIEW_DERIVATION, infer_view_sinfo)


def _leaves(
    ctx: Infer,
    x: TensorStructInfo,
    found: TensorStructInfo,
    start: PrimExpr,
    same_shape: bool,
    same_dtype: bool,
) -> bool:
    """Whether a view is sure to begin before its tensor or to end behind it."""
    prove: Callable[[Any], bool] = ctx.analyzer.can_prove
    if prove(start < 0):
        return True
    sized = VOID not in (x.dtype, found.dtype)
    if same_shape and (same_dtype or x.values is None):  # as many elements as there are
        grows = sized and found.dtype.itemsize > x.dtype.itemsize
        shrinks = not same_dtype and (not sized or found.dtype.itemsize < x.dtype.itemsize)
        return grows or (not shrinks and prove(start > 0))
    if x.values is None or found.values is None:
        return False
    old, new = product(x.values), product(found.values)
    if not sized:
        return same_dtype and prove(new > old)  # whatever size an element has
    return prove(start + new * found.dtype.itemsize > old * x.dtype.itemsize)


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
