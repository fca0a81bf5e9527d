"""A small network with many kinds of operators."""

from __future__ import annotations

from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.expr import var
from tvm.relay.function import Function
from tvm.relay.op import add, nn, reshape, reshape_like
from tvm.relay.variables import free_vars

from .init import Initializer, create_workload
from .layers import batch_norm_infer


def get_net(
    input_shape: tuple[int, ...] = (1, 3, 24, 12), dtype: str = "float32",
    wtype: str | None = None,
) -> Function:  # fmt: skip
    """Dense layers beside convolutions, twice, with a bias and a normalisation between."""
    wtype = dtype if wtype is None else wtype
    data = var("data", shape=input_shape, dtype=dtype)
    channels, width = input_shape[1], input_shape[-1]

    def beside(body: Any, ends: str) -> Any:
        dense = var(f"dense{ends}_weight", shape=(width, width), dtype=wtype)
        window = var(f"conv{ends}_weight", shape=(channels, channels, 3, 3), dtype=wtype)
        flat = nn.relu(nn.dense(reshape(body, (-1, width)), dense))
        conv = nn.softmax(nn.conv2d(body, window, kernel_size=(3, 3), padding=(1, 1)))
        return add(reshape_like(flat, data), conv)

    bias = var("bias", shape=(channels,), dtype=dtype)
    body = batch_norm_infer(nn.bias_add(beside(data, ""), bias), name="batch_norm")
    made = beside(body, "2")
    return Function(free_vars(made), made)


class _Even(Initializer):
    """Weights that are all the same, and sum to one."""

    def _init_weight(self, name: str, arr: Any) -> None:
        arr[:] = 1.0 / arr.size


def get_workload(
    input_shape: tuple[int, ...] = (1, 3, 24, 12), dtype: str = "float32",
    wtype: str | None = None,
) -> tuple[IRModule, dict[str, Any]]:  # fmt: skip
    """The network as a module, with values for its parameters."""
    return create_workload(get_net(input_shape, dtype, wtype), _Even())
