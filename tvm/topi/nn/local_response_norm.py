"""Local response normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm import te, tir
from tvm.error import ShapeError
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import stage

from .pad import padded


@explained
def lrn(
    data: te.Tensor, size: int, axis: int = 1, alpha: float = 0.0001, beta: float = 0.75,
    bias: float = 2,
) -> te.Tensor:  # fmt: skip
    """x / (bias + alpha / size * sum of x * x over `size` neighbours along an axis) ** beta"""
    if data.ndim != 4 or size % 2 != 1 or axis not in (1, 3):
        raise ShapeError(
            f"lrn: {data.ndim} dimensions, size {size}, axis {axis}; legal: 4 dimensions, an odd "
            "size, axis 1 or 3"
        )
    room = [size // 2 if k == axis else 0 for k in range(4)]
    zero, names = tir.const(0, data.dtype), ["ax0", "ax1", "ax2", "ax3"]
    around = padded(data, room, room, zero, "pad_data", names)
    tap = te.reduce_axis((0, size), "rxs")

    def squares(*i: Any) -> PrimExpr:
        coords = [x + tap if k == axis else x for k, x in enumerate(i)]
        result: PrimExpr = te.sum(around(*coords) * around(*coords), axis=tap)
        return result

    total = stage(data.shape, squares, "tensor", tag.INJECTIVE)
    dtype = data.dtype

    def factor(*i: Any) -> PrimExpr:
        scaled = tir.const(float(np.float32(alpha)), dtype) * total(*i) / tir.const(size, dtype)
        return tir.power(tir.const(bias, dtype) + scaled, tir.const(beta, dtype))

    root = stage(data.shape, factor, "tensor", tag.INJECTIVE)
    return stage(data.shape, lambda *i: data(*i) / root(*i), "T_divide", tag.BROADCAST)
