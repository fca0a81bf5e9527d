"""Operators that change the type of elements."""

from __future__ import annotations

import numpy as np

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, ExprLike
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.relax.struct_info import TensorStructInfo
from tvm.support.dtype import DataType

from . import layout_rules
from .declare import ELEMENTWISE, FOLLOW, Array, Expr, Infer, attrs_class, relax_op, topi
from .shapes import with_dtype

AstypeAttrs = attrs_class("AstypeAttrs", "dtype")
WrapParamAttrs = attrs_class("WrapParamAttrs", "dtype")


@relax_op("relax.astype", "x: Tensor", AstypeAttrs, pattern=ELEMENTWISE, precision=FOLLOW)
def astype(x: ExprLike, dtype: DataType | str) -> Call:
    """Each element converted to `dtype`; floats are rounded toward zero for integers."""
    return astype.call(x, dtype=DataType(dtype))


@relax_op("relax.wrap_param", "data: Tensor", WrapParamAttrs)
def wrap_param(data: ExprLike, dtype: DataType | str = "float32") -> Call:
    """A parameter that is stored in its own type and used as `dtype`."""
    return wrap_param.call(data, dtype=DataType(dtype))


def _info(ctx: Infer, x: TensorStructInfo, *, dtype: DataType) -> TensorStructInfo:
    return with_dtype(x, dtype)


def _numpy(x: Array, *, dtype: DataType) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(x).astype(numpy_dtype(dtype))


astype.infer(_info)
wrap_param.infer(_info)
astype.reference(_numpy)
wrap_param.reference(_numpy)
astype.layout(layout_rules.same)
wrap_param.follow_layout(layout_rules.same)


def _converted(x: Constant, dtype: DataType) -> Constant:
    return Constant(_numpy(x.data.numpy(), dtype=dtype), span=x.span)


@astype.legalize
def _astype_te(bb: BlockBuilder, x: Expr, *, dtype: DataType) -> Expr:
    """Of one number, that number; arrays are left to `FoldConstant`."""
    if isinstance(x, Constant) and not x.data.shape and not dtype.is_custom:
        return _converted(x, dtype)  # numpy knows no types of users
    return bb.call_te(topi.cast, x, str(dtype), primfunc_name_hint="cast")


@wrap_param.legalize
def _wrap_param_te(bb: BlockBuilder, data: Expr, *, dtype: DataType) -> Expr:
    if isinstance(data, Constant) and not dtype.is_custom:
        return _converted(data, dtype)
    return _astype_te(bb, data, dtype=dtype)
