"""Convolutions and products on x86: blocks of channels as wide as a vector register.

    NCHW, OIHW      ->      NCHW[x]c, OIHW[x]i[y]o      y channels fill a register, x divides them
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm.relay import op as R
from tvm.relay.expr import const
from tvm.relay.op import nn
from tvm.target import Target
from tvm.target.x86 import get_simd_32bit_lanes


def _widest(extent: int, most: int) -> int:
    return next(block for block in range(most, 0, -1) if extent % block == 0)


def _known(types: Sequence[Any], open_batch: bool = False) -> bool:
    extents = [getattr(e, "value", e) for t in types for e in t.shape]
    return all(isinstance(e, int) for e in extents[int(open_batch) :])


def _four_bytes(types: Sequence[Any]) -> bool:
    """Whether four unsigned bytes by four signed ones are one instruction: known CPUs only."""
    target = Target.current(allow_none=True)
    known = target is not None and bool(target.attrs.get("mcpu"))
    data, weight = (str(t.dtype) for t in types[:2])
    return known and data == "uint8" and weight in ("int8", "uint8")


def conv2d_alter_layout(
    attrs: Any, inputs: Sequence[Any], tinfos: Sequence[Any], out_type: Any
) -> Any:
    """A convolution of NCHW images over blocks of channels; one filter a channel too."""
    plain = (attrs.data_layout, attrs.kernel_layout) == ("NCHW", "OIHW")
    if not plain or not _known(tinfos, open_batch=True):
        return None
    kernel = [int(e) for e in tinfos[1].shape]
    data = [0, *(int(e) for e in tinfos[0].shape[1:])]  # whose first extent may be any
    groups, lanes = int(attrs.groups), get_simd_32bit_lanes()
    outward = _widest(kernel[0], lanes)
    options = {**dict(attrs.items()), "channels": kernel[0], "kernel_size": tuple(kernel[2:])}
    if groups > 1:
        if groups != data[1] or kernel[1] != 1 or kernel[0] != data[1]:
            return None
        options.update(data_layout=f"NCHW{outward}c", kernel_layout=f"OIHW1i{outward}o",
                       out_layout=f"NCHW{outward}c")  # fmt: skip
        return nn.contrib_depthwise_conv2d_nchwc(*inputs, **options)
    if _four_bytes(tinfos) and kernel[0] % 16 == 0 and data[1] % 4 == 0:
        inward = 4 * _widest(data[1] // 4, 4)
        options.update(data_layout=f"NCHW{inward}c", kernel_layout=f"OIHW{inward // 4}i16o4i",
                       out_layout="NCHW16c")  # fmt: skip
        return nn.contrib_conv2d_nchwc(*inputs, **options)
    inward = _widest(data[1], outward)
    options.update(data_layout=f"NCHW{inward}c", kernel_layout=f"OIHW{inward}i{outward}o",
                   out_layout=f"NCHW{outward}c")  # fmt: skip
    return nn.contrib_conv2d_nchwc(*inputs, **options)


def dense_alter_layout(
    attrs: Any, inputs: Sequence[Any], tinfos: Sequence[Any], out_type: Any
) -> Any:
    """A product with its weight in panels of up to two registers; of bytes in fours of columns."""
    if len(tinfos[0].shape) != 2 or not _known(tinfos[1:]):
        return None
    rows, columns = map(int, tinfos[1].shape)
    words = _four_bytes(tinfos) and get_simd_32bit_lanes() == 16
    if words and rows % 16 == 0 and columns % 4 == 0:
        return nn.contrib_dense_pack(inputs[0], inputs[1], "NC16n4c", None, out_type.dtype)
    layout = f"NC{_widest(rows, 2 * get_simd_32bit_lanes())}n"
    return nn.contrib_dense_pack(inputs[0], inputs[1], layout, None, out_type.dtype)


def conv2d_legalize(attrs: Any, inputs: Sequence[Any], types: Sequence[Any]) -> Any:
    """Signed 8-bit data as unsigned: x * w = (x + 128) * w - 128 * (the sum of w).

    Only instructions of unsigned by signed numbers multiply four at a time.
    """
    plain = tuple(map(int, attrs.dilation)) == (1, 1) and int(attrs.groups) == 1
    layouts = (attrs.data_layout, attrs.kernel_layout)
    axes = {("NCHW", "OIHW"): (1, (1, 2, 3)), ("NHWC", "HWIO"): (3, (0, 1, 2))}.get(layouts)
    if not plain or axes is None or any(str(t.dtype) != "int8" for t in types[:2]):
        return None
    channel, summed = axes
    step = const(128, "int32")
    moved = R.cast(R.add(R.cast(inputs[0], "int32"), step), "uint8")
    options = dict(attrs.items())
    if any(int(p) for p in attrs.padding):
        moved, options["padding"] = _zeros_around(moved, attrs.padding, channel), (0, 0, 0, 0)
    made = nn.conv2d(moved, inputs[1], **options)
    total = R.sum(R.cast(inputs[1], "int32"), axis=summed)
    if channel == 1:
        total = R.reshape(total, (1, -1, 1, 1))
    return R.subtract(made, R.multiply(total, step))


def _zeros_around(x: Any, padding: Sequence[int], channel: int) -> Any:
    around = [int(p) for p in padding]
    top, left, bottom, right = around * (4 // len(around))
    inner = [(top, bottom), (left, right)]
    widths = [(0, 0), (0, 0), *inner] if channel == 1 else [(0, 0), *inner, (0, 0)]
    return nn.pad(x, widths, const(np.array(128, "uint8")))
