"""Networks of squeezed and expanded channels (Iandola et al., 2016)."""

from __future__ import annotations

from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.expr import var
from tvm.relay.function import Function
from tvm.relay.op import concatenate, nn
from tvm.relay.variables import free_vars

from .init import create_workload
from .layers import conv2d

# fire modules by version: how many channels are squeezed to, and after which ones pooling comes
_FIRES = (16, 16, 32, 32, 48, 48, 64, 64)
_POOLS = {"1.0": (0, 3, 7), "1.1": (0, 2, 4)}


def _conv(data: Any, channels: int, size: int, padding: int, name: str, stride: int = 1) -> Any:
    made = conv2d(
        data=data, channels=channels, kernel_size=(size, size), strides=(stride, stride),
        padding=(padding, padding), name=name,
    )  # fmt: skip
    return nn.relu(data=nn.bias_add(made, var(f"{name}_bias")))


def _fire(data: Any, squeeze: int, expand: int, name: str) -> Any:
    narrow = _conv(data, squeeze, 1, 0, f"{name}_input_conv")
    left = _conv(narrow, expand, 1, 0, f"{name}_left_conv")
    right = _conv(narrow, expand, 3, 1, f"{name}_right_conv")
    return concatenate((left, right), axis=1)


def get_net(
    batch_size: int, image_shape: tuple[int, ...], num_classes: int, version: str, dtype: str
) -> Function:
    """The network of version "1.0" or "1.1"."""
    if version not in _POOLS:
        raise ValueError(
            f"Unsupported SqueezeNet version {version}: 1.0 or 1.1 expected"
        )
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    first = (96, 7, 3) if version == "1.0" else (64, 3, 1)
    body = _conv(data, *first, "conv1", stride=2)
    for at, squeeze in enumerate(_FIRES):
        if at in _POOLS[version]:
            body = nn.max_pool2d(data=body, pool_size=(3, 3), strides=(2, 2))
        body = _fire(body, squeeze, squeeze * 4, f"fire{at + 1}")
    body = nn.dropout(body, rate=0.5)
    body = _conv(body, num_classes, 1, 0, "conv_final")
    made = nn.softmax(nn.batch_flatten(nn.global_avg_pool2d(body)))
    return Function(free_vars(made), made)


def get_workload(
    batch_size: int = 1, num_classes: int = 1000, version: str = "1.0",
    image_shape: tuple[int, ...] = (3, 224, 224), dtype: str = "float32",
) -> tuple[IRModule, dict[str, Any]]:  # fmt: skip
    """The network as a module, with values for its parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, version, dtype))
