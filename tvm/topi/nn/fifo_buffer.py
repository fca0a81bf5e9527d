"""A sliding history of inputs."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.error import ShapeError
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import check_same, compute
from tvm.topi.utils import normal_axis


@te.tag_scope(tag=tag.INJECTIVE + ",fifo_buffer")
@explained
def fifo_buffer(data: te.Tensor, buffer: te.Tensor, axis: int) -> te.Tensor:
    """The buffer moved along an axis by the extent of the data, which fills the end."""
    if data.ndim != buffer.ndim:
        raise ShapeError(
            f"fifo_buffer: data of {data.ndim} dimensions, buffer of {buffer.ndim}; legal: equal"
        )
    dim = normal_axis(axis, data.ndim, "fifo_buffer")
    for k, (own, other) in enumerate(zip(data.shape, buffer.shape)):
        if k != dim:
            check_same("fifo_buffer", f"dimension {k} of data and buffer", own, other)
    length, kept = data.shape[dim], buffer.shape[dim] - data.shape[dim]

    def element(*i: Any) -> PrimExpr:
        before, own, after = i[:dim], i[dim], i[dim + 1 :]
        old = buffer(*before, own + length, *after)
        return tir.if_then_else(own < kept, old, data(*before, own - kept, *after))

    return compute(buffer.shape, element, name="new_buffer")
