"""Workloads as tensor expressions: layers of networks to try spaces and searches with.

Each function gives the inputs and the output, in the order of the kernel's parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from tvm import te, tir
from tvm.support.suggest import did_you_mean
from tvm.tir.function import PrimFunc
from tvm.topi import nn as _nn
from tvm.topi.utils import get_const_int

Tensors: TypeAlias = tuple[te.Tensor, ...]
nn: Any = _nn  # the operators are typed where they are defined


def batch_matmul_nkkm(
    B: int, N: int, M: int, K: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> Tensors:
    """(b, n, k), (b, k, m) -> (b, n, m)"""
    x = te.placeholder((B, N, K), name="X", dtype=in_dtype)
    y = te.placeholder((B, K, M), name="Y", dtype=in_dtype)
    k = te.reduce_axis((0, K), name="k")
    z = te.compute(
        (B, N, M),
        lambda b, i, j: te.sum(
            x[b, i, k].astype(out_dtype) * y[b, k, j].astype(out_dtype), axis=[k]
        ),
        name="Z",
    )
    return x, y, z


def _conv_nd(
    name: str,
    spatial: Sequence[int],
    channels: tuple[int, int, int],
    options: tuple[int, int, int, int, int],
    dtypes: tuple[str, str],
) -> Tensors:
    """A convolution with channels last; `channels` are batch, input and output."""
    (batch, ci, co), (kernel, stride, padding, dilation, groups) = channels, options
    in_dtype, out_dtype = dtypes
    dims = len(spatial)
    inputs = te.placeholder((batch, *spatial, ci), name="inputs", dtype=in_dtype)
    weight = te.placeholder((*[kernel] * dims, ci // groups, co), name="weight", dtype=in_dtype)
    out = [(n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1 for n in spatial]
    names = {1: "l", 2: "hw", 3: "dhw"}[dims]
    window = [te.reduce_axis((0, kernel), name=f"r{letter}") for letter in names]
    rc = te.reduce_axis((0, ci // groups), name="rc")
    padded = nn.pad(inputs, [0, *[padding] * dims, 0])
    per_group = co // groups

    def element(n: Any, *rest: Any) -> Any:
        *pixel, c = rest
        at = [p * stride + r * dilation for p, r in zip(pixel, window)]
        x = padded(n, *at, c // per_group * (ci // groups) + rc).astype(out_dtype)
        return te.sum(x * weight(*window, rc, c).astype(out_dtype), axis=[*window, rc])

    # the names of the axes are those of the parameters
    by_name: dict[int, Callable[..., Any]] = {
        1: lambda n, l, co: element(n, l, co),
        2: lambda n, h, w, co: element(n, h, w, co),
        3: lambda n, d, h, w, co: element(n, d, h, w, co),
    }
    return inputs, weight, te.compute((batch, *out, co), by_name[dims], name=name)


def conv1d_nlc(
    N: int, L: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0,
    dilation: int = 1, groups: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """A convolution over a line."""
    options = (kernel_size, stride, padding, dilation, groups)
    return _conv_nd("conv1d_nlc", [L], (N, CI, CO), options, (in_dtype, out_dtype))


def conv2d_nhwc(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0,
    dilation: int = 1, groups: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """A convolution over an image."""
    options = (kernel_size, stride, padding, dilation, groups)
    return _conv_nd("conv2d_nhwc", [H, W], (N, CI, CO), options, (in_dtype, out_dtype))


def conv3d_ndhwc(
    N: int, D: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1,
    padding: int = 0, dilation: int = 1, groups: int = 1, in_dtype: str = "float32",
    out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """A convolution over a volume."""
    options = (kernel_size, stride, padding, dilation, groups)
    return _conv_nd("conv3d_ndhwc", [D, H, W], (N, CI, CO), options, (in_dtype, out_dtype))


def depthwise_conv2d_nhwc(
    N: int, H: int, W: int, C: int, kernel_size: int, stride: int = 1, padding: int = 0,
    dilation: int = 1, factor: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """A convolution of each channel on its own."""
    inputs = te.placeholder((N, H, W, C), dtype=in_dtype)
    weight = te.placeholder((factor, kernel_size, kernel_size, C), dtype=in_dtype)
    oh, ow = ((n + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1 for n in (H, W))
    rh = te.reduce_axis((0, kernel_size), name="rh")
    rw = te.reduce_axis((0, kernel_size), name="rw")
    padded = nn.pad(inputs, [0, padding, padding, 0])
    output = te.compute(
        (N, oh, ow, C * factor),
        lambda n, h, w, c: te.sum(
            padded[
                n, h * stride + rh * dilation, w * stride + rw * dilation, c // factor
            ].astype(out_dtype)
            * weight[c % factor, rh, rw, c // factor].astype(out_dtype),
            axis=[rh, rw],
        ),
        name="depth_conv2d_nhwc",
    )
    return inputs, weight, output


def conv2d_transpose_nhwc(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0,
    in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """A transposed convolution; zeros between the inputs are left to a condition."""
    inputs = te.placeholder((N, H, W, CI), name="inputs", dtype=in_dtype)
    weight = te.placeholder((kernel_size, kernel_size, CI, CO), name="weight", dtype=in_dtype)
    top, left, bottom, right = nn.utils.get_pad_tuple(padding, (kernel_size, kernel_size))
    before = [kernel_size - 1 - int(p) for p in (top, left)]
    after = [kernel_size - 1 - int(p) for p in (bottom, right)]
    padded = nn.pad(
        inputs,
        [0, *((b + stride - 1) // stride for b in before), 0],
        [0, *((a + stride - 1) // stride for a in after), 0],
    )
    border_h, border_w = ((stride - b % stride) % stride for b in before)

    def spread(n: Any, h: Any, w: Any, c: Any) -> Any:
        """The input with zeros between its elements."""
        if stride == 1:
            return padded(n, h, w, c)
        inside = te.all((h % stride).equal(0), (w % stride).equal(0))
        value = padded(n, h // stride, w // stride, c)
        return te.if_then_else(inside, value, tir.const(0.0, padded.dtype))

    out_h = (H - 1) * stride - int(top) - int(bottom) + kernel_size
    out_w = (W - 1) * stride - int(left) - int(right) + kernel_size
    rc = te.reduce_axis((0, CI), name="rc")
    rh = te.reduce_axis((0, kernel_size), name="rh")
    rw = te.reduce_axis((0, kernel_size), name="rw")
    output = te.compute(
        (N, out_h, out_w, CO),
        lambda n, h, w, co: te.sum(
            spread(n, h + rh + border_h, w + rw + border_w, rc).astype(out_dtype)
            * weight[kernel_size - 1 - rh, kernel_size - 1 - rw, rc, co].astype(out_dtype),
            axis=[rh, rw, rc],
        ),
        name="conv2d_transpose_nhwc",
    )
    return inputs, weight, output


def conv2d_capsule_nhwijc(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0,
    capsule_size: int = 4, in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """A convolution whose elements are matrices."""
    size = capsule_size
    inputs = te.placeholder((N, H, W, size, size, CI), name="inputs", dtype=in_dtype)
    weight = te.placeholder(
        (kernel_size, kernel_size, size, size, CI, CO), name="weight", dtype=in_dtype
    )
    oh, ow = ((n + 2 * padding - kernel_size) // stride + 1 for n in (H, W))
    rh = te.reduce_axis((0, kernel_size), name="rh")
    rw = te.reduce_axis((0, kernel_size), name="rw")
    cap_k = te.reduce_axis((0, size), name="cap_k")
    rc = te.reduce_axis((0, CI), name="rc")
    padded = nn.pad(inputs, [0, padding, padding, 0, 0, 0])
    output = te.compute(
        (N, oh, ow, size, size, CO),
        lambda n, h, w, cap_i, cap_j, co: te.sum(
            padded[n, h * stride + rh, w * stride + rw, cap_i, cap_k, rc].astype(out_dtype)
            * weight[rh, rw, cap_k, cap_j, rc, co].astype(out_dtype),
            axis=[rh, rw, cap_k, rc],
        ),
        name="conv2d_capsule_nhwijc",
    )
    return inputs, weight, output


def norm_bmn(B: int, M: int, N: int) -> Tensors:
    """The norm of each matrix of a batch.   (b, m, n) -> (b)"""
    a = te.placeholder((B, M, N), name="A")
    i = te.reduce_axis((0, M), name="i")
    j = te.reduce_axis((0, N), name="j")
    c = te.compute((B,), lambda b: te.sum(a[b, i, j] * a[b, i, j], axis=[i, j]), name="C")
    d = te.compute((B,), lambda b: te.sqrt(c[b]), name="D")
    return a, d


def conv2d_nhwc_without_layout_rewrite(
    Input: te.Tensor, Filter: te.Tensor, stride: int, padding: int, dilation: int,
    out_dtype: str = "float32",
) -> te.Tensor:  # fmt: skip
    """The convolution of `topi.nn.conv2d_nhwc`, whose weight stays as it lies."""
    batch, height, width, channels = (get_const_int(d) for d in Input.shape)
    kernel_h, kernel_w, _, filters = (get_const_int(d) for d in Filter.shape)
    reach = [(k - 1) * dilation + 1 for k in (kernel_h, kernel_w)]
    top, left, bottom, right = (int(p) for p in nn.utils.get_pad_tuple(padding, reach))
    out_h = (height - reach[0] + top + bottom) // stride + 1
    out_w = (width - reach[1] + left + right) // stride + 1
    padded = nn.pad(Input, [0, top, left, 0], [0, bottom, right, 0], name="PaddedInput")
    rc = te.reduce_axis((0, channels), name="rc")
    ry = te.reduce_axis((0, kernel_h), name="ry")
    rx = te.reduce_axis((0, kernel_w), name="rx")
    output: te.Tensor = te.compute(
        (batch, out_h, out_w, filters),
        lambda nn, yy, xx, ff: te.sum(
            padded[
                nn, yy * stride + ry * dilation, xx * stride + rx * dilation, rc
            ].astype(out_dtype)
            * Filter[ry, rx, rc, ff].astype(out_dtype),
            axis=[ry, rx, rc],
        ),
        name="Conv2dOutput",
        tag="conv2d_nhwc",
    )
    return output


def conv2d_nhwc_bn_relu(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, strides: int, padding: int,
    dilation: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """A convolution with bias, batch norm and relu."""
    data = te.placeholder((N, H, W, CI), name="data", dtype=in_dtype)
    kernel = te.placeholder((kernel_size, kernel_size, CI, CO), name="kernel", dtype=in_dtype)
    bias = te.placeholder((CO,), name="bias")
    bn_scale = te.placeholder((CO,), name="bn_scale")
    bn_offset = te.placeholder((CO,), name="bn_offset")
    conv = conv2d_nhwc_without_layout_rewrite(data, kernel, strides, padding, dilation, out_dtype)
    shape = conv.shape
    added = te.compute(shape, lambda i, j, k, l: conv[i, j, k, l] + bias[l], name="bias_add")
    scaled = te.compute(shape, lambda i, j, k, l: added[i, j, k, l] * bn_scale[l], name="bn_mul")
    moved = te.compute(shape, lambda i, j, k, l: scaled[i, j, k, l] + bn_offset[l], name="bn_add")
    return data, kernel, bias, bn_offset, bn_scale, nn.relu(moved)


def transpose_batch_matmul(
    batch: int, seq_len: int, n_head: int, n_dim: int, in_dtype: str = "float32",
    out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """The products of queries and values of attention, each head on its own."""
    shape = (batch, seq_len, n_head, n_dim)
    query = te.placeholder(shape, name="query", dtype=in_dtype)
    value = te.placeholder(shape, name="value", dtype=in_dtype)
    query_t = te.compute(
        (batch, n_head, seq_len, n_dim), lambda b, h, l, d: query[b, l, h, d], name="query_T"
    )
    value_t = te.compute(
        (batch, n_head, n_dim, seq_len), lambda b, h, d, l: value[b, l, h, d], name="value_T"
    )
    k = te.reduce_axis((0, n_dim), name="k")
    out = te.compute(
        (batch, n_head, seq_len, seq_len),
        lambda b, h, i, j: te.sum(
            query_t[b, h, i, k].astype(out_dtype) * value_t[b, h, k, j].astype(out_dtype),
            axis=[k],
        ),
        name="C",
    )
    return query, value, out


def conv2d_winograd_nhwc(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0,
    dilation: int = 1, tile_size: int = 4,
) -> Tensors:  # fmt: skip
    """A convolution by Winograd's algorithm, whose weight was transformed before.

    `kernel_size` is that of the transformed weight: 6 for 3x3 and tiles of 4 by 4 results.
    """
    data = te.placeholder((N, H, W, CI), name="data")
    weight = te.placeholder((kernel_size, kernel_size, CO, CI), name="weight")
    out = nn.conv2d_winograd_nhwc_without_weight_transform(
        data, weight, stride, padding, dilation, "float32"
    )
    return data, weight, out


def matmul(
    n: int, m: int, k: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> Tensors:
    """(n, k), (k, m) -> (n, m)"""
    a = te.placeholder((n, k), name="A", dtype=in_dtype)
    b = te.placeholder((k, m), name="B", dtype=in_dtype)
    r = te.reduce_axis((0, k), name="k")
    c = te.compute(
        (n, m),
        lambda i, j: te.sum(a[i, r].astype(out_dtype) * b[r, j].astype(out_dtype), axis=[r]),
        name="C",
    )
    return a, b, c


def matmul_relu(
    n: int, m: int, k: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> Tensors:
    """`matmul`, no element below zero."""
    a, b, c = matmul(n, m, k, in_dtype, out_dtype)
    return a, b, nn.relu(c)


def conv2d_nchw(
    n: int, h: int, w: int, ci: int, co: int, kh: int, kw: int, stride: int, padding: int,
    dilation: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """A convolution with channels first."""
    x = te.placeholder((n, ci, h, w), name="X", dtype=in_dtype)
    weight = te.placeholder((co, ci, kh, kw), name="W", dtype=in_dtype)
    y = nn.conv2d_nchw(x, weight, stride, padding, dilation, out_dtype)
    return x, weight, y


def conv2d_nchw_bias_bn_relu(
    n: int, h: int, w: int, ci: int, co: int, kh: int, kw: int, stride: int, padding: int,
    dilation: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """A convolution with channels first, with bias, batch norm and relu."""
    x, weight, y = conv2d_nchw(
        n, h, w, ci, co, kh, kw, stride, padding, dilation, in_dtype, out_dtype
    )
    b = te.placeholder((co, 1, 1), name="B", dtype=out_dtype)
    bn_s = te.placeholder((co, 1, 1), name="S", dtype=out_dtype)
    bn_o = te.placeholder((co, 1, 1), name="O", dtype=out_dtype)
    shape = y.shape
    added = te.compute(shape, lambda i, j, k, l: y[i, j, k, l] + b[j, 0, 0], name="bias_add")
    scaled = te.compute(shape, lambda i, j, k, l: added[i, j, k, l] * bn_s[j, 0, 0], name="bn_mul")
    moved = te.compute(shape, lambda i, j, k, l: scaled[i, j, k, l] + bn_o[j, 0, 0], name="bn_add")
    return x, weight, b, bn_s, bn_o, nn.relu(moved)


def max_pool2d_nchw(n: int, h: int, w: int, ci: int, padding: int) -> Tensors:
    """The maxima of windows of 2 x 2."""
    x = te.placeholder((n, ci, h, w), name="X")
    y = nn.pool2d(x, [2, 2], [1, 1], [1, 1], [padding] * 4, "max")
    return x, y


def softmax_mn(m: int, n: int) -> Tensors:
    """The softmax of each row."""
    a = te.placeholder((m, n), name="A")
    return a, nn.softmax(a, axis=1)


CONFIGS: Final[dict[str, tuple[Callable[..., Tensors], list[tuple[int, ...]]]]] = {
    "C1D": (conv1d_nlc, [
        (1, 256, 64, 128, 3, 2, 1), (1, 128, 128, 256, 1, 2, 0),
        (1, 64, 256, 256, 5, 1, 2), (1, 32, 512, 512, 3, 1, 1),
    ]),
    "C2D": (conv2d_nhwc, [
        (1, 224, 224, 3, 64, 7, 2, 3), (1, 56, 56, 64, 64, 1, 1, 0),
        (1, 14, 14, 256, 256, 3, 1, 1), (1, 7, 7, 512, 512, 3, 1, 1),
    ]),
    "C3D": (conv3d_ndhwc, [
        (1, 16, 224, 224, 3, 64, 7, 2, 3), (1, 16, 56, 56, 64, 64, 1, 1, 0),
        (1, 16, 14, 14, 256, 256, 3, 1, 1), (1, 16, 7, 7, 512, 512, 3, 1, 1),
    ]),
    "CAP": (conv2d_capsule_nhwijc, [
        (1, 16, 16, 32, 32, 3, 2, 1), (1, 8, 8, 32, 32, 3, 1, 1),
        (1, 16, 16, 8, 16, 3, 2, 1), (1, 8, 8, 16, 16, 3, 1, 1),
    ]),
    "DEP": (depthwise_conv2d_nhwc, [
        (1, 112, 112, 32, 3, 1, 1), (1, 112, 112, 64, 3, 2, 1),
        (1, 14, 14, 512, 3, 2, 1), (1, 7, 7, 1024, 3, 1, 1),
    ]),
    "DIL": (conv2d_nhwc, [
        (1, 224, 224, 3, 64, 7, 2, 3, 2), (1, 56, 56, 64, 64, 1, 1, 0, 2),
        (1, 14, 14, 256, 256, 3, 1, 1, 2), (1, 7, 7, 512, 512, 3, 1, 1, 2),
    ]),
    "GMM": (batch_matmul_nkkm, [
        (1, 128, 128, 128), (1, 512, 32, 512),
        (1, 512, 512, 512), (1, 1024, 1024, 1024),
    ]),
    "GRP": (conv2d_nhwc, [
        (1, 56, 56, 64, 128, 3, 2, 1, 1, 4), (1, 56, 56, 64, 64, 1, 1, 0, 1, 4),
        (1, 14, 14, 256, 256, 3, 1, 1, 1, 4), (1, 7, 7, 512, 512, 3, 1, 1, 1, 4),
    ]),
    "T2D": (conv2d_transpose_nhwc, [
        (1, 4, 4, 512, 256, 4, 2, 1), (1, 8, 8, 256, 128, 4, 2, 1),
        (1, 16, 16, 128, 64, 4, 2, 1), (1, 32, 32, 64, 3, 4, 2, 1),
    ]),
    "CBR": (conv2d_nhwc_bn_relu, [
        (1, 224, 224, 3, 64, 7, 2, 3), (1, 56, 56, 64, 128, 3, 2, 1),
        (1, 28, 28, 128, 256, 1, 2, 0), (1, 7, 7, 512, 512, 3, 1, 1),
    ]),
    "TBG": (transpose_batch_matmul, [
        (1, 128, 12, 64), (1, 128, 16, 64),
        (1, 64, 12, 128), (1, 128, 12, 128),
    ]),
    "NRM": (norm_bmn, [(1, 256, 256), (1, 512, 512), (1, 1024, 1024), (1, 4096, 1024)]),
    "SFM": (softmax_mn, [(256, 256), (512, 512), (1024, 1024), (2048, 2048)]),
    "C2D_WIN_NHWC": (conv2d_winograd_nhwc, [(1, 14, 14, 128, 128, 6)]),
}


def create_te_workload(name: str, idx: int) -> PrimFunc:
    """The kernel of the `idx`-th size of a named workload."""
    if name not in CONFIGS:
        raise ValueError(
            f"no workload {name!r}{did_you_mean(name, CONFIGS)}; legal: {', '.join(CONFIGS)}"
        )
    workload, sizes = CONFIGS[name]
    return te.create_prim_func(list(workload(*sizes[idx])))
