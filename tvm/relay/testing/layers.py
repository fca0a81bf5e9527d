"""Layers with their parameters as variables."""

from __future__ import annotations

from typing import Any

from tvm.relay.expr import var
from tvm.relay.op import nn


def batch_norm_infer(
    data: Any, gamma: Any = None, beta: Any = None, moving_mean: Any = None,
    moving_var: Any = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """Batch normalisation; `name` begins the names of its parameters."""
    name = kwargs.pop("name")
    given = {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var}
    made: list[Any] = [var(f"{name}_{k}") if v is None else v for k, v in given.items()]
    return nn.batch_norm(data, made[0], made[1], made[2], made[3], **kwargs)[0]


def _weighted(op: Any, data: Any, weight: Any, kwargs: dict[str, Any]) -> Any:
    name = kwargs.pop("name")
    return op(data, var(f"{name}_weight") if weight is None else weight, **kwargs)


def conv2d(data: Any, weight: Any = None, **kwargs: Any) -> Any:
    """A convolution over images."""
    return _weighted(nn.conv2d, data, weight, kwargs)


def conv3d(data: Any, weight: Any = None, **kwargs: Any) -> Any:
    """A convolution over volumes."""
    return _weighted(nn.conv3d, data, weight, kwargs)


def conv2d_transpose(data: Any, weight: Any = None, **kwargs: Any) -> Any:
    """The transpose of a convolution over images."""
    return _weighted(nn.conv2d_transpose, data, weight, kwargs)


def dense_add_bias(
    data: Any, weight: Any = None, bias: Any = None, units: int | None = None, **kwargs: Any
) -> Any:
    """A dense layer with a bias."""
    name = kwargs.pop("name")
    weight = var(f"{name}_weight") if weight is None else weight
    bias = var(f"{name}_bias") if bias is None else bias
    return nn.bias_add(nn.dense(data, weight, units, **kwargs), bias, axis=-1)


def conv_kernel_layout(data_layout: str, is_depthwise: bool = False) -> str:
    """The layout of the weight that goes with a layout of the data."""
    known = {"NCHW": "OIHW", "NCDHW": "OIDHW", "NDHWC": "DHWIO"}
    if data_layout == "NHWC":
        return "HWOI" if is_depthwise else "HWIO"
    if data_layout not in known:
        raise ValueError(f"no kernel layout goes with {data_layout!r}; legal: NHWC, {known}")
    return known[data_layout]
