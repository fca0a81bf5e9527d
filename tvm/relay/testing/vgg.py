"""Networks of small convolutions in a row (Simonyan and Zisserman, 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.expr import var
from tvm.relay.function import Function
from tvm.relay.op import nn
from tvm.relay.variables import free_vars

from .init import create_workload
from .layers import batch_norm_infer, conv2d, dense_add_bias

_STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
_FILTERS = (64, 128, 256, 512, 512)


def get_feature(
    internal_layer: Any, layers: Sequence[int], filters: Sequence[int], batch_norm: bool = False
) -> Any:
    """Stages of convolutions, each of which ends in pooling."""
    for stage, count in enumerate(layers, 1):
        for at in range(1, count + 1):
            name = f"conv{stage}_{at}"
            internal_layer = conv2d(
                data=internal_layer, kernel_size=(3, 3), padding=(1, 1),
                channels=filters[stage - 1], name=name,
            )  # fmt: skip
            bias = var(f"{name}_bias")
            internal_layer = nn.bias_add(internal_layer, bias)
            if batch_norm:
                internal_layer = batch_norm_infer(data=internal_layer, name=f"bn{stage}_{at}")
            internal_layer = nn.relu(data=internal_layer)
        internal_layer = nn.max_pool2d(data=internal_layer, pool_size=(2, 2), strides=(2, 2))
    return internal_layer


def get_classifier(input_data: Any, num_classes: int) -> Any:
    """Three dense layers."""
    body = nn.batch_flatten(data=input_data)
    for name in ("fc6", "fc7"):
        body = nn.relu(data=dense_add_bias(data=body, units=4096, name=name))
        body = nn.dropout(data=body, rate=0.5)
    return dense_add_bias(data=body, units=num_classes, name="fc8")


def get_net(
    batch_size: int, image_shape: tuple[int, ...], num_classes: int, dtype: str,
    num_layers: int = 11, batch_norm: bool = False,
) -> Function:  # fmt: skip
    """The network of a depth as a function of the image and the parameters."""
    if num_layers not in _STAGES:
        raise ValueError(f"Invalid num_layers {num_layers}. Choices are {list(_STAGES)}.")
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    feature = get_feature(data, _STAGES[num_layers], _FILTERS, batch_norm)
    made = nn.softmax(data=get_classifier(feature, num_classes))
    return Function(free_vars(made), made)


def get_workload(
    batch_size: int, num_classes: int = 1000, image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32", num_layers: int = 11, batch_norm: bool = False,
) -> tuple[IRModule, dict[str, Any]]:  # fmt: skip
    """The network as a module, with values for its parameters."""
    return create_workload(
        get_net(batch_size, image_shape, num_classes, dtype, num_layers, batch_norm)
    )
