"""Convolutions of one, two and three dimensions, and their transposes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.ir.expr import PrimExpr
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.relax.op import layout_rules
from tvm.relax.op.declare import (
    ALWAYS,
    OUT_FUSABLE,
    Array,
    Expr,
    Infer,
    OptionError,
    RelaxOp,
    attrs_class,
    dtype_or_void,
    relax_op,
    topi,
    whole,
)
from tvm.relax.op.layouts import (
    arranged,
    check_layout,
    extents_by_letter,
    from_plain,
    layout_parts,
    letters_of,
    padding_of,
    positive,
    spatial,
    spread,
    to_plain,
    windows,
)
from tvm.relax.op.relayout import relayout
from tvm.relax.op.shapes import common_dtype, like
from tvm.relax.shape_math import simplify
from tvm.relax.struct_info import VOID, TensorStructInfo, const_int
from tvm.support.dtype import DataType

_CONV = ("strides", "padding", "dilation", "groups", "data_layout", "kernel_layout", "out_layout",
         "out_dtype")  # fmt: skip
_TRANSPOSE = ("strides", "padding", "output_padding", *_CONV[2:])
_WINDOW = ("strides", "padding", "output_padding", "dilation")
Conv1DAttrs = attrs_class("Conv1DAttrs", *_CONV, numbers=_WINDOW)
Conv2DAttrs = attrs_class("Conv2DAttrs", *_CONV, numbers=_WINDOW)
Conv3DAttrs = attrs_class("Conv3DAttrs", *_CONV, numbers=_WINDOW)
Conv1DTransposeAttrs = attrs_class("Conv1DTransposeAttrs", *_TRANSPOSE, numbers=_WINDOW)
Conv2DTransposeAttrs = attrs_class("Conv2DTransposeAttrs", *_TRANSPOSE, numbers=_WINDOW)

Numbers = Any  # an integer or a sequence of them
DTypeLike = DataType | str | None


def _checked(
    name: str,
    count: int,
    strides: Numbers,
    padding: Numbers,
    dilation: Numbers,
    groups: int,
    data_layout: str,
    kernel_layout: str,
    out_layout: str | None,
    out_dtype: DTypeLike,
) -> dict[str, Any]:
    """The options in their one form; errors for those that can never be right."""
    groups = whole(groups, f"{name}: groups")
    if groups <= 0:
        raise OptionError(f"{name}: groups is {groups}; legal: 1 or more")
    return {
        "strides": positive(strides, count, f"{name}: strides"),
        "padding": padding_of(padding, count),
        "dilation": positive(dilation, count, f"{name}: dilation"),
        "groups": groups,
        "data_layout": data_layout,
        "kernel_layout": kernel_layout,
        "out_layout": data_layout if out_layout is None else out_layout,
        "out_dtype": dtype_or_void(out_dtype),
    }


def _conv_info(count: int) -> Any:
    data_letters, kernel_letters = letters_of("NC", count), letters_of("OI", count)

    def info(
        ctx: Infer,
        data: TensorStructInfo,
        weight: TensorStructInfo,
        *,
        strides: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        groups: int,
        data_layout: str,
        kernel_layout: str,
        out_layout: str,
        out_dtype: DataType,
    ) -> TensorStructInfo:
        dtype = out_dtype
        if dtype is VOID:
            dtype = common_dtype(ctx, ("data", data), ("weight", weight))
        x = extents_by_letter(ctx, "data", data, data_layout, data_letters)
        w = extents_by_letter(ctx, "weight", weight, kernel_layout, kernel_letters)
        ndim = len(check_layout(ctx, "out_layout", out_layout, letters_of("NC", count)))
        if x is None or w is None:
            return like(data, None, ndim, dtype)
        _check_channels(ctx, x["C"], w["I"], w["O"], groups)
        out = {"N": x["N"], "C": w["O"]}
        for i, letter in enumerate(spatial(count)):
            size = windows(
                x[letter], w[letter], padding[i], padding[i + count], strides[i], dilation[i], False
            )
            out[letter] = simplify(size, ctx.analyzer)
        return like(data, arranged(out, out_layout), dtype=dtype)

    return info


def _check_channels(
    ctx: Infer, channels: PrimExpr, inputs: PrimExpr, outputs: PrimExpr, groups: int
) -> None:
    wanted = inputs if groups == 1 else inputs * groups
    if ctx.differ(channels, wanted):
        raise ctx.shape_error(
            "the channels of data do not fit weight",
            f"data has {channels} channels, weight takes {inputs} in each of {groups} groups",
            "channels of data = groups * input channels of weight",
        )
    known = const_int(outputs)
    if known is not None and known % groups:
        raise ctx.shape_error(
            "the output channels are no multiple of groups", f"{known} and {groups}"
        )


def _conv_te(name: str) -> Any:
    def te(
        bb: BlockBuilder,
        data: Expr,
        weight: Expr,
        *,
        data_layout: str,
        kernel_layout: str,
        out_layout: str,
        out_dtype: DataType,
        strides: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        groups: int,
    ) -> Expr:
        return bb.call_te(
            topi.nn.conv,
            data,
            weight,
            list(strides),
            list(padding),
            list(dilation),
            groups,
            data_layout,
            kernel_layout,
            None if out_dtype is VOID else str(out_dtype),
            primfunc_name_hint=name,
        )

    return te


def _keep_other_layouts(op: RelaxOp[Any], te: Any, count: int) -> None:
    """Layouts with packed channels, or changed on the way, wait for a pass that knows them."""

    def legalize(bb: BlockBuilder, data: Expr, weight: Expr, **options: Any) -> Expr:
        plain = len(layout_parts(options["data_layout"])) == count + 2
        plain = plain and len(layout_parts(options["kernel_layout"])) == count + 2
        if not plain or options["out_layout"] != options["data_layout"]:
            return op.call(data, weight, **options)
        return te(bb, data, weight, **options)  # type: ignore[no-any-return]

    op.legalize(legalize)


def _patches(
    x: Array, kernel: tuple[int, ...], strides: tuple[int, ...], dilation: tuple[int, ...]
) -> Array:
    """All windows of an (N, C, spatial...) array: (N, C, out..., kernel...)."""
    span = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilation))
    axes = tuple(range(2, x.ndim))
    if any(n < s for n, s in zip(x.shape[2:], span)):  # no window is within: an empty result
        counts = [max((n - s) // t + 1, 0) for n, s, t in zip(x.shape[2:], span, strides)]
        return np.zeros((*x.shape[:2], *counts, *kernel), x.dtype)
    view = np.lib.stride_tricks.sliding_window_view(x, span, axes)
    steps = tuple(slice(None, None, step) for step in (1, 1, *strides, *dilation))
    return view[steps]


def _grouped(x: Array, w: Array, groups: int, strides: Any, dilation: Any) -> Array:
    """Convolve plain arrays: (N, C, ...), (O, C / groups, ...) -> (N, O, ...)."""
    patches = _patches(x, w.shape[2:], strides, dilation)
    per_in, per_out = x.shape[1] // groups, w.shape[0] // groups
    count = x.ndim - 2
    parts = []
    for g in range(groups):
        left = patches[:, g * per_in : (g + 1) * per_in]
        right = w[g * per_out : (g + 1) * per_out]
        inner = tuple(range(2 + count, 2 + 2 * count))
        product = np.tensordot(left, right, ((1, *inner), tuple(range(1, 2 + count))))
        parts.append(np.moveaxis(product, -1, 1))
    return np.concatenate(parts, 1)


def _conv_numpy(count: int) -> Any:
    def numpy(data: Array, weight: Array, **o: Any) -> Array:
        dtype = data.dtype if o["out_dtype"] is VOID else numpy_dtype(o["out_dtype"])
        wide = np.promote_types(dtype, np.float32) if dtype.kind in "fV" else dtype
        x = to_plain(data, o["data_layout"], letters_of("NC", count)).astype(wide)
        w = to_plain(weight, o["kernel_layout"], letters_of("OI", count)).astype(wide)
        pads = list(zip(o["padding"][:count], o["padding"][count:]))
        x = np.pad(x, [(0, 0), (0, 0), *pads])
        out = _grouped(x, w, o["groups"], o["strides"], o["dilation"])
        return from_plain(out.astype(dtype), o["out_layout"], letters_of("NC", count))

    return numpy


@relax_op("relax.nn.conv1d", "data: Tensor, weight: Tensor", Conv1DAttrs, pattern=OUT_FUSABLE,
          precision=ALWAYS)  # fmt: skip
def conv1d(
    data: ExprLike,
    weight: ExprLike,
    strides: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "OIW",
    out_layout: str | None = None,
    out_dtype: DTypeLike = None,
) -> Call:
    """Convolution along one dimension.   (n, c, w), (o, c / groups, k) -> (n, o, w')"""
    options = _checked("conv1d", 1, strides, padding, dilation, groups, data_layout, kernel_layout,
                       out_layout, out_dtype)  # fmt: skip
    return conv1d.call(data, weight, **options)


@relax_op("relax.nn.conv2d", "data: Tensor, weight: Tensor", Conv2DAttrs, pattern=OUT_FUSABLE,
          precision=ALWAYS)  # fmt: skip
def conv2d(
    data: ExprLike,
    weight: ExprLike,
    strides: Numbers = (1, 1),
    padding: Numbers = (0, 0),
    dilation: Numbers = (1, 1),
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str | None = None,
    out_dtype: DTypeLike = None,
) -> Call:
    """Convolution of images.   (n, c, h, w), (o, c / groups, kh, kw) -> (n, o, h', w')"""
    options = _checked("conv2d", 2, strides, padding, dilation, groups, data_layout, kernel_layout,
                       out_layout, out_dtype)  # fmt: skip
    return conv2d.call(data, weight, **options)


@relax_op("relax.nn.conv3d", "data: Tensor, weight: Tensor", Conv3DAttrs, pattern=OUT_FUSABLE,
          precision=ALWAYS)  # fmt: skip
def conv3d(
    data: ExprLike,
    weight: ExprLike,
    strides: Numbers = (1, 1, 1),
    padding: Numbers = (0, 0, 0),
    dilation: Numbers = (1, 1, 1),
    groups: int = 1,
    data_layout: str = "NCDHW",
    kernel_layout: str = "OIDHW",
    out_layout: str | None = None,
    out_dtype: DTypeLike = None,
) -> Call:
    """Convolution of volumes.   (n, c, d, h, w), (o, c / groups, kd, kh, kw) -> (n, o, ...)"""
    options = _checked("conv3d", 3, strides, padding, dilation, groups, data_layout, kernel_layout,
                       out_layout, out_dtype)  # fmt: skip
    return conv3d.call(data, weight, **options)


for _rank, _op in ((1, conv1d), (2, conv2d), (3, conv3d)):
    _op.infer(_conv_info(_rank))
    _op.reference(_conv_numpy(_rank))
    _keep_other_layouts(_op, _conv_te(f"conv{_rank}d"), _rank)


# --- transposed ---


def _transpose_info(count: int) -> Any:
    data_letters, kernel_letters = letters_of("NC", count), letters_of("IO", count)

    def info(
        ctx: Infer,
        data: TensorStructInfo,
        weight: TensorStructInfo,
        *,
        strides: tuple[int, ...],
        padding: tuple[int, ...],
        output_padding: tuple[int, ...],
        dilation: tuple[int, ...],
        groups: int,
        data_layout: str,
        kernel_layout: str,
        out_layout: str,
        out_dtype: DataType,
    ) -> TensorStructInfo:
        dtype = out_dtype
        if dtype is VOID:
            dtype = common_dtype(ctx, ("data", data), ("weight", weight))
        for i, extra in enumerate(output_padding):
            if extra >= strides[i]:
                raise ctx.shape_error(
                    "output_padding must be less than strides",
                    f"{list(output_padding)} and {list(strides)}",
                )
        x = extents_by_letter(ctx, "data", data, data_layout, data_letters)
        w = extents_by_letter(ctx, "weight", weight, kernel_layout, kernel_letters)
        ndim = len(check_layout(ctx, "out_layout", out_layout, letters_of("NC", count)))
        if x is None or w is None:
            return like(data, None, ndim, dtype)
        if ctx.differ(x["C"], w["I"]):
            raise ctx.shape_error(
                "the channels of data do not fit weight",
                f"data has {x['C']}, weight takes {w['I']}",
                "equal numbers of channels",
            )
        known = const_int(x["C"])
        if known is not None and known % groups:
            raise ctx.shape_error(
                "the input channels are no multiple of groups", f"{known} and {groups}"
            )
        out = {"N": x["N"], "C": w["O"] * groups}
        for i, letter in enumerate(spatial(count)):
            pads = padding[i] + padding[i + count]
            size = (x[letter] - 1) * strides[i] - pads + dilation[i] * (w[letter] - 1)
            out[letter] = simplify(size + output_padding[i] + 1, ctx.analyzer)
        return like(data, arranged(out, out_layout), dtype=dtype)

    return info


def _transpose_numpy(count: int) -> Any:
    def numpy(data: Array, weight: Array, **o: Any) -> Array:
        dtype = data.dtype if o["out_dtype"] is VOID else numpy_dtype(o["out_dtype"])
        wide = np.promote_types(dtype, np.float32) if dtype.kind in "fV" else dtype
        x = to_plain(data, o["data_layout"], letters_of("NC", count)).astype(wide)
        w = to_plain(weight, o["kernel_layout"], letters_of("IO", count)).astype(wide)
        strides, dilation, groups = o["strides"], o["dilation"], o["groups"]
        # zeros between the elements, then an ordinary convolution with the flipped kernel
        sizes = [(n - 1) * s + 1 for n, s in zip(x.shape[2:], strides)]
        spaced = np.zeros((*x.shape[:2], *sizes), wide)
        spaced[tuple(slice(None, None, s) for s in (1, 1, *strides))] = x
        pads = []
        for i in range(count):
            span = dilation[i] * (w.shape[2 + i] - 1)
            after = span - o["padding"][i + count] + o["output_padding"][i]
            pads.append((span - o["padding"][i], after))
        for i, (before, after) in enumerate(pads):
            spaced = _pad_or_crop(spaced, 2 + i, before, after)
        flipped = np.flip(w, tuple(range(2, w.ndim)))
        per_in = w.shape[0] // groups
        kernel = np.concatenate(
            [np.swapaxes(flipped[g * per_in : (g + 1) * per_in], 0, 1) for g in range(groups)]
        )
        out = _grouped(spaced, kernel, groups, (1,) * count, dilation)
        return from_plain(out.astype(dtype), o["out_layout"], letters_of("NC", count))

    return numpy


def _pad_or_crop(x: Array, axis: int, before: int, after: int) -> Array:
    """Zeros at both ends of an axis; elements taken away where a number is negative."""
    pads = [(0, 0)] * x.ndim
    pads[axis] = (max(before, 0), max(after, 0))
    x = np.pad(x, pads)
    at = [slice(None)] * x.ndim
    at[axis] = slice(max(-before, 0), x.shape[axis] - max(-after, 0))
    return x[tuple(at)]


@relax_op("relax.nn.conv1d_transpose", "data: Tensor, weight: Tensor", Conv1DTransposeAttrs,
          pattern=OUT_FUSABLE)  # fmt: skip
def conv1d_transpose(
    data: ExprLike,
    weight: ExprLike,
    strides: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "IOW",
    out_layout: str | None = None,
    out_dtype: DTypeLike = None,
) -> Call:
    """Transposed convolution along one dimension.   (n, c, w), (c, o / groups, k) -> (n, o, w')"""
    options = _checked("conv1d_transpose", 1, strides, padding, dilation, groups, data_layout,
                       kernel_layout, out_layout, out_dtype)  # fmt: skip
    extra = spread(output_padding, 1, "conv1d_transpose: output_padding")
    return conv1d_transpose.call(data, weight, output_padding=extra, **options)


@relax_op("relax.nn.conv2d_transpose", "data: Tensor, weight: Tensor", Conv2DTransposeAttrs,
          pattern=OUT_FUSABLE)  # fmt: skip
def conv2d_transpose(
    data: ExprLike,
    weight: ExprLike,
    strides: Numbers = (1, 1),
    padding: Numbers = (0, 0),
    output_padding: Numbers = (0, 0),
    dilation: Numbers = (1, 1),
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "IOHW",
    out_layout: str | None = None,
    out_dtype: DTypeLike = None,
) -> Call:
    """Transposed convolution of images.   (n, c, h, w), (c, o / groups, kh, kw) -> (n, o, ...)"""
    options = _checked("conv2d_transpose", 2, strides, padding, dilation, groups, data_layout,
                       kernel_layout, out_layout, out_dtype)  # fmt: skip
    extra = spread(output_padding, 2, "conv2d_transpose: output_padding")
    return conv2d_transpose.call(data, weight, output_padding=extra, **options)


def _transpose_te(op: RelaxOp[Any], name: str, layout: str, kernel_layout: str) -> Any:
    def legalize(bb: BlockBuilder, data: Expr, weight: Expr, **o: Any) -> Expr:
        given = (o["data_layout"], o["kernel_layout"], o["out_layout"])
        plain = {"data_layout": layout, "kernel_layout": kernel_layout, "out_layout": layout}
        if given != tuple(plain.values()):  # by way of the layouts that have a kernel
            x = bb.normalize_argument(relayout(data, given[0], layout))
            w = bb.normalize_argument(relayout(weight, given[1], kernel_layout))
            moved = bb.normalize_argument(op.call(x, w, **{**o, **plain}))
            return relayout(moved, layout, given[2])
        dtype = (
            o["out_dtype"]
            if o["out_dtype"] is not VOID
            else getattr(data.struct_info, "dtype", VOID)
        )

        def compute(x: Any, w: Any) -> Any:
            if any(d != 1 for d in o["dilation"]):
                w = topi.nn.dilate(w, [1, 1, *o["dilation"]], name="kernel_dilate")
            return getattr(topi.nn, f"group_{name}_{layout.lower()}")(
                x, w, list(o["strides"]), list(o["padding"]), str(dtype),
                list(o["output_padding"]), o["groups"],
            )  # fmt: skip

        return bb.call_te(compute, data, weight, primfunc_name_hint=name)

    return legalize


conv1d_transpose.infer(_transpose_info(1))
conv2d_transpose.infer(_transpose_info(2))
conv1d_transpose.reference(_transpose_numpy(1))
conv2d_transpose.reference(_transpose_numpy(2))
conv1d_transpose.legalize(_transpose_te(conv1d_transpose, "conv1d_transpose", "NCW", "IOW"))
conv2d_transpose.legalize(_transpose_te(conv2d_transpose, "conv2d_transpose", "NCHW", "IOHW"))

for _declared in (conv1d, conv2d, conv3d):
    _declared.layout(layout_rules.convolved)
for _transposed in (conv1d_transpose, conv2d_transpose):
    _transposed.layout(layout_rules.convolved_as_desired)
