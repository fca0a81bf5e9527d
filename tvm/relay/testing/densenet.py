"""Networks of blocks that hand on the results of all their layers (Huang et al., 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.expr import var
from tvm.relay.function import Function
from tvm.relay.op import concatenate, nn
from tvm.relay.variables import free_vars

from .init import create_workload
from .layers import batch_norm_infer, conv2d, dense_add_bias

# channels of the first convolution, growth, layers of each block
_SPECS: dict[int, tuple[int, int, Sequence[int]]] = {
    121: (64, 32, (6, 12, 24, 16)), 161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)), 201: (64, 32, (6, 12, 48, 32)),
}  # fmt: skip


def _normal_conv(data: Any, channels: int, size: int, norm: str, conv: str) -> Any:
    body = nn.relu(batch_norm_infer(data, name=norm))
    return conv2d(
        body, channels=channels, kernel_size=(size, size), padding=(size // 2, size // 2), name=conv
    )


def _block(data: Any, layers: int, growth: int, narrow: int, index: int) -> Any:
    """The results of all layers; each reads the one before."""
    made = []
    for at in range(layers):
        for step, channels, size in ((1, narrow * growth, 1), (2, growth, 3)):
            whole = f"{step}_{index}_{at}"
            data = _normal_conv(data, channels, size, f"batch_{whole}", f"conv2d_{whole}")
        made.append(data)
    return concatenate(made, axis=1)


def _dense_net(
    first: int, growth: int, blocks: Sequence[int], data_shape: tuple[int, ...],
    data_dtype: str, classes: int, narrow: int = 4,
) -> Function:  # fmt: skip
    data = var("data", shape=data_shape, dtype=data_dtype)
    body = conv2d(
        data, channels=first, kernel_size=(7, 7), strides=(2, 2), padding=(3, 3), name="conv1"
    )
    body = nn.relu(batch_norm_infer(body, name="batch1"))
    body = nn.max_pool2d(body, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    channels = first
    for index, layers in enumerate(blocks):
        body = _block(body, layers, growth, narrow, index)
        channels += layers * growth
        if index != len(blocks) - 1:
            channels //= 2
            body = _normal_conv(body, channels, 1, f"batch_t_{index}", f"conv_t_{index}")
            body = nn.avg_pool2d(body, pool_size=(2, 2), strides=(2, 2))
    body = nn.relu(batch_norm_infer(body, name="batch2"))
    flat = nn.batch_flatten(nn.avg_pool2d(body, pool_size=(7, 7)))
    made = dense_add_bias(flat, units=classes, name="dense")
    return Function(free_vars(made), made)


def get_workload(
    densenet_size: int = 121, classes: int = 1000, batch_size: int = 4,
    image_shape: tuple[int, ...] = (3, 224, 224), dtype: str = "float32",
) -> tuple[IRModule, dict[str, Any]]:  # fmt: skip
    """The network as a module, with values for its parameters."""
    if densenet_size not in _SPECS:
        raise ValueError(f"no DenseNet of {densenet_size} layers; legal: {list(_SPECS)}")
    first, growth, blocks = _SPECS[densenet_size]
    net = _dense_net(first, growth, blocks, (batch_size, *image_shape), dtype, classes)
    return create_workload(net)
