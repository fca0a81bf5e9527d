"""Padding, and moving elements between channels, batches and pixels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.type import Type
from tvm.relay.expr import Call, Constant, const
from tvm.relay.op.declare import (
    ATTRS_CLASSES,
    INJECTIVE,
    OPAQUE,
    OUT_FUSABLE,
    Expr,
    Relate,
    dynamic,
    is_open,
    relay_op,
    te,
    topi,
)
from tvm.relay.op.relations import choice, extents, is_any, tensor, tensor_type
from tvm.relay.ty import Any as AnyDim
from tvm.relay.ty import IncompleteType, TensorType

from .conv import _with_rank, arranged, letters
from .utils import all_sides, get_pad_tuple2d


def _widths(pad_width: Any) -> tuple[tuple[int, int], ...]:
    return tuple((int(low), int(high)) for low, high in pad_width)


def _pad_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    dims, widths = extents(x), ctx.attrs.pad_width
    if "pad_mode" in dict(ctx.attrs.items()):
        choice(ctx, "pad_mode", "constant", "edge", "reflect")
    if len(dims) != len(widths):
        raise ctx.fail(f"{len(widths)} widths for {len(dims)} axes", "a pair for each axis")
    found = [
        AnyDim() if is_any(d) else d + int(low) + int(high) for d, (low, high) in zip(dims, widths)
    ]
    if any(isinstance(d, int) and d < 0 for d in found):
        raise ctx.fail("output shape would be negative", "widths that leave something")
    return tensor_type(found, x.dtype)


def _pad(bb: Any, x: Any, value: Any, *, pad_width: Any, pad_mode: str) -> Any:
    low, high = ([int(pair[side]) for pair in pad_width] for side in (0, 1))
    if pad_mode == "constant":
        return bb.call_te(
            lambda a, v: topi.nn.pad(a, low, high, v().astype(a.dtype)), x, value,
            primfunc_name_hint="pad",
        )
    func = {"edge": topi.nn.replicate_pad}.get(pad_mode)
    if func is not None:
        return bb.call_te(func, x, low, high)
    return bb.call_te(topi.nn.mirror_pad, x, low, high, "REFLECT")


@relay_op("nn.pad", "PadAttrs", operands=("data", "pad_value"), relation=_pad_type, level=2,
          pattern=INJECTIVE, lower=_pad)  # fmt: skip
def pad(data: Expr, pad_width: Any, pad_value: Any = 0, pad_mode: str = "constant") -> Call:
    """A border around a tensor: of one value, or of what is near."""
    value = pad_value
    if not isinstance(value, RelaxExpr):
        value = const(value)
    if is_open(pad_width):
        attrs = ATTRS_CLASSES["PadAttrs"](pad_width=(), pad_mode=pad_mode)
        return dynamic("dyn.nn.pad", attrs, data, pad_width, value)
    if isinstance(pad_width, Constant):
        pad_width = pad_width.data.numpy().tolist()
    return pad.call(data, value, pad_width=_widths(pad_width), pad_mode=pad_mode)


@relay_op("nn.mirror_pad", "MirrorPadAttrs", operands=("data",), relation=_pad_type, level=2,
          pattern=INJECTIVE, first=("mode",),
          lower=lambda bb, x, *, pad_width, mode: bb.call_te(
              topi.nn.mirror_pad, x, [p[0] for p in pad_width], [p[1] for p in pad_width], mode)
          )  # fmt: skip
def mirror_pad(data: Expr, pad_width: Any, mode: str = "SYMMETRIC") -> Call:
    """A border that mirrors what is inside."""
    return mirror_pad.call(data, pad_width=_widths(pad_width), mode=mode)


def _dilated(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    if len(x.shape) != len(ctx.attrs.strides):
        raise ctx.fail(f"{len(ctx.attrs.strides)} strides of {len(x.shape)} axes", "one for each")
    found = [
        AnyDim() if is_any(d) else (d - 1) * int(s) + 1
        for d, s in zip(extents(x), ctx.attrs.strides)
    ]
    return tensor_type(found, x.dtype)


@relay_op("nn.dilate", "DilateAttrs", operands=("data",), relation=_dilated, level=10,
          pattern=INJECTIVE,
          lower=lambda bb, x, *, strides, dilation_value: bb.call_te(
              topi.nn.dilate, x, list(strides), dilation_value))  # fmt: skip
def dilate(data: Expr, strides: Any, dilation_value: float = 0.0) -> Call:
    """A value put between neighbours."""
    return dilate.call(
        data, strides=tuple(int(s) for s in strides), dilation_value=float(dilation_value)
    )


def _blocks(letters_in: str, letters_out: str) -> Callable[[Relate], Type | None]:
    """Blocks go from some axes to others."""

    def relation(ctx: Relate) -> Type | None:
        x, block = tensor(ctx, 0), int(ctx.attrs.block_size)
        if x is None:
            return None
        layout = ctx.attrs.layout
        choice(ctx, "layout", "NCHW", "NHWC")
        choice(ctx, "mode", "DCR", "CDR", "CRD", "")
        if len(x.shape) != 4:
            raise ctx.fail(f"{len(x.shape)} dimensions", "4")
        sizes = dict(zip(layout, extents(x)))
        for axis in letters_in:
            part = block ** (len(letters_out) if len(letters_in) == 1 else 1)
            if isinstance(sizes[axis], int) and sizes[axis] % part:
                raise ctx.fail(
                    f"extent {sizes[axis]} of {axis} does not make blocks of {part}", "a multiple"
                )
            sizes[axis] = sizes[axis] if is_any(sizes[axis]) else sizes[axis] // part
        for axis in letters_out:
            part = block ** (len(letters_in) if len(letters_out) == 1 else 1)
            sizes[axis] = sizes[axis] if is_any(sizes[axis]) else sizes[axis] * part
        return tensor_type([sizes[axis] for axis in layout], x.dtype)

    return relation


@relay_op("nn.depth_to_space", "SubPixelAttrs", operands=("data",), level=5, pattern=INJECTIVE,
          optional={"block_size": 1},
          relation=_blocks("C", "HW"), lower=lambda bb, x, *, block_size, layout, mode: bb.call_te(
              topi.nn.depth_to_space, x, block_size, layout, mode))  # fmt: skip
def depth_to_space(
    data: Expr, block_size: int, layout: str = "NCHW", mode: str = "DCR"
) -> Call:
    """Channels as blocks of pixels."""
    return depth_to_space.call(data, block_size=block_size, layout=layout, mode=mode)


@relay_op("nn.space_to_depth", "SubPixelAttrs", operands=("data",), level=5, pattern=INJECTIVE,
          relation=_blocks("HW", "C"), lower=lambda bb, x, *, block_size, layout, mode: bb.call_te(
              topi.nn.space_to_depth, x, block_size, layout))  # fmt: skip
def space_to_depth(data: Expr, block_size: int, layout: str = "NCHW") -> Call:
    """Blocks of pixels as channels."""
    return space_to_depth.call(data, block_size=block_size, layout=layout, mode="")


@relay_op("nn.space_to_batch_nd", "SpaceToBatchNDAttrs", operands=("data",), level=5,
          pattern=INJECTIVE, optional={"block_shape": (1, 1), "pad_value": 0.0},
          lower=lambda bb, x, *, block_shape, paddings, pad_value: bb.call_te(
              topi.nn.space_to_batch_nd, x, list(block_shape), [p[0] for p in paddings],
              [p[1] for p in paddings], pad_value))  # fmt: skip
def space_to_batch_nd(
    data: Expr, block_shape: Any, paddings: Any, pad_value: float = 0
) -> Call:
    """Blocks of pixels as samples."""
    return space_to_batch_nd.call(
        data, block_shape=tuple(int(b) for b in block_shape), paddings=_widths(paddings),
        pad_value=float(pad_value),
    )  # fmt: skip


@relay_op("nn.batch_to_space_nd", "BatchToSpaceNDAttrs", operands=("data",), level=5,
          pattern=INJECTIVE, optional={"block_shape": (1, 1)},
          lower=lambda bb, x, *, block_shape, crops: bb.call_te(
              topi.nn.batch_to_space_nd, x, list(block_shape), [p[0] for p in crops],
              [p[1] for p in crops]))  # fmt: skip
def batch_to_space_nd(data: Expr, block_shape: Any, crops: Any) -> Call:
    """Samples as blocks of pixels."""
    return batch_to_space_nd.call(
        data, block_shape=tuple(int(b) for b in block_shape), crops=_widths(crops)
    )


def _fifo_type(ctx: Relate) -> Type | None:
    data, buffer = tensor(ctx, 0), tensor(ctx, 1)
    if data is None or buffer is None:
        return None
    if len(data.shape) != len(buffer.shape):
        raise ctx.fail("the data has not as many dimensions as the buffer", "as many")
    return buffer


@relay_op("nn.fifo_buffer", "FIFOBufferAttrs", operands=("data", "buffer"), level=3,
          relation=_fifo_type, pattern=OPAQUE,
          lower=te(topi.nn.fifo_buffer), optional={"axis": 0})  # fmt: skip
def fifo_buffer(data: Expr, buffer: Expr, axis: int) -> Call:
    """A buffer with new data at its end, the oldest gone."""
    return fifo_buffer.call(data, buffer, axis=axis)


def _correlation(bb: Any, a: Any, b: Any, *, layout: str, **o: Any) -> Any:
    if layout != "NCHW":
        raise TVMError(message("nn.correlation", found=f"layout {layout!r}", legal="'NCHW'"))
    return bb.call_te(
        topi.nn.correlation_nchw, a, b, o["kernel_size"], o["max_displacement"], o["stride1"],
        o["stride2"], list(o["padding"]), o["is_multiply"],
    )  # fmt: skip


@relay_op("nn.correlation", "CorrelationAttrs", operands=("data1", "data2"), level=2,
          pattern=OUT_FUSABLE, lower=_correlation,
          optional={"kernel_size": 1, "max_displacement": 1, "stride1": 1, "stride2": 1,
                    "padding": (0, 0), "is_multiply": True, "layout": "NCHW"})  # fmt: skip
def correlation(
    data1: Expr, data2: Expr, kernel_size: int, max_displacement: int, stride1: int,
    stride2: int, padding: Any, is_multiply: bool, layout: str,
) -> Call:  # fmt: skip
    """How alike two images are at displacements."""
    return correlation.call(
        data1, data2, kernel_size=kernel_size, max_displacement=max_displacement,
        stride1=stride1, stride2=stride2, padding=_pads(padding), is_multiply=is_multiply,
        layout=layout,
    )  # fmt: skip


def _pads(padding: Any) -> tuple[int, ...]:
    return (padding,) * 2 if isinstance(padding, int) else tuple(int(p) for p in padding)


def _deformable_type(ctx: Relate) -> Type | None:
    x, o = tensor(ctx, 0), ctx.attrs
    if x is None:
        return None
    size = letters(o.data_layout, extents(x))
    weight = tensor(ctx, 2)
    if weight is None:
        if o.channels is None or o.kernel_size is None:
            return None
        inner = {"O": int(o.channels), "I": size["C"] // int(o.groups)}
        inner.update(zip("HW", map(int, o.kernel_size)))
        ctx.assign(2, TensorType(arranged(o.kernel_layout, inner), x.dtype))
    else:
        inner = letters(o.kernel_layout, extents(weight))
    top, left, bottom, right = all_sides(o.padding, 2)
    steps = list(zip("HW", (top + bottom, left + right), o.dilation, o.strides))
    for axis, around, dilation, stride in steps:
        reach = int(dilation) * (inner[axis] - 1) + 1
        size[axis] = (size[axis] + around - reach) // int(stride) + 1
    moves = {**size, "C": 2 * inner["H"] * inner["W"] * int(o.deformable_groups)}
    if isinstance(ctx.types[1], IncompleteType):
        ctx.assign(1, TensorType(arranged(o.data_layout, moves), x.dtype))
    size["C"] = inner["O"]
    return TensorType(arranged(o.out_layout or o.data_layout, size), o.out_dtype or x.dtype)


@relay_op("nn.deformable_conv2d", "DeformableConv2DAttrs", level=5, pattern=OUT_FUSABLE,
          operands=("data", "offset", "weight"), relation=_deformable_type,
          lower=lambda bb, x, off, w, **o: bb.call_te(
              topi.nn.deformable_conv2d_nchw if o["data_layout"] == "NCHW"
              else topi.nn.deformable_conv2d_nhwc, x, off, w, list(o["strides"]),
              list(o["padding"]), list(o["dilation"]), o["deformable_groups"], o["groups"],
              o["out_dtype"] or str(x.struct_info.dtype)))  # fmt: skip
def deformable_conv2d(
    data: Expr, offset: Expr, weight: Expr, strides: Any = (1, 1), padding: Any = (0, 0),
    dilation: Any = (1, 1), deformable_groups: int = 1, groups: int = 1,
    channels: int | None = None, kernel_size: Any = None, data_layout: str = "NCHW",
    kernel_layout: str = "OIHW", out_layout: str = "", out_dtype: str = "",
) -> Call:  # fmt: skip
    """A convolution whose taps are moved by offsets."""
    return deformable_conv2d.call(
        data, offset, weight, strides=_with_rank(strides, 2), padding=get_pad_tuple2d(padding),
        dilation=_with_rank(dilation, 2), deformable_groups=deformable_groups, groups=groups,
        channels=channels, kernel_size=None if kernel_size is None else _with_rank(kernel_size, 2),
        data_layout=data_layout, kernel_layout=kernel_layout, out_layout=out_layout,
        out_dtype=out_dtype,
    )  # fmt: skip


@relay_op("nn.bitpack", "BitPackAttrs", operands=("data",), level=2, pattern=INJECTIVE,
          lower=te(topi.nn.bitpack), optional={"bit_axis": -1, "pack_type": ""})  # fmt: skip
def bitpack(
    data: Expr, bits: int = 1, pack_axis: int = 1, bit_axis: int = 2, pack_type: str = "uint32",
    name: str = "BitPack",
) -> Call:  # fmt: skip
    """Single bits of numbers packed into words."""
    return bitpack.call(
        data, bits=bits, pack_axis=pack_axis, bit_axis=bit_axis, pack_type=pack_type, name=name
    )
