"""Three dense layers."""

from __future__ import annotations

from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.expr import var
from tvm.relay.function import Function
from tvm.relay.op import nn
from tvm.relay.variables import free_vars

from .init import create_workload


def get_net(
    batch_size: int, num_classes: int = 10, image_shape: tuple[int, ...] = (1, 28, 28),
    dtype: str = "float32",
) -> Function:  # fmt: skip
    """The network as a function of the image and the parameters."""
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    flat: Any = nn.batch_flatten(data)
    for at, units in ((1, 128), (2, 64), (3, num_classes)):
        flat = nn.dense(flat, var(f"fc{at}_weight"), units=units)
        flat = nn.bias_add(flat, var(f"fc{at}_bias"), axis=-1)
        flat = nn.relu(flat) if at < 3 else flat
    made = nn.softmax(data=flat)
    return Function(free_vars(made), made)


def get_workload(
    batch_size: int, num_classes: int = 10, image_shape: tuple[int, ...] = (1, 28, 28),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Any]]:  # fmt: skip
    """The network as a module, with values for its parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
