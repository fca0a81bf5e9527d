"""Networks of factored convolutions side by side (Szegedy et al., 2016)."""

from __future__ import annotations

from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.expr import var
from tvm.relay.function import Function
from tvm.relay.op import concatenate, nn
from tvm.relay.variables import free_vars

from .init import create_workload
from .layers import batch_norm_infer, conv2d

_Window = tuple[int, int]


def Conv(
    data: Any, num_filter: int, kernel: _Window = (1, 1), stride: _Window = (1, 1),
    pad: _Window = (0, 0), name: Any = None, suffix: str = "",
) -> Any:  # fmt: skip
    """A convolution, normalised, and ReLU."""
    whole = f"{name}{suffix}"
    body = conv2d(
        data, channels=num_filter, kernel_size=kernel, strides=stride, padding=pad,
        name=f"{whole}_conv1",
    )  # fmt: skip
    return nn.relu(batch_norm_infer(body, epsilon=2e-5, scale=False, name=f"{whole}_bn"))


def Pooling(
    data: Any, kernel: _Window, stride: _Window, pad: _Window, pool_type: str, name: str
) -> Any:
    """The greatest ("max") or the mean ("avg") of each window."""
    if pool_type == "max":
        return nn.max_pool2d(data, pool_size=kernel, strides=stride, padding=pad)
    if pool_type == "avg":
        return nn.avg_pool2d(
            data, pool_size=kernel, strides=stride, padding=pad, count_include_pad=True
        )
    raise ValueError(f"Invalid pooling type: {pool_type}; legal: max, avg")


def _tower(data: Any, name: str, *layers: tuple[int, _Window, _Window, _Window, str]) -> Any:
    """Convolutions behind each other: channels, window, stride, padding, and the end of a name."""
    for channels, kernel, stride, pad, suffix in layers:
        data = Conv(data, channels, kernel, stride, pad, name, suffix)
    return data


_1, _3, _0 = (1, 1), (3, 3), (0, 0)
_WIDE, _TALL = ((1, 7), (0, 3)), ((7, 1), (3, 0))


def _pooled(data: Any, pool: str, proj: int, name: str) -> Any:
    body = Pooling(data, _3, _1, _1, pool, f"{pool}_pool_{name}_pool")
    return Conv(body, proj, name=f"{name}_tower_2", suffix="_conv")


def Inception7A(
    data: Any, num_1x1: int, num_3x3_red: int, num_3x3_1: int, num_3x3_2: int,
    num_5x5_red: int, num_5x5: int, pool: str, proj: int, name: str,
) -> Any:  # fmt: skip
    """Windows of one, five and twice three side by side."""
    one = Conv(data, num_1x1, name=f"{name}_conv")
    five = _tower(data, f"{name}_tower", (num_5x5_red, _1, _1, _0, "_conv"),
                  (num_5x5, (5, 5), _1, (2, 2), "_conv_1"))  # fmt: skip
    three = _tower(data, f"{name}_tower_1", (num_3x3_red, _1, _1, _0, "_conv"),
                   (num_3x3_1, _3, _1, _1, "_conv_1"),
                   (num_3x3_2, _3, _1, _1, "_conv_2"))  # fmt: skip
    return concatenate((one, five, three, _pooled(data, pool, proj, name)), axis=1)


def Inception7B(
    data: Any, num_3x3: int, num_d3x3_red: int, num_d3x3_1: int, num_d3x3_2: int, pool: str,
    name: str,
) -> Any:  # fmt: skip
    """To half the height and width."""
    three = Conv(data, num_3x3, _3, (2, 2), _0, name=f"{name}_conv")
    double = _tower(data, f"{name}_tower", (num_d3x3_red, _1, _1, _0, "_conv"),
                    (num_d3x3_1, _3, _1, _1, "_conv_1"),
                    (num_d3x3_2, _3, (2, 2), _0, "_conv_2"))  # fmt: skip
    pooled = Pooling(data, _3, (2, 2), _0, "max", f"max_pool_{name}_pool")
    return concatenate((three, double, pooled), axis=1)


def Inception7C(
    data: Any, num_1x1: int, num_d7_red: int, num_d7_1: int, num_d7_2: int, num_q7_red: int,
    num_q7_1: int, num_q7_2: int, num_q7_3: int, num_q7_4: int, pool: str, proj: int, name: str,
) -> Any:  # fmt: skip
    """Windows of seven as a row and a column, once and twice."""
    one = Conv(data, num_1x1, name=f"{name}_conv")
    (wide, wide_pad), (tall, tall_pad) = _WIDE, _TALL
    once = _tower(data, f"{name}_tower", (num_d7_red, _1, _1, _0, "_conv"),
                  (num_d7_1, wide, _1, wide_pad, "_conv_1"),
                  (num_d7_2, tall, _1, tall_pad, "_conv_2"))  # fmt: skip
    twice = _tower(data, f"{name}_tower_1", (num_q7_red, _1, _1, _0, "_conv"),
                   (num_q7_1, tall, _1, tall_pad, "_conv_1"),
                   (num_q7_2, wide, _1, wide_pad, "_conv_2"),
                   (num_q7_3, tall, _1, tall_pad, "_conv_3"),
                   (num_q7_4, wide, _1, wide_pad, "_conv_4"))  # fmt: skip
    return concatenate((one, once, twice, _pooled(data, pool, proj, name)), axis=1)


def Inception7D(
    data: Any, num_3x3_red: int, num_3x3: int, num_d7_3x3_red: int, num_d7_1: int, num_d7_2: int,
    num_d7_3x3: int, pool: str, name: str,
) -> Any:  # fmt: skip
    """To half the height and width, with a window of seven before."""
    three = _tower(data, f"{name}_tower", (num_3x3_red, _1, _1, _0, "_conv"),
                   (num_3x3, _3, (2, 2), _0, "_conv_1"))  # fmt: skip
    (wide, wide_pad), (tall, tall_pad) = _WIDE, _TALL
    seven = _tower(data, f"{name}_tower_1", (num_d7_3x3_red, _1, _1, _0, "_conv"),
                   (num_d7_1, wide, _1, wide_pad, "_conv_1"),
                   (num_d7_2, tall, _1, tall_pad, "_conv_2"),
                   (num_d7_3x3, _3, (2, 2), _0, "_conv_3"))  # fmt: skip
    pooled = Pooling(data, _3, (2, 2), _0, pool, f"{pool}_pool_{name}_pool")
    return concatenate((three, seven, pooled), axis=1)


def Inception7E(
    data: Any, num_1x1: int, num_d3_red: int, num_d3_1: int, num_d3_2: int, num_3x3_d3_red: int,
    num_3x3: int, num_3x3_d3_1: int, num_3x3_d3_2: int, pool: str, proj: int, name: str,
) -> Any:  # fmt: skip
    """Windows of three as a row beside a column."""
    one = Conv(data, num_1x1, name=f"{name}_conv")
    narrow = Conv(data, num_d3_red, name=f"{name}_tower", suffix="_conv")
    row, column = ((1, 3), (0, 1)), ((3, 1), (1, 0))
    a = Conv(narrow, num_d3_1, row[0], _1, row[1], f"{name}_tower", "_mixed_conv")
    b = Conv(narrow, num_d3_2, column[0], _1, column[1], f"{name}_tower", "_mixed_conv_1")
    wide = _tower(data, f"{name}_tower_1", (num_3x3_d3_red, _1, _1, _0, "_conv"),
                  (num_3x3, _3, _1, _1, "_conv_1"))  # fmt: skip
    c = Conv(wide, num_3x3_d3_1, row[0], _1, row[1], f"{name}_tower_1", "_mixed_conv")
    d = Conv(wide, num_3x3_d3_2, column[0], _1, column[1], f"{name}_tower_1", "_mixed_conv_1")
    return concatenate((one, a, b, c, d, _pooled(data, pool, proj, name)), axis=1)


def get_net(
    batch_size: int, num_classes: int, image_shape: tuple[int, ...], dtype: str
) -> Function:
    """The network as a function of images and parameters."""
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = Conv(data, 32, _3, (2, 2), name="conv")
    body = Conv(body, 32, _3, name="conv_1")
    body = Conv(body, 64, _3, pad=_1, name="conv_2")
    body = Pooling(body, _3, (2, 2), _0, "max", "pool")
    body = Conv(body, 80, name="conv_3")
    body = Conv(body, 192, _3, name="conv_4")
    body = Pooling(body, _3, (2, 2), _0, "max", "pool1")
    for at, proj in enumerate((32, 64, 64)):
        name = "mixed" if at == 0 else f"mixed_{at}"
        body = Inception7A(body, 64, 64, 96, 96, 48, 64, "avg", proj, name)
    body = Inception7B(body, 384, 64, 96, 96, "max", "mixed_3")
    for at, width in enumerate((128, 160, 160, 192), 4):
        sevens = (width, width, 192, width, width, width, width, 192)
        body = Inception7C(body, 192, *sevens, "avg", 192, f"mixed_{at}")
    body = Inception7D(body, 192, 320, 192, 192, 192, 192, "max", "mixed_8")
    for at, pool in enumerate(("avg", "max"), 9):
        body = Inception7E(
            body, 320, 384, 384, 384, 448, 384, 384, 384, pool, 192, f"mixed_{at}"
        )
    body = Pooling(body, (8, 8), _1, _0, "avg", "global_pool")
    made = nn.dense(nn.batch_flatten(body), var("fc1_weight"), units=num_classes)
    made = nn.softmax(nn.bias_add(made, var("fc2_bias"), axis=-1))
    return Function(free_vars(made), made)


def get_workload(
    batch_size: int = 1, num_classes: int = 1000, image_shape: tuple[int, ...] = (3, 299, 299),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Any]]:  # fmt: skip
    """The network as a module, with values for its parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
