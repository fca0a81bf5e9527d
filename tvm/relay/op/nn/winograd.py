"""Convolution by Winograd's algorithm in two steps: the kernel once, then the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.error import TVMError, message
from tvm.ir.type import Type
from tvm.relay.expr import Call
from tvm.relay.op.declare import OUT_FUSABLE, Expr, Relate, relay_op, topi
from tvm.relay.op.relations import extents, is_any, same_extent, tensor, tensor_type
from tvm.topi.nn.conv3d_winograd import conv3d_ncdhw_winograd_without_weight_transform

from .utils import all_sides, get_pad_tuple2d, get_pad_tuple3d

_WIDTH = 3  # of the kernels; a transformed one has `tile_size + _WIDTH - 1` rows


@relay_op("nn.contrib_conv2d_winograd_weight_transform", "ConvWinogradWeightTransformAttrs",
          operands=("weight",), level=10,
          lower=lambda bb, w, *, tile_size: bb.call_te(
              topi.nn.conv2d_winograd_weight_transform, w, tile_size),
          pattern=OUT_FUSABLE)  # fmt: skip
def contrib_conv2d_winograd_weight_transform(weight: Expr, tile_size: int) -> Call:
    """Kernels as Winograd's convolutions multiply them."""
    return contrib_conv2d_winograd_weight_transform.call(weight, tile_size=tile_size)


def _refuse(
    asked: str, found: object, legal: str,
    name: str = "contrib_conv2d_winograd_without_weight_transform",
) -> TVMError:  # fmt: skip
    return TVMError(message(f"{name}: {asked}", found=str(found), legal=legal))


def _without_transform_type(ctx: Relate) -> Type | None:
    data, weight, o = tensor(ctx, 0), tensor(ctx, 1), ctx.attrs
    if data is None or weight is None:
        return None
    last, rows = o.data_layout == "NHWC", int(o.tile_size) + _WIDTH - 1
    if len(data.shape) != 4 or len(weight.shape) != 4:
        raise ctx.fail("the operands do not have four dimensions", "four each")
    sizes = dict(zip(o.data_layout, extents(data)))
    *have, third, fourth = extents(weight)
    inputs, filters = (fourth, third) if last else (third, fourth)
    if have != [rows, rows]:
        raise ctx.fail(
            f"the weight does not fit tile_size={o.tile_size}",
            f"a weight of {rows} x {rows} ..., as contrib_conv2d_winograd_weight_transform makes",
        )
    if not (is_any(sizes["C"], inputs) or same_extent(sizes["C"], inputs)):
        raise ctx.fail(f"data of {sizes['C']} channels, a weight of {inputs}", "equal numbers")
    if o.channels is not None and not (is_any(filters) or int(o.channels) == filters):
        raise ctx.fail(f"channels {o.channels} is not that of the weight", f"channels={filters}")
    top, left, bottom, right = all_sides(o.padding, 2)
    for axis, pads in zip("HW", (top + bottom, left + right)):
        extent = sizes[axis]
        sizes[axis] = extent if is_any(extent) else extent + pads - _WIDTH + 1
    sizes["C"] = filters
    return tensor_type([sizes[axis] for axis in o.data_layout], o.out_dtype or data.dtype)


def _without_transform(bb: Any, x: Any, w: Any, **o: Any) -> Any:
    return bb.call_te(
        _BY_LAYOUT[o["data_layout"]], x, w, list(o["strides"]), list(o["padding"]),
        list(o["dilation"]), o["out_dtype"] or None,
    )  # fmt: skip


_BY_LAYOUT = {
    "NCHW": topi.nn.conv2d_winograd_nchw_without_weight_transform,
    "NHWC": topi.nn.conv2d_winograd_nhwc_without_weight_transform,
}


@relay_op("nn.contrib_conv2d_winograd_without_weight_transform", "Conv2DWinogradAttrs",
          operands=("data", "weight"), pattern=OUT_FUSABLE,
          relation=_without_transform_type, lower=_without_transform)  # fmt: skip
def contrib_conv2d_winograd_without_weight_transform(
    data: Expr, weight: Expr, tile_size: int, strides: Any = (1, 1), padding: Any = (0, 0),
    dilation: Any = (1, 1), groups: int = 1, channels: int | None = None, kernel_size: Any = None,
    data_layout: str = "NCHW", kernel_layout: str = "OIHW", out_layout: str = "",
    out_dtype: str = "",
) -> Call:  # fmt: skip
    """A convolution with 3 x 3 kernels that are transformed for tiles of `tile_size` outputs.

    The weight is (r, r, c, o) for NCHW and (r, r, o, c) for NHWC, r = tile_size + 2; strides,
    dilation and groups are one. A TVMError for what Winograd's algorithm does not do.
    """
    if data_layout not in _BY_LAYOUT:
        raise _refuse("data_layout", repr(data_layout), ", ".join(_BY_LAYOUT))
    if out_layout not in ("", data_layout):
        raise _refuse("out_layout", repr(out_layout), f"that of the data, {data_layout}")
    if int(groups) != 1:
        raise _refuse("groups", groups, "1")
    size = None if kernel_size is None else tuple(int(k) for k in kernel_size)
    if size not in (None, (_WIDTH, _WIDTH)):
        raise _refuse("kernel_size", size, f"({_WIDTH}, {_WIDTH})")
    for name, value in (("strides", _pair(strides)), ("dilation", _pair(dilation))):
        if value != (1, 1):
            raise _refuse(name, value, "1 for both")
    return contrib_conv2d_winograd_without_weight_transform.call(
        data, weight, tile_size=int(tile_size), strides=(1, 1),
        padding=get_pad_tuple2d(padding), dilation=(1, 1), groups=1, channels=channels,
        kernel_size=size, data_layout=data_layout, kernel_layout=kernel_layout,
        out_layout=out_layout, out_dtype=out_dtype,
    )  # fmt: skip


@relay_op("nn.contrib_conv3d_winograd_weight_transform", "ConvWinogradWeightTransformAttrs",
          operands=("weight",), level=10,
          lower=lambda bb, w, *, tile_size: bb.call_te(
              topi.nn.conv3d_winograd_weight_transform, w, tile_size),
          pattern=OUT_FUSABLE)  # fmt: skip
def contrib_conv3d_winograd_weight_transform(weight: Expr, tile_size: int) -> Call:
    """Kernels (o, c, kd, kh, kw) as Winograd's convolutions of volumes multiply them."""
    return contrib_conv3d_winograd_weight_transform.call(weight, tile_size=tile_size)


def _volumes(bb: Any, x: Any, w: Any, **o: Any) -> Any:
    depth = None if o["kernel_size"] is None else int(o["kernel_size"][0])
    return bb.call_te(
        conv3d_ncdhw_winograd_without_weight_transform, x, w, int(o["tile_size"]),
        list(o["strides"]), list(o["padding"]), list(o["dilation"]), o["out_dtype"] or None, depth,
    )  # fmt: skip


@relay_op("nn.contrib_conv3d_winograd_without_weight_transform", "Conv3DWinogradAttrs",
          operands=("data", "weight"), pattern=OUT_FUSABLE, level=10, lower=_volumes)  # fmt: skip
def contrib_conv3d_winograd_without_weight_transform(
    data: Expr, weight: Expr, tile_size: int, strides: Any = (1, 1, 1), padding: Any = (0, 0, 0),
    dilation: Any = (1, 1, 1), groups: int = 1, channels: int | None = None,
    kernel_size: Any = None, data_layout: str = "NCDHW", kernel_layout: str = "OIDHW",
    out_layout: str = "", out_dtype: str = "",
) -> Call:  # fmt: skip
    """A convolution of volumes (n, c, d, h, w) with kernels that are transformed already.

    The weight is what `contrib_conv3d_winograd_weight_transform` makes; strides, dilation and
    groups are one. A TVMError for what Winograd's algorithm does not do.
    """
    name = "contrib_conv3d_winograd_without_weight_transform"
    if data_layout != "NCDHW":
        raise _refuse("data_layout", repr(data_layout), "NCDHW", name)
    if out_layout not in ("", data_layout):
        raise _refuse("out_layout", repr(out_layout), "NCDHW", name)
    if int(groups) != 1:
        raise _refuse("groups", groups, "1", name)
    for option, value in (("strides", _triple(strides)), ("dilation", _triple(dilation))):
        if value != (1, 1, 1):
            raise _refuse(option, value, "1 for all", name)
    return contrib_conv3d_winograd_without_weight_transform.call(
        data, weight, tile_size=int(tile_size), strides=(1, 1, 1),
        padding=get_pad_tuple3d(padding), dilation=(1, 1, 1), groups=1, channels=channels,
        kernel_size=None if kernel_size is None else _triple(kernel_size),
        data_layout=data_layout, kernel_layout=kernel_layout, out_layout=out_layout,
        out_dtype=out_dtype,
    )  # fmt: skip


def _triple(value: Any) -> tuple[int, int, int]:
    first, second, third = (value,) * 3 if isinstance(value, int) else value
    return int(first), int(second), int(third)


def _pair(value: Any) -> tuple[int, int]:
    first, second = (value, value) if isinstance(value, int) else value
    return int(first), int(second)


__all__: Sequence[str] = [
    "contrib_conv2d_winograd_weight_transform",
    "contrib_conv2d_winograd_without_weight_transform",
    "contrib_conv3d_winograd_weight_transform",
    "contrib_conv3d_winograd_without_weight_transform",
]
