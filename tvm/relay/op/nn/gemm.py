"""Convolution of pictures by a product of matrices: the kernel in tiles once, then the data.

A kernel (kh, kw, c, o) is a matrix of k = kh * kw * c rows. In tiles it is
(o / tile_N, k / tile_K, tile_N, tile_K), so that a tile lies in one piece of memory.
"""

from __future__ import annotations

from typing import Any

from tvm import te
from tvm.error import TVMError, message
from tvm.relay.expr import Call
from tvm.relay.op.declare import OUT_FUSABLE, Expr, relay_op, topi
from tvm.tir import all as all_of
from tvm.tir import const, if_then_else

from .utils import get_pad_tuple2d


def _tiles(weight: Any, tile_n: int, tile_k: int) -> Any:
    """Zeros stand where the tiles reach over the matrix."""
    _, width, inputs, filters = (int(extent) for extent in weight.shape)
    rows = int(weight.shape[0]) * width * inputs

    def element(n: Any, k: Any, in_n: Any, in_k: Any) -> Any:
        row, column = k * tile_k + in_k, n * tile_n + in_n
        value = weight[row // (width * inputs), row // inputs % width, row % inputs, column]
        zero = const(0, weight.dtype)
        return if_then_else(all_of(row < rows, column < filters), value, zero)

    shape = (-(-filters // tile_n), -(-rows // tile_k), tile_n, tile_k)
    return te.compute(shape, element, name="weight_tiles")


@relay_op("nn.contrib_conv2d_gemm_weight_transform", "ConvGemmWeightTransformAttrs",
          operands=("weights",), level=10,
          lower=lambda bb, w, *, tile_N, tile_K: bb.call_te(
              _tiles, w, int(tile_N), int(tile_K)), pattern=OUT_FUSABLE)  # fmt: skip
def contrib_conv2d_gemm_weight_transform(weights: Expr, tile_N: int, tile_K: int) -> Call:
    """Kernels (kh, kw, c, o) in tiles (o / tile_N, kh * kw * c / tile_K, tile_N, tile_K)."""
    return contrib_conv2d_gemm_weight_transform.call(
        weights, tile_N=int(tile_N), tile_K=int(tile_K)
    )


def _product(
    data: Any, tiles: Any, strides: Any, padding: Any, dilation: Any, kernel: Any, filters: int,
    dtype: str,
) -> Any:  # fmt: skip
    tile_n, tile_k = int(tiles.shape[2]), int(tiles.shape[3])
    (height, width), (down, right) = kernel, dilation
    top, left, bottom, last = padding
    padded = topi.nn.pad(data, [0, top, left, 0], [0, bottom, last, 0], name="pad_data")
    batch, rows, columns, inputs = padded.shape
    kh, kw = te.reduce_axis((0, height), "kh"), te.reduce_axis((0, width), "kw")
    c = te.reduce_axis((0, inputs), "c")

    def element(n: Any, y: Any, x: Any, o: Any) -> Any:
        k = (kh * width + kw) * inputs + c
        value = padded[n, y * strides[0] + kh * down, x * strides[1] + kw * right, c]
        weight = tiles[o // tile_n, k // tile_k, o % tile_n, k % tile_k]
        return te.sum(value.astype(dtype) * weight.astype(dtype), axis=[kh, kw, c])

    shape = (
        batch, (rows - (height - 1) * down - 1) // strides[0] + 1,
        (columns - (width - 1) * right - 1) // strides[1] + 1, filters,
    )  # fmt: skip
    return te.compute(shape, element, name="conv2d_gemm_output", tag="conv2d_gemm_output")


def _without_transform(bb: Any, x: Any, w: Any, **o: Any) -> Any:
    def compute(data: Any, tiles: Any) -> Any:
        return _product(
            data, tiles, o["strides"], o["padding"], o["dilation"], o["kernel_size"],
            int(o["channels"]), str(o["out_dtype"] or data.dtype),
        )  # fmt: skip

    return bb.call_te(compute, x, w)


@relay_op("nn.contrib_conv2d_gemm_without_weight_transform", "Conv2DAttrs",
          operands=("data", "weight"), pattern=OUT_FUSABLE, lower=_without_transform)  # fmt: skip
def contrib_conv2d_gemm_without_weight_transform(
    data: Expr, weight: Expr, strides: Any = (1, 1), padding: Any = (0, 0),
    dilation: Any = (1, 1), groups: int = 1, channels: int | None = None, kernel_size: Any = None,
    data_layout: str = "NCHW", kernel_layout: str = "OIHW", out_layout: str = "",
    out_dtype: str = "",
) -> Call:  # fmt: skip
    """A convolution of NHWC data with what `contrib_conv2d_gemm_weight_transform` makes.

    `channels` and `kernel_size` say what the tiles do not: (n, h, w, c) -> (n, oh, ow, channels).
    A TVMError for other layouts, several groups, and where either is not said.
    """
    if data_layout != "NHWC" or out_layout not in ("", "NHWC"):
        raise _refuse("the layouts", f"{data_layout!r}, {out_layout!r}", "NHWC for both")
    if int(groups) != 1:
        raise _refuse("groups", groups, "1")
    if channels is None or kernel_size is None:
        raise _refuse("channels, kernel_size", f"{channels}, {kernel_size}", "numbers for both")
    return contrib_conv2d_gemm_without_weight_transform.call(
        data, weight, strides=_pair(strides), padding=get_pad_tuple2d(padding),
        dilation=_pair(dilation), groups=1, channels=int(channels), kernel_size=_pair(kernel_size),
        data_layout=data_layout, kernel_layout=kernel_layout, out_layout=out_layout,
        out_dtype=out_dtype,
    )  # fmt: skip


def _refuse(asked: str, found: object, legal: str) -> TVMError:
    name = "contrib_conv2d_gemm_without_weight_transform"
    return TVMError(message(f"{name}: {asked}", found=str(found), legal=legal))


def _pair(value: Any) -> tuple[int, int]:
    first, second = (value, value) if isinstance(value, int) else value
    return int(first), int(second)
