"""A small network with many kinds of operators."""

from __future__ import annotations

from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.expr import Var, const, var
from tvm.relay.function import Function
from tvm.relay.op import add, nn
from tvm.relay.variables import free_vars

from .init import create_workload
from .layers import dense_add_bias


def get_net(
    input_shape: tuple[int, ...] = (1, 3, 24, 12), dtype: str = "float32",
    wtype: str | None = None,
) -> Function:  # fmt: skip
    """Dense, convolution, pooling, normalisation in a row."""
    wtype = dtype if wtype is None else wtype
    data = var("data", shape=input_shape, dtype=dtype)
    shape = (input_shape[1], input_shape[1], 3, 3)

    def weight(name: str) -> Var:
        return var(name, shape=shape, dtype=wtype)

    body: Any = nn.conv2d(
        data, weight("conv2d_weight"), channels=shape[0], kernel_size=(3, 3), padding=(1, 1)
    )
    body = nn.relu(add(body, const(1.0, dtype)))
    body = nn.max_pool2d(body, pool_size=(2, 2), strides=(2, 2))
    body = nn.conv2d(
        body, weight("conv2d_weight1"), channels=shape[0], kernel_size=(3, 3), padding=(1, 1)
    )
    flat = nn.batch_flatten(nn.relu(body))
    made = nn.softmax(dense_add_bias(flat, units=10, name="dense"))
    return Function(free_vars(made), made)


def get_workload(
    input_shape: tuple[int, ...] = (1, 3, 24, 12), dtype: str = "float32",
    wtype: str | None = None,
) -> tuple[IRModule, dict[str, Any]]:  # fmt: skip
    """The network as a module, with values for its parameters."""
    return create_workload(get_net(input_shape, dtype, wtype))
