"""Residual networks over volumes (Hara et al., 2018)."""

from __future__ import annotations

from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.expr import var
from tvm.relay.function import Function
from tvm.relay.op import add, nn
from tvm.relay.variables import free_vars

from .init import create_workload
from .layers import batch_norm_infer, conv3d, conv_kernel_layout, dense_add_bias

_UNITS = {
    18: [2, 2, 2, 2], 34: [3, 4, 6, 3], 50: [3, 4, 6, 3], 101: [3, 4, 23, 3], 152: [3, 8, 36, 3],
    200: [3, 24, 36, 3], 269: [3, 30, 48, 8],
}  # fmt: skip


def residual_unit(
    data: Any, num_filter: int, stride: Any, dim_match: bool, name: str, bottle_neck: bool = True,
    data_layout: str = "NCDHW", kernel_layout: str = "OIDHW",
) -> Any:  # fmt: skip
    """Two or three convolutions, and the input added to what they give."""
    narrow = int(num_filter * 0.25) if bottle_neck else num_filter
    plan = [(3, stride, narrow), (3, (1, 1, 1), num_filter)]
    if bottle_neck:
        plan = [(1, stride, narrow), (3, (1, 1, 1), narrow), (1, (1, 1, 1), num_filter)]
    layouts = {"data_layout": data_layout, "kernel_layout": kernel_layout}
    axis = data_layout.index("C")
    body, start = data, None
    for at, (size, step, channels) in enumerate(plan, 1):
        body = nn.relu(batch_norm_infer(body, epsilon=2e-5, axis=axis, name=f"{name}_bn{at}"))
        start = body if start is None else start
        body = conv3d(
            data=body, channels=channels, kernel_size=(size,) * 3, strides=step,
            padding=(size // 2,) * 3, name=f"{name}_conv{at}", **layouts,
        )  # fmt: skip
    if dim_match:
        return add(body, data)
    shortcut = conv3d(
        data=start, channels=num_filter, kernel_size=(1, 1, 1), strides=stride, name=f"{name}_sc",
        **layouts,
    )  # fmt: skip
    return add(body, shortcut)


def resnet(
    units: list[int], num_stages: int, filter_list: list[int], num_classes: int,
    data_shape: tuple[int, ...], bottle_neck: bool = True, layout: str = "NCDHW",
    dtype: str = "float32",
) -> Function:  # fmt: skip
    """A residual network of stages."""
    layouts = {"data_layout": layout, "kernel_layout": conv_kernel_layout(layout)}
    axis = layout.index("C")
    data = var("data", shape=data_shape, dtype=dtype)
    body = batch_norm_infer(data, epsilon=2e-5, axis=axis, scale=False, name="bn_data")
    small = data_shape[layout.index("H")] <= 32
    size, step = ((3, 3, 3), (1, 1, 1)) if small else ((3, 7, 7), (1, 2, 2))
    body = conv3d(
        data=body, channels=filter_list[0], kernel_size=size, strides=step,
        padding=tuple(s // 2 for s in size), name="conv0", **layouts,
    )  # fmt: skip
    if not small:
        body = nn.relu(batch_norm_infer(body, epsilon=2e-5, axis=axis, name="bn0"))
    for stage in range(num_stages):
        for unit in range(units[stage]):
            stride = (1, 1, 1) if stage == 0 or unit > 0 else (2, 2, 2)
            body = residual_unit(
                body, filter_list[stage + 1], stride, unit > 0, f"stage{stage + 1}_unit{unit + 1}",
                bottle_neck=bottle_neck, **layouts,
            )  # fmt: skip
    body = nn.relu(batch_norm_infer(body, epsilon=2e-5, axis=axis, name="bn1"))
    flat = nn.batch_flatten(nn.global_avg_pool3d(body, layout=layout))
    made = nn.softmax(dense_add_bias(flat, units=num_classes, name="fc1"))
    return Function(free_vars(made), made)


def get_net(
    batch_size: int, num_classes: int, num_layers: int = 50,
    image_shape: tuple[int, ...] = (3, 16, 112, 112), layout: str = "NCDHW",
    dtype: str = "float32", **kwargs: Any,
) -> Function:  # fmt: skip
    """The network of a depth as a function of the volume and the parameters."""
    height = image_shape[2] if layout == "NCDHW" else image_shape[1]
    if height <= 28:
        deep = num_layers >= 164 and (num_layers - 2) % 9 == 0
        if not deep and (num_layers < 8 or (num_layers - 2) % 6):
            raise ValueError(f"no experiments done on num_layers {num_layers}")
        per = (num_layers - 2) // (9 if deep else 6)
        units, bottle_neck = [per] * 3, deep
        filters = [16, 64, 128, 256] if deep else [16, 16, 32, 64]
    else:
        if num_layers not in _UNITS:
            raise ValueError(f"no experiments done on num_layers {num_layers}")
        units, bottle_neck = _UNITS[num_layers], num_layers >= 50
        filters = [64, 256, 512, 1024, 2048] if bottle_neck else [64, 64, 128, 256, 512]
    return resnet(
        units, len(units), filters, num_classes, (batch_size, *image_shape), bottle_neck, layout,
        dtype,
    )  # fmt: skip


def get_workload(
    batch_size: int = 1, num_classes: int = 1000, num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 16, 112, 112), layout: str = "NCDHW",
    dtype: str = "float32", **kwargs: Any,
) -> tuple[IRModule, dict[str, Any]]:  # fmt: skip
    """The network as a module, with values for its parameters."""
    net = get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype, **kwargs)
    return create_workload(net)
