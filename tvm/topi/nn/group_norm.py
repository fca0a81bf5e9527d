"""Group normalisation."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.error import ShapeError
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import known, stage
from tvm.topi.reshaping import reshape
from tvm.topi.utils import get_const_int, normal_axes, normal_axis

from .norm_parts import Moments, check_floats


@explained
def group_norm(
    data: te.Tensor, gamma: te.Tensor | None, beta: te.Tensor | None, num_groups: int,
    channel_axis: int, axes: Any, epsilon: float = 1e-5,
) -> te.Tensor:  # fmt: skip
    """Normalised over axes and the channels of each group, then scaled and shifted a channel."""
    check_floats("group_norm", data, gamma, beta)
    channel = normal_axis(channel_axis, data.ndim, "group_norm")
    spatial = normal_axes(axes, data.ndim, "group_norm")
    channels = data.shape[channel]
    groups = int(num_groups)
    if groups < 1 or (known(channels) and get_const_int(channels) % groups):
        raise ShapeError(f"group_norm: {channels} channels in {groups} groups; legal: a divisor")
    each = Analyzer().simplify(tir.floordiv(channels, groups))
    grouped = reshape(data, [*data.shape[:channel], groups, each, *data.shape[channel + 1 :]])
    if data.dtype == "float16":
        halves = grouped
        grouped = stage(
            halves.shape, lambda *i: halves(*i).astype("float32"), "T_cast", tag.ELEMWISE
        )
    # channels are two axes now: reduce over the second, and over those behind it one further
    reduced = sorted({channel + 1, *(a if a < channel else a + 1 for a in spatial if a != channel)})
    scale, shift = (None if t is None else reshape(t, [groups, each]) for t in (gamma, beta))
    moments = Moments(grouped, reduced, data.op.name, data.dtype)

    def element(*i: Any) -> PrimExpr:
        value = moments.normalised(i, epsilon)
        own = (i[channel], i[channel + 1])
        if scale is not None:
            value = value * scale(*own)
        return value if shift is None else value + shift(*own)

    normed = stage(grouped.shape, element, "T_group_norm", tag.INJECTIVE)
    return reshape(normed, data.shape)
