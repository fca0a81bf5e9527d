"""Layer normalisation."""

from __future__ import annotations

from typing import Any

from tvm import te
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import stage
from tvm.topi.utils import normal_axes

from .norm_parts import Moments, check_floats


@explained
def layer_norm(
    data: te.Tensor, gamma: te.Tensor, beta: te.Tensor | None, axis: Any, epsilon: float = 1e-5
) -> te.Tensor:
    """Normalised over axes, then scaled by gamma and shifted by beta, which have these axes."""
    check_floats("layer_norm", data, gamma, beta)
    axes = normal_axes(axis, data.ndim, "layer_norm")
    moments = Moments(data, axes, data.op.name)

    def element(*i: Any) -> PrimExpr:
        inner, _ = moments.split(i)
        value = moments.normalised(i, epsilon) * gamma(*inner)
        return value if beta is None else value + beta(*inner)

    return stage(data.shape, element, "T_layer_norm", tag.INJECTIVE)
