"""Residual networks with batch normalisation first (He et al., 2016)."""

from __future__ import annotations

from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.expr import var
from tvm.relay.function import Function
from tvm.relay.op import add, nn
from tvm.relay.variables import free_vars

from .init import create_workload
from .layers import batch_norm_infer, conv2d, conv_kernel_layout, dense_add_bias

_UNITS = {
    18: [2, 2, 2, 2], 34: [3, 4, 6, 3], 50: [3, 4, 6, 3], 101: [3, 4, 23, 3], 152: [3, 8, 36, 3],
    200: [3, 24, 36, 3], 269: [3, 30, 48, 8],
}  # fmt: skip


def residual_unit(
    data: Any, num_filter: int, stride: Any, dim_match: bool, name: str, bottle_neck: bool = True,
    data_layout: str = "NCHW", kernel_layout: str = "IOHW",
) -> Any:  # fmt: skip
    """Two or three convolutions, and the input added to what they give."""
    axis = data_layout.index("C")
    narrow = int(num_filter * 0.25) if bottle_neck else num_filter
    plan = [(3, stride, narrow), (3, (1, 1), num_filter)]
    if bottle_neck:
        plan = [(1, stride, narrow), (3, (1, 1), narrow), (1, (1, 1), num_filter)]
    layouts = {"data_layout": data_layout, "kernel_layout": kernel_layout}
    body, start = data, None
    for at, (size, step, channels) in enumerate(plan, 1):
        body = batch_norm_infer(data=body, epsilon=2e-5, axis=axis, name=f"{name}_bn{at}")
        body = nn.relu(data=body)
        start = body if start is None else start
        body = conv2d(
            data=body, channels=channels, kernel_size=(size, size), strides=step,
            padding=(size // 2, size // 2), name=f"{name}_conv{at}", **layouts,
        )  # fmt: skip
    if dim_match:
        return add(body, data)
    shortcut = conv2d(
        data=start, channels=num_filter, kernel_size=(1, 1), strides=stride, name=f"{name}_sc",
        **layouts,
    )  # fmt: skip
    return add(body, shortcut)


def resnet(
    units: list[int], num_stages: int, filter_list: list[int], num_classes: int,
    data_shape: tuple[int, ...], bottle_neck: bool = True, layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:  # fmt: skip
    """A residual network of stages."""
    kernel_layout = conv_kernel_layout(layout)
    axis = layout.index("C")
    layouts = {"data_layout": layout, "kernel_layout": kernel_layout}
    data = var("data", shape=data_shape, dtype=dtype)
    body = batch_norm_infer(data=data, epsilon=2e-5, axis=axis, scale=False, name="bn_data")
    small = data_shape[layout.index("H")] <= 32
    size, step = (3, (1, 1)) if small else (7, (2, 2))
    body = conv2d(
        data=body, channels=filter_list[0], kernel_size=(size, size), strides=step,
        padding=(size // 2, size // 2), name="conv0", **layouts,
    )  # fmt: skip
    if not small:
        body = batch_norm_infer(data=body, epsilon=2e-5, axis=axis, name="bn0")
        body = nn.relu(data=body)
        body = nn.max_pool2d(
            data=body, pool_size=(3, 3), strides=(2, 2), padding=(1, 1), layout=layout
        )
    for stage in range(num_stages):
        for unit in range(units[stage]):
            stride = (1, 1) if stage == 0 or unit > 0 else (2, 2)
            body = residual_unit(
                body, filter_list[stage + 1], stride, unit > 0, f"stage{stage + 1}_unit{unit + 1}",
                bottle_neck=bottle_neck, **layouts,
            )  # fmt: skip
    body = batch_norm_infer(data=body, epsilon=2e-5, axis=axis, name="bn1")
    body = nn.global_avg_pool2d(data=nn.relu(data=body), layout=layout)
    flat = nn.batch_flatten(data=body)
    made = nn.softmax(data=dense_add_bias(data=flat, units=num_classes, name="fc1"))
    return Function(free_vars(made), made)


def get_net(
    batch_size: int, num_classes: int, num_layers: int = 50,
    image_shape: tuple[int, ...] = (3, 224, 224), layout: str = "NCHW", dtype: str = "float32",
    **kwargs: Any,
) -> Function:  # fmt: skip
    """The network of a depth as a function of the image and the parameters."""
    height = image_shape[1] if layout == "NCHW" else image_shape[0]
    if height <= 28:
        num_stages = 3
        deep = num_layers >= 164 and (num_layers - 2) % 9 == 0
        if not deep and (num_layers - 2) % 6:
            raise ValueError(f"no experiments done on num_layers {num_layers}")
        per = (num_layers - 2) // (9 if deep else 6)
        units, bottle_neck = [per] * num_stages, deep
        filters = [16, 64, 128, 256] if deep else [16, 16, 32, 64]
    else:
        num_stages, bottle_neck = 4, num_layers >= 50
        filters = [64, 256, 512, 1024, 2048] if bottle_neck else [64, 64, 128, 256, 512]
        if num_layers not in _UNITS:
            raise ValueError(f"no experiments done on num_layers {num_layers}")
        units = _UNITS[num_layers]
    return resnet(
        units, num_stages, filters, num_classes, (batch_size, *image_shape), bottle_neck, layout,
        dtype,
    )  # fmt: skip


def get_workload(
    batch_size: int = 1, num_classes: int = 1000, num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 224, 224), layout: str = "NCHW", dtype: str = "float32",
    **kwargs: Any,
) -> tuple[IRModule, dict[str, Any]]:  # fmt: skip
    """The network as a module, with values for its parameters."""
    net = get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype, **kwargs)
    return create_workload(net)
