"""Convolution with channels in blocks."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.topi import tag
from tvm.topi.common import compute, extents, is_one

from .conv_nd import per_dimension
from .pad import pad
from .utils import get_pad_tuple


class _Blocked:
    """The sizes of a blocked convolution, and its padded data."""

    def __init__(
        self, data: te.Tensor, windows: Any, stride: Any, padding: Any, dilation: Any
    ) -> None:
        if data.ndim != 5:
            raise ShapeError(
                message(
                    "conv2d_NCHWc",
                    found=f"data of {data.ndim} dimensions",
                    legal="(n, c / b, h, w, b)",
                )
            )
        self.stride = per_dimension(stride, 2, "strides")
        self.dilation = per_dimension(dilation, 2, "dilation")
        simplify = Analyzer().simplify
        wide = [simplify((k - 1) * d + 1) for k, d in zip(windows, self.dilation)]
        top, left, down, right = get_pad_tuple(padding, wide)
        self.batch, self.chunks, height, width, self.block = data.shape
        rows = tir.indexdiv(height - wide[0] + top + down, self.stride[0]) + 1
        columns = tir.indexdiv(width - wide[1] + left + right, self.stride[1]) + 1
        self.outs = (simplify(rows), simplify(columns))
        self.data = data
        if any(not _zero(p) for p in (top, left, down, right)):
            self.data = pad(data, [0, 0, top, left, 0], [0, 0, down, right, 0], name="data_pad")
        self.taps = [te.reduce_axis((0, k), name=n) for k, n in zip(windows, ("kh", "kw"))]

    def at(self, y: Any, x: Any) -> list[PrimExpr]:
        """Row and column of a tap for an output pixel."""
        return [o * s + t * d for o, s, t, d in zip((y, x), self.stride, self.taps, self.dilation)]


def _zero(p: Any) -> bool:
    return isinstance(p, int) and p == 0


@explained
def conv2d_NCHWc(
    data: te.Tensor, kernel: te.Tensor, stride: Any, padding: Any, dilation: Any, layout: str,
    out_layout: str, out_dtype: str | None = "float32",
) -> te.Tensor:  # fmt: skip
    """(n, c / b, h, w, b), (o / d, c / b, kh, kw, b, d) -> (n, o / d, oh, ow, d)

    A kernel with fewer input blocks than the data is one of a grouped convolution.
    """
    dtype = data.dtype if out_dtype is None else out_dtype
    out_chunks, kernel_chunks, kh, kw, kernel_block, out_block = extents(
        kernel, "oihwcd", "conv2d_NCHWc"
    )
    sizes = _Blocked(data, (kh, kw), stride, padding, dilation)
    simplify = Analyzer().simplify
    groups = simplify(tir.indexdiv(sizes.chunks * sizes.block, kernel_chunks * kernel_block))
    ic = te.reduce_axis((0, simplify(kernel_chunks * kernel_block)), name="ic")

    def element(n: Any, oc: Any, y: Any, x: Any, inner: Any) -> PrimExpr:
        # the output blocks of a group read the input channels of that group
        per_group = tir.indexdiv(out_chunks, groups)
        channel = tir.indexdiv(oc, per_group) * (kernel_chunks * kernel_block) + ic
        value = sizes.data(
            n, tir.indexdiv(channel, sizes.block), *sizes.at(y, x),
            tir.indexmod(channel, sizes.block),
        ).astype(dtype)  # fmt: skip
        weight = kernel(
            oc, tir.indexdiv(ic, kernel_block), *sizes.taps, tir.indexmod(ic, kernel_block), inner
        ).astype(dtype)
        total: PrimExpr = te.sum(value * weight, axis=[ic, *sizes.taps])
        return total

    shape = (sizes.batch, out_chunks, *sizes.outs, out_block)
    return compute(shape, element, name="conv2d_NCHWc", tag="conv2d_NCHWc")


@explained
def conv2d_NCHWc_int8(
    data: te.Tensor, kernel: te.Tensor, stride: Any, padding: Any, dilation: Any, layout: str,
    out_layout: str, out_dtype: str | None = "int32", n_elems: int = 4,
) -> te.Tensor:  # fmt: skip
    """Sums of products of bytes, `n_elems` of them side by side in the kernel.

    (n, c / b, h, w, b), (o / d, c / b, kh, kw, b / n_elems, d, n_elems) -> (n, o / d, oh, ow, d)
    """
    dtype = DataType("int32" if out_dtype is None else out_dtype)
    out_chunks, kernel_chunks, kh, kw, parts, out_block, elems = extents(
        kernel, "oihwcde", "conv2d_NCHWc_int8"
    )
    sizes = _Blocked(data, (kh, kw), stride, padding, dilation)
    simplify = Analyzer().simplify
    groups = simplify(tir.indexdiv(sizes.chunks * sizes.block, kernel_chunks * parts * elems))
    outer = te.reduce_axis((0, kernel_chunks), name="ic_outer")
    part = te.reduce_axis((0, parts), name="ic_f_inner")
    lane = te.reduce_axis((0, n_elems), name="ic_s_inner")

    def element(n: Any, oc: Any, y: Any, x: Any, inner: Any) -> PrimExpr:
        chunk: Any = outer
        if not is_one(groups):
            chunk = tir.indexdiv(oc, tir.indexdiv(out_chunks, groups)) * kernel_chunks + outer
        value = sizes.data(
            n, chunk, *sizes.at(y, x), part * n_elems + lane
        ).astype(dtype)
        weight = kernel(oc, outer, *sizes.taps, part, inner, lane).astype(dtype)
        total: PrimExpr = te.sum(value * weight, axis=[*sizes.taps, outer, part, lane])
        return total

    shape = (sizes.batch, out_chunks, *sizes.outs, out_block)
    rule = {"schedule_rule": "conv2d_NCHWc_int8"}
    return compute(shape, element, name="conv2d_NCHWc_int8", tag="conv2d_NCHWc_int8", attrs=rule)


@explained
def unpack_NCHWc_to_nchw(packed_out: te.Tensor, out_dtype: str) -> te.Tensor:
    """(n, c / b, h, w, b) -> (n, c, h, w)"""
    n, chunks, height, width, block = extents(packed_out, "nchwb", "unpack_NCHWc_to_nchw")

    def element(b: Any, c: Any, h: Any, w: Any) -> PrimExpr:
        coords = (b, tir.indexdiv(c, block), h, w, tir.indexmod(c, block))
        return packed_out(*coords).astype(out_dtype)

    shape = (n, Analyzer().simplify(chunks * block), height, width)
    return compute(shape, element, name="output_unpack", tag=tag.INJECTIVE + ",unpack_nchwc")
