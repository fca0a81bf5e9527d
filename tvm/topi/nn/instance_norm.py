"""Instance normalisation."""

from __future__ import annotations

from typing import Any

from tvm import te
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import stage
from tvm.topi.utils import normal_axes, normal_axis

from .norm_parts import Moments, check_floats


@explained
def instance_norm(
    data: te.Tensor, gamma: te.Tensor, beta: te.Tensor | None, channel_axis: int, axis: Any,
    epsilon: float = 1e-5,
) -> te.Tensor:  # fmt: skip
    """Normalised over axes for each instance, then scaled and shifted for each channel."""
    check_floats("instance_norm", data, gamma, beta)
    channel = normal_axis(channel_axis, data.ndim, "instance_norm")
    moments = Moments(data, normal_axes(axis, data.ndim, "instance_norm"), data.op.name)

    def element(*i: Any) -> PrimExpr:
        value = moments.normalised(i, epsilon) * gamma(i[channel])
        return value if beta is None else value + beta(i[channel])

    return stage(data.shape, element, "T_instance_norm", tag.INJECTIVE)
