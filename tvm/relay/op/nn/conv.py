"""Convolutions, plain and transposed, in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm.error import DiagnosticError, message
from tvm.ir.type import Type
from tvm.relax import op as R
from tvm.relax.op.relayout import relayout
from tvm.relay.expr import Call
from tvm.relay.op.declare import OUT_FUSABLE, Expr, Lower, Relate, relay_op, topi
from tvm.relay.op.relations import extents, is_any, tensor, tensor_type
from tvm.relay.ty import Any as AnyDim
from tvm.relay.ty import IncompleteType, TensorType

from .utils import all_sides, get_pad_tuple1d, get_pad_tuple2d, get_pad_tuple3d

_PLAIN = {1: ("NCW", "OIW"), 2: ("NCHW", "OIHW"), 3: ("NCDHW", "OIDHW")}


_SIGNS = frozenset("NCDHWOI0123456789")


def letters(layout: str, dims: Sequence[Any]) -> dict[str, Any]:
    """The extent of each letter; a split axis (NCHW4c) counts as a whole."""
    rank = sum(sign.isalpha() for sign in layout)
    if rank != len(dims) or not set(layout.upper()) <= _SIGNS:
        raise DiagnosticError(
            message(
                "a layout does not fit the tensor", found=f"{len(dims)} dimensions for {layout}",
                legal=f"a tensor of {rank} dimensions, its axes among {', '.join('NCDHWOI')}",
            )
        )  # fmt: skip
    found: dict[str, Any] = {}
    at, number = 0, ""
    for sign in layout:
        if sign.isdigit():
            number += sign
        elif sign.islower():
            found[sign.upper()] = found[sign.upper()] * int(number or 1)
            number, at = "", at + 1
        else:
            found[sign] = dims[at]
            at += 1
    return found


def arranged(layout: str, sizes: dict[str, Any]) -> list[Any]:
    """The extents of a layout, the reverse of `letters`."""
    inner: dict[str, int] = {}
    number = ""
    for sign in layout:
        if sign.isdigit():
            number += sign
        elif sign.islower():
            inner[sign.upper()] = int(number)
            number = ""
    return [
        inner[s.upper()] if s.islower() else _over(sizes[s], inner.get(s, 1))
        for s in layout
        if not s.isdigit()
    ]


def _over(size: Any, factor: int) -> Any:
    return size if factor == 1 or is_any(size) else size // factor


def _out(extent: Any, kernel: Any, stride: int, dilation: int, pads: int) -> Any:
    if stride < 1:
        raise DiagnosticError(message(f"a stride of {stride}", legal="1 or more"))
    if is_any(extent, kernel):
        return AnyDim()
    reach = (kernel - 1) * dilation + 1
    if isinstance(extent, int) and isinstance(reach, int) and extent + pads < reach:
        raise DiagnosticError(
            message(f"a kernel of {reach} in {extent + pads} elements", legal="one that fits")
        )
    return (extent + pads - reach) // stride + 1


def _spatial(layout: str) -> str:
    return "".join(s for s in layout if s in "DHW")


def _numbers(value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    return tuple(int(v) for v in value) if hasattr(value, "__len__") else (int(value),)


def _kernel_sizes(
    ctx: Relate, data: dict[str, Any], axes: str, transposed: bool
) -> dict[str, Any] | None:
    """The extents of the kernel by letter; they give its type where that is open."""
    o = ctx.attrs
    plain = o.kernel_layout
    groups = int(o.groups)
    if not isinstance(ctx.types[1], IncompleteType):
        kernel = tensor(ctx, 1)
        assert kernel is not None, "seen above"
        sizes = letters(plain, extents(kernel))
        return _checked_kernel(ctx, data, sizes, axes, transposed)
    size = _numbers(o.kernel_size)
    if size is None or o.channels is None:
        return None
    sizes = dict(zip(axes, size))
    channels = int(o.channels)
    if transposed:
        sizes.update(I=data["C"], O=channels // groups)
    elif plain == "HWOI" and groups > 1:
        sizes.update(O=data["C"], I=channels // groups)
    else:
        sizes.update(O=channels, I=_over(data["C"], groups))
    dtype = tensor(ctx, 0).dtype  # type: ignore[union-attr]
    ctx.assign(1, tensor_type(arranged(plain, sizes), dtype))
    return sizes


def _checked_kernel(
    ctx: Relate, data: dict[str, Any], sizes: dict[str, Any], axes: str, transposed: bool
) -> dict[str, Any]:
    o = ctx.attrs
    size, groups = _numbers(o.kernel_size), int(o.groups)
    if size is not None and any(
        isinstance(sizes[a], int) and sizes[a] != s for a, s in zip(axes, size)
    ):
        raise ctx.fail(
            f"kernel_size {list(size)} is not that of the weight", f"{[sizes[a] for a in axes]}"
        )
    if o.kernel_layout == "HWOI" and groups > 1:
        return sizes
    # The kernel of a transposed one has all input channels, and the outputs of one group.
    many = groups if transposed else 1
    given, outputs = o.channels, sizes["O"]
    if given is not None and isinstance(outputs, int) and int(given) != outputs * many:
        raise ctx.fail(
            f"channels {given} is not that of the weight", f"channels={outputs * many}"
        )
    channels, inputs = data["C"], sizes["I"]
    wanted = channels // (1 if transposed else groups) if isinstance(channels, int) else None
    if wanted is not None and isinstance(inputs, int) and wanted != inputs:
        raise ctx.fail(
            f"{channels} channels in {groups} groups do not fit a weight for {inputs}",
            f"a weight with {wanted} input channels",
        )
    return sizes


def _conv_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    o = ctx.attrs
    rank = sum(not s.isdigit() for s in o.data_layout)
    if len(x.shape) != rank:
        raise ctx.fail(f"{len(x.shape)} dimensions for {o.data_layout}", f"{rank} dimensions")
    data, axes = letters(o.data_layout, extents(x)), _spatial(o.data_layout)
    kernel = _kernel_sizes(ctx, data, axes, False)
    if kernel is None:
        return None
    pads = all_sides(o.padding, len(axes))
    out = {"N": data["N"], "C": _out_channels(o, kernel)}
    for at, axis in enumerate(axes):
        both = pads[at] + pads[at + len(axes)]
        stride, dilation = int(o.strides[at]), int(o.dilation[at])
        out[axis] = _out(data[axis], kernel[axis], stride, dilation, both)
    return tensor_type(arranged(o.out_layout or o.data_layout, out), _dtype(o, x))


def _out_channels(o: Any, kernel: dict[str, Any]) -> Any:
    if o.channels is not None:
        return int(o.channels)
    if o.kernel_layout == "HWOI" and int(o.groups) > 1:
        return kernel["O"] * kernel["I"]
    return kernel["O"]


def _dtype(o: Any, x: TensorType) -> Any:
    return x.dtype if o.out_dtype in ("", None) else o.out_dtype


def _conv_lower(func: Callable[..., Any], depthwise: bool) -> Lower:
    def lower(bb: Any, x: Any, w: Any, **o: Any) -> Any:
        kernel_layout, data_layout = o["kernel_layout"], o["data_layout"]
        if not (kernel_layout.isalpha() and data_layout.isalpha()):
            return _blocked(bb, func, x, w, o)
        if o["groups"] > 1 and kernel_layout == "HWOI":  # depthwise: channels, multiplier
            w = bb.normalize_argument(R.permute_dims(w, [2, 3, 0, 1]))
            shape = [int(v) for v in w.struct_info.shape.values]
            w = bb.normalize_argument(R.reshape(w, [shape[0] * shape[1], 1, *shape[2:]]))
            kernel_layout = "OIHW"
        out_dtype = o["out_dtype"] or x.struct_info.dtype
        made = func(
            x, w, o["strides"], o["padding"], o["dilation"], o["groups"], data_layout,
            kernel_layout, data_layout, out_dtype,
        )  # fmt: skip
        out_layout = o["out_layout"] or data_layout
        if out_layout == data_layout:
            return made
        return relayout(bb.normalize_argument(bb.emit(made)), data_layout, out_layout)

    return lower


def _blocked(bb: Any, func: Callable[..., Any], x: Any, w: Any, o: Any) -> Any:
    """A convolution with axes in blocks: between transforms to plain layouts and back."""
    out_layout = o["out_layout"] or o["data_layout"]
    plain = "NCHW", "OIHW"
    x = bb.normalize_argument(relayout(x, o["data_layout"], plain[0]))
    w = bb.normalize_argument(relayout(w, o["kernel_layout"], plain[1]))
    out_dtype = o["out_dtype"] or x.struct_info.dtype
    made = func(
        x, w, o["strides"], o["padding"], o["dilation"], o["groups"], *plain, plain[0], out_dtype
    )
    return relayout(bb.normalize_argument(bb.emit(made)), plain[0], out_layout)


def _with_rank(value: Any, count: int) -> tuple[int, ...]:
    given = _numbers(value)
    assert given is not None, "a number or several"
    return given * count if len(given) == 1 else given


def _channels(value: Any) -> int | None:
    return None if value is None else int(value)


@relay_op("nn.conv1d", "Conv1DAttrs", operands=("data", "weight"), relation=_conv_type, level=2,
          pattern=OUT_FUSABLE, lower=_conv_lower(R.nn.conv1d, False),
          optional={"strides": (1,), "padding": (0, 0), "dilation": (1,)})  # fmt: skip
def conv1d(
    data: Expr, weight: Expr, strides: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1, channels: int | None = None, kernel_size: Any = None,
    data_layout: str = "NCW", kernel_layout: str = "OIW", out_layout: str = "",
    out_dtype: str = "",
) -> Call:  # fmt: skip
    """A convolution along one axis."""
    return conv1d.call(
        data, weight, strides=_with_rank(strides, 1), padding=get_pad_tuple1d(padding),
        dilation=_with_rank(dilation, 1), groups=int(groups), channels=_channels(channels),
        kernel_size=_numbers(kernel_size), data_layout=data_layout, kernel_layout=kernel_layout,
        out_layout=out_layout, out_dtype=out_dtype,
    )  # fmt: skip


@relay_op("nn.conv2d", "Conv2DAttrs", operands=("data", "weight"), relation=_conv_type, level=2,
          pattern=OUT_FUSABLE, lower=_conv_lower(R.nn.conv2d, True))  # fmt: skip
def conv2d(
    data: Expr, weight: Expr, strides: Any = (1, 1), padding: Any = (0, 0),
    dilation: Any = (1, 1), groups: int = 1, channels: int | None = None,
    kernel_size: Any = None, data_layout: str = "NCHW", kernel_layout: str = "OIHW",
    out_layout: str = "", out_dtype: str = "",
) -> Call:  # fmt: skip
    """A convolution over images."""
    return conv2d.call(
        data, weight, strides=_with_rank(strides, 2), padding=get_pad_tuple2d(padding),
        dilation=_with_rank(dilation, 2), groups=int(groups), channels=_channels(channels),
        kernel_size=_kernel(kernel_size, 2), data_layout=data_layout,
        kernel_layout=kernel_layout, out_layout=out_layout, out_dtype=out_dtype,
    )  # fmt: skip


def _kernel(value: Any, count: int) -> tuple[int, ...] | None:
    return None if value is None else _with_rank(value, count)


@relay_op("nn.conv3d", "Conv3DAttrs", operands=("data", "weight"), relation=_conv_type, level=2,
          pattern=OUT_FUSABLE, lower=_conv_lower(R.nn.conv3d, False))  # fmt: skip
def conv3d(
    data: Expr, weight: Expr, strides: Any = (1, 1, 1), padding: Any = (0, 0, 0),
    dilation: Any = (1, 1, 1), groups: int = 1, channels: int | None = None,
    kernel_size: Any = None, data_layout: str = "NCDHW", kernel_layout: str = "OIDHW",
    out_layout: str = "", out_dtype: str = "",
) -> Call:  # fmt: skip
    """A convolution over volumes."""
    return conv3d.call(
        data, weight, strides=_with_rank(strides, 3), padding=get_pad_tuple3d(padding),
        dilation=_with_rank(dilation, 3), groups=int(groups), channels=_channels(channels),
        kernel_size=_kernel(kernel_size, 3), data_layout=data_layout,
        kernel_layout=kernel_layout, out_layout=out_layout, out_dtype=out_dtype,
    )  # fmt: skip


def _transpose_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    o = ctx.attrs
    data, axes = letters(o.data_layout, extents(x)), _spatial(o.data_layout)
    kernel = _kernel_sizes(ctx, data, axes, True)
    if kernel is None:
        return None
    out: dict[str, Any] = {"N": data["N"], "C": kernel["O"] * int(o.groups)}
    if o.channels is not None:
        out["C"] = int(o.channels)
    pads = all_sides(o.padding, len(axes))
    for at, axis in enumerate(axes):
        both = pads[at] + pads[at + len(axes)]
        reach = 1 + (kernel[axis] - 1) * int(o.dilation[at])
        more = int(o.output_padding[at])
        extent = data[axis]
        out[axis] = (
            AnyDim() if is_any(extent)
            else (extent - 1) * int(o.strides[at]) + reach - both + more
        )  # fmt: skip
    return tensor_type(arranged(o.out_layout or o.data_layout, out), _dtype(o, x))


def _transpose_lower(bb: Any, x: Any, w: Any, **o: Any) -> Any:
    plain_data, plain_kernel = _PLAIN[len(o["strides"])]
    plain_kernel = "IO" + plain_kernel[2:]
    x = bb.normalize_argument(relayout(x, o["data_layout"], plain_data))
    w = bb.normalize_argument(relayout(w, o["kernel_layout"], plain_kernel))
    dtype = o["out_dtype"] or str(x.struct_info.dtype)
    if len(o["strides"]) == 3:
        made = bb.call_te(
            topi.nn.group_conv3d_transpose_ncdhw, x, w, o["strides"],
            all_sides(o["padding"], 3), dtype, o["output_padding"], o["groups"],
        )  # fmt: skip
    else:
        func = R.nn.conv1d_transpose if len(o["strides"]) == 1 else R.nn.conv2d_transpose
        made = func(
            x, w, o["strides"], o["padding"], o["output_padding"], o["dilation"], o["groups"],
            plain_data, plain_kernel, None, dtype,
        )  # fmt: skip
    made = bb.normalize_argument(made)
    return relayout(made, plain_data, o["out_layout"] or o["data_layout"])


_TRANSPOSE_FIELDS = ("channels", "kernel_size", "strides", "output_padding")


@relay_op("nn.conv1d_transpose", "Conv1DTransposeAttrs", operands=("data", "weight"), level=2,
          first=_TRANSPOSE_FIELDS, relation=_transpose_type, pattern=OUT_FUSABLE,
          lower=_transpose_lower, optional={"padding": (0, 0)})  # fmt: skip
def conv1d_transpose(
    data: Expr, weight: Expr, strides: Any = (1,), padding: Any = (0,), dilation: Any = (1,),
    groups: int = 1, channels: int | None = None, kernel_size: Any = None,
    data_layout: str = "NCW", kernel_layout: str = "IOW", out_layout: str = "",
    output_padding: Any = (0,), out_dtype: str = "",
) -> Call:  # fmt: skip
    """The transpose of a convolution along one axis."""
    return conv1d_transpose.call(
        data, weight, strides=_with_rank(strides, 1), padding=get_pad_tuple1d(padding),
        dilation=_with_rank(dilation, 1), groups=int(groups), channels=_channels(channels),
        kernel_size=_kernel(kernel_size, 1), data_layout=data_layout,
        kernel_layout=kernel_layout, out_layout=out_layout,
        output_padding=_with_rank(output_padding, 1), out_dtype=out_dtype,
    )  # fmt: skip


@relay_op("nn.conv2d_transpose", "Conv2DTransposeAttrs", operands=("data", "weight"), level=2,
          first=_TRANSPOSE_FIELDS, relation=_transpose_type, pattern=OUT_FUSABLE,
          lower=_transpose_lower)  # fmt: skip
def conv2d_transpose(
    data: Expr, weight: Expr, strides: Any = (1, 1), padding: Any = (0, 0),
    dilation: Any = (1, 1), groups: int = 1, channels: int | None = None,
    kernel_size: Any = None, data_layout: str = "NCHW", kernel_layout: str = "IOHW",
    out_layout: str = "", output_padding: Any = (0, 0), out_dtype: str = "",
) -> Call:  # fmt: skip
    """The transpose of a convolution over images."""
    return conv2d_transpose.call(
        data, weight, strides=_with_rank(strides, 2), padding=get_pad_tuple2d(padding),
        dilation=_with_rank(dilation, 2), groups=int(groups), channels=_channels(channels),
        kernel_size=_kernel(kernel_size, 2), data_layout=data_layout,
        kernel_layout=kernel_layout, out_layout=out_layout,
        output_padding=_with_rank(output_padding, 2), out_dtype=out_dtype,
    )  # fmt: skip


@relay_op("nn.conv3d_transpose", "Conv3DTransposeAttrs", operands=("data", "weight"), level=2,
          first=_TRANSPOSE_FIELDS, relation=_transpose_type, pattern=OUT_FUSABLE,
          lower=_transpose_lower)  # fmt: skip
def conv3d_transpose(
    data: Expr, weight: Expr, strides: Any = (1, 1, 1), padding: Any = (0, 0, 0),
    dilation: Any = (1, 1, 1), groups: int = 1, channels: int | None = None,
    kernel_size: Any = None, data_layout: str = "NCDHW", kernel_layout: str = "IODHW",
    out_layout: str = "", output_padding: Any = (0, 0, 0), out_dtype: str = "",
) -> Call:  # fmt: skip
    """The transpose of a convolution over volumes."""
    return conv3d_transpose.call(
        data, weight, strides=_with_rank(strides, 3), padding=get_pad_tuple3d(padding),
        dilation=_with_rank(dilation, 3), groups=int(groups), channels=_channels(channels),
        kernel_size=_kernel(kernel_size, 3), data_layout=data_layout,
        kernel_layout=kernel_layout, out_layout=out_layout,
        output_padding=_with_rank(output_padding, 3), out_dtype=out_dtype,
    )  # fmt: skip


def _blocked_op(name: str) -> Callable[..., Call]:
    @relay_op(name, "Conv2DAttrs", operands=("data", "kernel"), relation=_conv_type, level=10,
              pattern=OUT_FUSABLE, lower=_conv_lower(R.nn.conv2d, True))  # fmt: skip
    def blocked(
        data: Expr, kernel: Expr, strides: Any = (1, 1), padding: Any = (0, 0),
        dilation: Any = (1, 1), groups: int = 1, channels: int | None = None,
        kernel_size: Any = None, data_layout: str = "NCHW8c", kernel_layout: str = "OIHW",
        out_layout: str = "", out_dtype: str = "",
    ) -> Call:  # fmt: skip
        """A convolution over images whose channels stand in blocks."""
        return blocked.call(
            data, kernel, strides=_with_rank(strides, 2), padding=get_pad_tuple2d(padding),
            dilation=_with_rank(dilation, 2), groups=int(groups), channels=_channels(channels),
            kernel_size=_kernel(kernel_size, 2), data_layout=data_layout,
            kernel_layout=kernel_layout, out_layout=out_layout, out_dtype=out_dtype,
        )  # fmt: skip

    return blocked


contrib_conv2d_nchwc = _blocked_op("nn.contrib_conv2d_NCHWc")
contrib_depthwise_conv2d_nchwc = _blocked_op("nn.contrib_depthwise_conv2d_NCHWc")
