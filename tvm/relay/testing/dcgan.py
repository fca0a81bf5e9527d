"""The half of a network that draws pictures of random numbers (Radford et al., 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.expr import var
from tvm.relay.function import Function
from tvm.relay.op import nn, reshape, tanh
from tvm.relay.variables import free_vars

from .init import create_workload
from .layers import batch_norm_infer, conv2d_transpose


def deconv2d(
    data: Any, ishape: Sequence[int], oshape: Sequence[int], kshape: Sequence[int], layout: str,
    name: str, stride: tuple[int, int] = (2, 2),
) -> Any:  # fmt: skip
    """The transpose of a convolution, from shapes (channels, height, width)."""
    pads, extra = [], []
    for size, step, after in zip(kshape, stride, oshape[-2:]):
        # the edges are cut so that the result has exactly the size that is asked for
        lost = size - step
        pads.append((lost + 1) // 2)
        extra.append(step - size % 2 if step > 1 and size % 2 else 0)
        assert after > 0, "shapes are positive"
    kernel_layout = {"NCHW": "IOHW", "NHWC": "HWOI"}.get(layout)
    if kernel_layout is None:
        raise ValueError(f"invalid layout: {layout}; legal: NCHW, NHWC")
    return conv2d_transpose(
        data, kernel_size=tuple(kshape), strides=stride, channels=oshape[0],
        padding=(pads[0], pads[1]), output_padding=(extra[0], extra[1]), data_layout=layout,
        kernel_layout=kernel_layout, name=name,
    )  # fmt: skip


def deconv2d_bn_relu(data: Any, prefix: str, **kwargs: Any) -> Any:
    """The transpose of a convolution, batch normalisation, and a ReLU."""
    eps = 1e-5 + 1e-12
    body = deconv2d(data, name=f"{prefix}_deconv", **kwargs)
    axis = kwargs.get("layout", "NCHW").index("C")
    body = batch_norm_infer(body, epsilon=eps, scale=False, axis=axis, name=f"{prefix}_batch_norm")
    return nn.relu(body)


def get_net(
    batch_size: int, random_len: int = 100, oshape: tuple[int, ...] = (3, 64, 64),
    ngf: int = 128, code: Any = None, layout: str = "NCHW", dtype: str = "float32",
) -> Function:  # fmt: skip
    """From numbers to pictures of 64 by 64 points."""
    if oshape[-2:] != (64, 64):
        raise ValueError(f"Only support 64x64 image; found {oshape[-2:]}")
    code = var("data", dtype=dtype, shape=(batch_size, random_len)) if code is None else code
    body: Any = nn.dense(code, weight=var("dense_weight"), units=4 * 4 * ngf * 8)
    body = nn.relu(body)
    pictures = (-1, 4, 4, ngf * 8) if layout == "NHWC" else (-1, ngf * 8, 4, 4)
    body = reshape(body, newshape=pictures)
    shape = (ngf * 8, 4, 4)
    for at, channels in enumerate((ngf * 4, ngf * 2, ngf), 1):
        after = (channels, shape[1] * 2, shape[2] * 2)
        body = deconv2d_bn_relu(
            body, ishape=shape, oshape=after, kshape=(4, 4), layout=layout, prefix=f"g{at + 1}"
        )
        shape = after
    body = deconv2d(
        body, ishape=shape, oshape=oshape[-3:], kshape=(4, 4), layout=layout, name="g5_deconv"
    )
    made = tanh(body)
    return Function(free_vars(made), made)


def get_workload(
    batch_size: int, oshape: tuple[int, ...] = (3, 64, 64), ngf: int = 128,
    random_len: int = 100, layout: str = "NCHW", dtype: str = "float32",
) -> tuple[IRModule, dict[str, Any]]:  # fmt: skip
    """The network as a module, with values for its parameters."""
    return create_workload(
        get_net(batch_size, random_len, oshape=oshape, ngf=ngf, layout=layout, dtype=dtype)
    )
