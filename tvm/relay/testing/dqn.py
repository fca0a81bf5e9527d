"""The network that learned to play games (Mnih et al., 2015)."""

from __future__ import annotations

from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.expr import var
from tvm.relay.function import Function
from tvm.relay.op import nn
from tvm.relay.variables import free_vars

from .init import create_workload
from .layers import conv2d, conv_kernel_layout, dense_add_bias


def get_net(
    batch_size: int, num_actions: int = 18, image_shape: tuple[int, ...] = (4, 84, 84),
    dtype: str = "float32", layout: str = "NCHW",
) -> Function:  # fmt: skip
    """From pictures to the worth of each action."""
    body: Any = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    for at, (channels, size, stride) in enumerate(((32, 8, 4), (64, 4, 2), (64, 3, 1)), 1):
        bias = var(f"conv{at}_bias")
        body = conv2d(
            body, kernel_size=(size, size), strides=(stride, stride), padding=(0, 0),
            channels=channels, name=f"conv{at}", data_layout=layout,
            kernel_layout=conv_kernel_layout(layout),
        )  # fmt: skip
        body = nn.relu(nn.bias_add(body, bias, layout.index("C")))
    body = nn.relu(dense_add_bias(nn.batch_flatten(body), units=512, name="dense1"))
    made = dense_add_bias(body, units=num_actions, name="dense2")
    return Function(free_vars(made), made)


def get_workload(
    batch_size: int, num_actions: int = 18, image_shape: tuple[int, ...] = (4, 84, 84),
    dtype: str = "float32", layout: str = "NCHW",
) -> tuple[IRModule, dict[str, Any]]:  # fmt: skip
    """The network as a module, with values for its parameters."""
    return create_workload(get_net(batch_size, num_actions, image_shape, dtype, layout))
