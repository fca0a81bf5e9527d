"""Normalisation by the root of the mean square."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.topi import broadcast, tag
from tvm.topi.common import stage
from tvm.topi.reduction import reduce_with
from tvm.topi.utils import normal_axes

from .norm_parts import check_floats

FLOAT32 = DataType("float32")


def _cast(x: te.Tensor, dtype: DataType) -> te.Tensor:
    return stage(x.shape, lambda *i: x(*i).astype(dtype), "T_cast", tag.ELEMWISE)


@explained
def rms_norm(data: te.Tensor, weight: te.Tensor, axis: Any, epsilon: float = 1e-5) -> te.Tensor:
    """x / sqrt(mean(x * x) + epsilon) * weight, over axes which the weight has; in float32."""
    check_floats("rms_norm", data, weight)
    axes = normal_axes(axis, data.ndim, "rms_norm")
    x, w = _cast(data, FLOAT32), _cast(weight, FLOAT32)
    squares = reduce_with(broadcast.multiply(x, x), axes, te.sum, False, "rms_norm", atleast1d=True)
    whole = len(axes) == data.ndim
    count: PrimExpr = tir.const(1, FLOAT32)
    for a in axes:
        count = count * data.shape[a]

    def inverse(*i: Any) -> PrimExpr:
        return tir.rsqrt(squares(*i) / count + tir.const(epsilon, FLOAT32))

    root = stage(squares.shape, inverse, "rsqrt", tag.INJECTIVE)

    def element(*i: Any) -> PrimExpr:
        inner = [index for k, index in enumerate(i) if k in axes]
        outer = [0] if whole else [index for k, index in enumerate(i) if k not in axes]
        return root(*outer) * x(*i) * w(*inner)

    return _cast(stage(data.shape, element, "T_rms_norm", tag.INJECTIVE), data.dtype)
