"""Networks of depthwise and pointwise convolutions (Howard et al., 2017)."""

from __future__ import annotations

from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.expr import var
from tvm.relay.function import Function
from tvm.relay.op import nn
from tvm.relay.variables import free_vars

from .init import create_workload
from .layers import batch_norm_infer, conv2d, conv_kernel_layout


def _normal(data: Any, epsilon: float, layout: str, name: str) -> Any:
    normed = batch_norm_infer(data=data, epsilon=epsilon, axis=layout.index("C"), name=name)
    return nn.relu(data=normed)


def conv_block(
    data: Any, name: str, channels: int, kernel_size: Any = (3, 3), strides: Any = (1, 1),
    padding: Any = (1, 1), epsilon: float = 1e-5, layout: str = "NCHW",
) -> Any:  # fmt: skip
    """A convolution, batch normalisation, and a ReLU."""
    conv = conv2d(
        data=data, channels=channels, kernel_size=kernel_size, strides=strides, padding=padding,
        data_layout=layout, kernel_layout=conv_kernel_layout(layout), name=f"{name}_conv",
    )  # fmt: skip
    return _normal(conv, epsilon, layout, f"{name}_bn")


def separable_conv_block(
    data: Any, name: str, depthwise_channels: int, pointwise_channels: int,
    kernel_size: Any = (3, 3), downsample: bool = False, padding: Any = (1, 1),
    epsilon: float = 1e-5, layout: str = "NCHW", dtype: str = "float32",
) -> Any:  # fmt: skip
    """A filter for each channel, then a mixture of the channels of each point."""
    kernel_layout = conv_kernel_layout(layout, True)
    shape = (depthwise_channels, 1, *kernel_size)
    if layout == "NHWC":
        shape = (*kernel_size, depthwise_channels, 1)
    weight = var(f"{name}_weight", shape=shape, dtype=dtype)
    first = conv2d(
        data=data, weight=weight, channels=depthwise_channels, groups=depthwise_channels,
        kernel_size=kernel_size, strides=(2, 2) if downsample else (1, 1), padding=padding,
        data_layout=layout, kernel_layout=kernel_layout, name=f"{name}_depthwise_conv1",
    )  # fmt: skip
    first = _normal(first, epsilon, layout, f"{name}_bn1")
    second = conv2d(
        data=first, channels=pointwise_channels, kernel_size=(1, 1), strides=(1, 1),
        padding=(0, 0), data_layout=layout, kernel_layout=conv_kernel_layout(layout),
        name=f"{name}_conv2",
    )  # fmt: skip
    return _normal(second, epsilon, layout, f"{name}_bn2")


def mobile_net(
    num_classes: int = 1000, data_shape: tuple[int, ...] = (1, 3, 224, 224),
    dtype: str = "float32", alpha: float = 1.0, is_shallow: bool = False, layout: str = "NCHW",
) -> Function:  # fmt: skip
    """The network of a width `alpha`."""
    plan = [(32, 64, False), (64, 128, True), (128, 128, False), (128, 256, True),
            (256, 256, False), (256, 512, True)]  # fmt: skip
    plan += [(512, 1024, True), (1024, 1024, False)] if is_shallow else [
        *[(512, 512, False)] * 5, (512, 1024, True), (1024, 1024, False)]  # fmt: skip
    data = var("data", shape=data_shape, dtype=dtype)
    body = conv_block(data, "conv_block_1", int(32 * alpha), strides=(2, 2), layout=layout)
    for at, (narrow, wide, downsample) in enumerate(plan, 1):
        body = separable_conv_block(
            body, f"separable_conv_block_{at}", int(narrow * alpha), int(wide * alpha),
            downsample=downsample, layout=layout, dtype=dtype,
        )  # fmt: skip
    flat = nn.batch_flatten(data=nn.global_avg_pool2d(data=body, layout=layout))
    fc = nn.dense(flat, var("fc_weight"), units=num_classes)
    made = nn.softmax(data=nn.bias_add(fc, var("fc_bias")))
    return Function(free_vars(made), made)


def get_workload(
    batch_size: int = 1, num_classes: int = 1000, image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32", layout: str = "NCHW",
) -> tuple[IRModule, dict[str, Any]]:  # fmt: skip
    """The network as a module, with values for its parameters."""
    net = mobile_net(num_classes, (batch_size, *image_shape), dtype, 1.0, False, layout)
    return create_workload(net)
