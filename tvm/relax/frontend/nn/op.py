"""Operators on `nn.Tensor`: each binds its result, under a name, in the function at hand.

They are the operators of Relax (`relax.op`) with the arguments that users of networks expect; see
there for shapes and dtypes. Functions of TIR, tensor expressions and functions outside of Relax
are called by `tensor_ir_op`, `tensor_expr_op`, `extern`; what looks at values while a network
runs, by `print_` and `debug_func`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tvm import relax as rx
from tvm import tir
from tvm.error import AssumptionError, message
from tvm.relax import op as _op
from tvm.support.arguments import explained

from .call import (
    debug_func,
    extern,
    print_,
    tensor_expr_op,
    tensor_ir_inplace_op,
    tensor_ir_op,
)
from .core import Tensor, get_default_dtype, wrap_nested, wrap_tensor
from .sampling import (
    multinomial_from_uniform,
    renormalize_top_p_top_k_prob,
    sample_top_p_top_k_from_sorted_prob,
)

IntExpr: TypeAlias = "int | tir.PrimExpr"

__all__ = [
    "add", "arange", "argsort", "astype", "broadcast_to", "ccl_allgather", "ccl_allreduce",
    "ccl_broadcast_from_worker0", "chunk", "concat", "conv1d", "conv1d_transpose", "conv2d",
    "conv3d", "cumsum", "debug_func", "divide", "empty", "equal", "exp", "extern", "floor", "full",
    "gelu", "get_timestep_embedding", "greater", "greater_equal",
    "group_norm", "interpolate", "layer_norm", "less", "less_equal", "log", "matmul", "max",
    "maximum", "min", "minimum", "multinomial_from_uniform", "multiply", "negative", "not_equal",
    "ones", "pad", "permute", "permute_dims", "prelu", "print_", "relu", "relu6",
    "renormalize_top_p_top_k_prob", "repeat", "reshape", "rms_norm",
    "sample_top_p_top_k_from_sorted_prob", "scaled_dot_product_attention", "sigmoid", "silu",
    "softmax", "softplus", "sort", "split", "sqrt", "square", "squeeze", "subtract", "sum",
    "take", "tanh", "tensor_expr_op", "tensor_ir_inplace_op", "tensor_ir_op", "topk", "triu",
    "unsqueeze", "where", "zeros",
]  # fmt: skip


# --- arithmetic ---


@explained
def add(a: Tensor, b: Tensor, name: str = "add") -> Tensor:
    """a + b."""
    return wrap_tensor(_op.add(a._expr, b._expr), name)


@explained
def subtract(a: Tensor, b: Tensor, name: str = "subtract") -> Tensor:
    """a - b."""
    return wrap_tensor(_op.subtract(a._expr, b._expr), name)


@explained
def multiply(a: Tensor, b: Tensor, name: str = "mul") -> Tensor:
    """a * b."""
    return wrap_tensor(_op.multiply(a._expr, b._expr), name)


@explained
def divide(a: Tensor, b: Tensor, name: str = "divide") -> Tensor:
    """a / b."""
    return wrap_tensor(_op.divide(a._expr, b._expr), name)


@explained
def maximum(x1: Tensor, x2: Tensor, name: str = "maximum") -> Tensor:
    """The larger of two elements, each."""
    return wrap_tensor(_op.maximum(x1._expr, x2._expr), name)


@explained
def minimum(x1: Tensor, x2: Tensor, name: str = "minimum") -> Tensor:
    """The smaller of two elements, each."""
    return wrap_tensor(_op.minimum(x1._expr, x2._expr), name)


@explained
def less(a: Tensor, b: Tensor, name: str = "less") -> Tensor:
    """a < b."""
    return wrap_tensor(_op.less(a._expr, b._expr), name)


@explained
def less_equal(a: Tensor, b: Tensor, name: str = "less_equal") -> Tensor:
    """a <= b."""
    return wrap_tensor(_op.less_equal(a._expr, b._expr), name)


@explained
def greater(a: Tensor, b: Tensor, name: str = "greater") -> Tensor:
    """a > b."""
    return wrap_tensor(_op.greater(a._expr, b._expr), name)


@explained
def greater_equal(a: Tensor, b: Tensor, name: str = "greater_equal") -> Tensor:
    """a >= b."""
    return wrap_tensor(_op.greater_equal(a._expr, b._expr), name)


@explained
def equal(a: Tensor, b: Tensor, name: str = "equal") -> Tensor:
    """a == b, element by element."""
    return wrap_tensor(_op.equal(a._expr, b._expr), name)


@explained
def not_equal(a: Tensor, b: Tensor, name: str = "not_equal") -> Tensor:
    """a != b, element by element."""
    return wrap_tensor(_op.not_equal(a._expr, b._expr), name)


@explained
def where(condition: Tensor, x1: Tensor, x2: Tensor, name: str = "where") -> Tensor:
    """x1 where the condition holds (is not 0), x2 elsewhere."""
    holds = astype(condition, "bool")  # the operator takes conditions of bool
    return wrap_tensor(_op.where(holds._expr, x1._expr, x2._expr), name)


@explained
def negative(x: Tensor, name: str = "neg") -> Tensor:
    """-x."""
    return wrap_tensor(_op.negative(x._expr), name)


@explained
def square(x: Tensor, name: str = "square") -> Tensor:
    """x * x."""
    return wrap_tensor(_op.square(x._expr), name)


@explained
def sqrt(x: Tensor, name: str = "sqrt") -> Tensor:
    """The square root."""
    return wrap_tensor(_op.sqrt(x._expr), name)


@explained
def exp(x: Tensor, name: str = "exp") -> Tensor:
    """The exponential."""
    return wrap_tensor(_op.exp(x._expr), name)


@explained
def log(x: Tensor, name: str = "log") -> Tensor:
    """The natural logarithm."""
    return wrap_tensor(_op.log(x._expr), name)


@explained
def floor(x: Tensor, name: str = "floor") -> Tensor:
    """The largest integer that is not above."""
    return wrap_tensor(_op.floor(x._expr), name)


@explained
def tanh(x: Tensor, name: str = "tanh") -> Tensor:
    """The hyperbolic tangent."""
    return wrap_tensor(_op.tanh(x._expr), name)


@explained
def sigmoid(x: Tensor, name: str = "sigmoid") -> Tensor:
    """1 / (1 + exp(-x))."""
    return wrap_tensor(_op.sigmoid(x._expr), name)


@explained
def astype(x: Tensor, dtype: str, name: str = "astype") -> Tensor:
    """The elements in another dtype; `x` itself if it has it."""
    if x.dtype == dtype:
        return x
    return wrap_tensor(_op.astype(x._expr, dtype), name)


@explained
def matmul(a: Tensor, b: Tensor, out_dtype: str | None = None, name: str = "matmul") -> Tensor:
    """The matrix product (..., n, k) @ (..., k, m), batches broadcast."""
    return wrap_tensor(_op.matmul(a._expr, b._expr, out_dtype=out_dtype), name)


# --- reductions and orders ---


@explained
def sum(
    x: Tensor, axis: int | list[int] | None = None, keepdims: bool = False, name: str = "sum"
) -> Tensor:
    """The sum along axes, or of all elements."""
    return wrap_tensor(_op.sum(x._expr, axis, keepdims), name)


@explained
def max(
    x: Tensor, axis: int | list[int] | None = None, keepdims: bool = False, name: str = "max"
) -> Tensor:
    """The largest element along axes, or of all."""
    return wrap_tensor(_op.max(x._expr, axis, keepdims), name)


@explained
def min(
    x: Tensor, axis: int | list[int] | None = None, keepdims: bool = False, name: str = "min"
) -> Tensor:
    """The smallest element along axes, or of all."""
    return wrap_tensor(_op.min(x._expr, axis, keepdims), name)


@explained
def cumsum(
    data: Tensor,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
    name: str = "cumsum",
) -> Tensor:
    """Sums of the elements up to each; without an axis, of all in a row."""
    return wrap_tensor(_op.cumsum(data._expr, axis, dtype, bool(exclusive)), name)


@explained
def sort(x: Tensor, axis: int = -1, descending: bool = False, name: str = "sort") -> Tensor:
    """The elements in order along an axis."""
    return wrap_tensor(_op.sort(x._expr, axis, descending), name)


@explained
def argsort(
    data: Tensor,
    axis: int = -1,
    descending: bool = False,
    dtype: str = "int32",
    name: str = "argsort",
) -> Tensor:
    """The positions that put the elements in order along an axis."""
    return wrap_tensor(_op.argsort(data._expr, axis, descending, dtype), name)


@explained
def topk(
    data: Tensor,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: str = "int32",
    name: str = "topk",
) -> Any:
    """The `k` largest (or smallest) elements along an axis: "both", "values" or "indices"."""
    return wrap_nested(_op.topk(data._expr, k, axis, ret_type, largest, dtype), name)


# --- shapes ---


@explained
def unsqueeze(x: Tensor, dim: int, name: str = "unsqueeze") -> Tensor:
    """With an axis of extent 1 more."""
    return wrap_tensor(_op.expand_dims(x._expr, dim), name)


@explained
def squeeze(x: Tensor, axis: int = -1, name: str = "squeeze") -> Tensor:
    """Without an axis of extent 1."""
    return wrap_tensor(_op.squeeze(x._expr, axis), name)


@explained
def concat(x: list[Tensor], dim: int, name: str = "concat") -> Tensor:
    """Tensors behind each other along an axis."""
    return wrap_tensor(_op.concat([part._expr for part in x], axis=dim), name)


@explained
def chunk(x: Tensor, chunks: int, dim: int = 0, name: str = "chunk") -> tuple[Tensor, ...]:
    """Equal parts along an axis."""
    parts: tuple[Tensor, ...] = wrap_nested(_op.split(x._expr, chunks, dim), name)
    return parts


@explained
def split(
    ary: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0, name: str = "split"
) -> tuple[Tensor, ...]:
    """Parts along an axis: a number of equal ones, or those between indices."""
    parts: tuple[Tensor, ...] = wrap_nested(
        _op.split(ary._expr, indices_or_sections, axis), name
    )
    return parts


@explained
def broadcast_to(x: Tensor, shape: Sequence[IntExpr], name: str = "broadcast_to") -> Tensor:
    """The elements repeated to a shape."""
    return wrap_tensor(_op.broadcast_to(x._expr, shape), name)


@explained
def permute_dims(x: Tensor, axes: list[int] | None = None, name: str | None = None) -> Tensor:
    """The axes in another order; reversed if none is given.

    Without a name, the weight `linear_1` of a product becomes `matmul_1`.
    """
    if name is None:
        known = x._expr.name_hint if isinstance(x._expr, rx.Var) else ""
        name = known.replace("linear", "matmul") if "linear" in known else "permute_dims"
    return wrap_tensor(_op.permute_dims(x._expr, axes=axes), name)


@explained
def permute(x: Tensor, axes: list[int] | None, name: str = "permute") -> Tensor:
    """The axes in another order; reversed if none is given."""
    return wrap_tensor(_op.permute_dims(x._expr, axes=axes), name)


@explained
def reshape(x: Tensor, shape: Sequence[IntExpr], name: str = "reshape") -> Tensor:
    """The elements in another shape; one extent may be -1."""
    return wrap_tensor(_op.reshape(x._expr, shape), name)


@explained
def repeat(x: Tensor, repeats: int, axis: int | None = None, name: str = "repeat") -> Tensor:
    """Each element some times, along an axis, or all in a row."""
    return wrap_tensor(_op.repeat(x._expr, repeats, axis), name)


@explained
def take(x: Tensor, indices: Tensor, axis: int | None = None, name: str = "take") -> Tensor:
    """The elements at indices along an axis."""
    return wrap_tensor(_op.take(x._expr, indices._expr, axis), name)


@explained
def pad(
    x: Tensor, pad: list[int], mode: str = "constant", value: float = 0.0, name: str = "pad"
) -> Tensor:
    """Elements around: how many before and after, for each axis in order."""
    return wrap_tensor(_op.nn.pad(x._expr, pad_width=pad, pad_mode=mode, pad_value=value), name)


@explained
def triu(x: Tensor, diagonal: int = 0, name: str = "triu") -> Tensor:
    """The elements on and above a diagonal, zeros below."""
    return wrap_tensor(_op.triu(x._expr, diagonal), name)


# --- new tensors ---


@explained
def arange(
    start: int,
    end: int | None = None,
    step: int = 1,
    dtype: str | None = "float32",
    name: str = "arange",
) -> Tensor:
    """The numbers from `start` to `end`, or from 0 to `start`."""
    return wrap_tensor(_op.arange(start, end, step, dtype), name)


@explained
def full(
    shape: Sequence[IntExpr], fill_value: Tensor, dtype: str = "float32", name: str = "full"
) -> Tensor:
    """A tensor of one value."""
    value: Any = fill_value  # a number will do as well
    if isinstance(value, (tir.IntImm, tir.FloatImm)):
        value = value.value
    value = rx.const(value, dtype=dtype) if isinstance(value, (int, float)) else value._expr
    return wrap_tensor(_op.full(shape, value, dtype), name)


@explained
def zeros(shape: Sequence[IntExpr], dtype: str = "float32", name: str = "zeros") -> Tensor:
    """A tensor of zeros."""
    return wrap_tensor(_op.zeros(shape, dtype), name)


@explained
def ones(shape: Sequence[IntExpr], dtype: str = "float32", name: str = "ones") -> Tensor:
    """A tensor of ones."""
    return wrap_tensor(_op.ones(shape, dtype), name)


@explained
def empty(shape: Sequence[IntExpr], dtype: str = "float32", name: str = "empty") -> Tensor:
    """A tensor whose values are not set."""
    return wrap_tensor(_op.builtin.alloc_tensor(rx.ShapeExpr(shape), dtype, 0), name)


# --- convolutions ---


@explained
def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, ...] | None = 1,
    padding: int | tuple[int, ...] | str | None = 0,
    dilation: int | tuple[int, ...] | None = 1,
    groups: int | None = 1,
    name: str = "conv1d",
) -> Tensor:
    """A convolution of (n, c, w) with (o, c / groups, k), and a bias (o,)."""
    return _conv(
        _op.nn.conv1d, x, weight, bias, stride, padding, dilation, groups, "NCW", name
    )



@explained
def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, ...] | None = 1,
    padding: int | tuple[int, ...] | str | None = 0,
    dilation: int | tuple[int, ...] | None = 1,
    groups: int | None = 1,
    data_layout: str | None = "NCHW",
    name: str = "conv2d",
) -> Tensor:
    """A convolution of pictures with (o, c / groups, k, k), and a bias (o,)."""
    layout = data_layout or "NCHW"
    return _conv(
        _op.nn.conv2d, x, weight, bias, stride, padding, dilation, groups, layout, name
    )



@explained
def conv3d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, ...] | None = 1,
    padding: int | tuple[int, ...] | str | None = 0,
    dilation: int | tuple[int, ...] | None = 1,
    groups: int | None = 1,
    data_layout: str | None = "NCDHW",
    name: str = "conv3d",
) -> Tensor:
    """A convolution of volumes with (o, c / groups, k, k, k), and a bias (o,)."""
    layout = data_layout or "NCDHW"
    return _conv(
        _op.nn.conv3d, x, weight, bias, stride, padding, dilation, groups, layout, name
    )



@explained
def conv1d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int] | None = 1,
    padding: int | tuple[int, ...] | None = 0,
    output_padding: int | tuple[int] | None = 0,
    dilation: int | tuple[int, ...] | None = 1,
    groups: int | None = 1,
    name: str = "conv1d_transpose",
) -> Tensor:
    """A transposed convolution of (n, c, w) with (c, o / groups, k), and a bias (o,)."""
    out = _op.nn.conv1d_transpose(
        x._expr, weight._expr, strides=stride, padding=padding, output_padding=output_padding,
        dilation=dilation, groups=groups or 1,
    )  # fmt: skip
    return wrap_tensor(_with_bias(out, bias, [1, -1, 1]), name)


def _conv(
    op: Any, x: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any,
    dilation: Any, groups: int | None, layout: str, name: str,
) -> Tensor:  # fmt: skip
    """A convolution over the axes of a layout behind n and c, and its bias."""
    out = op(
        x._expr, weight._expr, strides=stride,
        padding=_padding(padding, weight, len(layout) - 2, stride), dilation=dilation,
        data_layout=layout, groups=groups or 1,
    )  # fmt: skip
    return wrap_tensor(_with_bias(out, bias, [-1 if c == "C" else 1 for c in layout]), name)


def _padding(padding: Any, weight: Tensor, ndim: int, stride: Any) -> Any:
    """Padding as numbers; "valid" is none, "same" keeps the size with a stride of 1."""
    if not isinstance(padding, str):
        return padding
    if padding == "valid":
        return 0
    strides = stride if isinstance(stride, (list, tuple)) else [stride]
    if padding != "same" or any(step not in (1, None) for step in strides):
        raise ValueError(
            message("padding of a convolution", found=f"{padding!r} with stride {stride}",
                    legal="'valid', 'same' with a stride of 1, or numbers")
        )  # fmt: skip
    extents: Any = weight.shape[-ndim:]
    sizes = [int(size) for size in extents]
    return [*((size - 1) // 2 for size in sizes), *(size // 2 for size in sizes)]


def _with_bias(out: rx.Expr, bias: Tensor | None, shape: list[int]) -> rx.Expr:
    return out if bias is None else _op.add(out, _op.reshape(bias._expr, shape))


# --- layers ---


@explained
def relu(x: Tensor, name: str = "relu") -> Tensor:
    """max(x, 0)."""
    return wrap_tensor(_op.nn.relu(x._expr), name)


@explained
def relu6(x: Tensor, name: str = "relu6") -> Tensor:
    """x, cut to 0 ... 6."""
    return wrap_tensor(_op.nn.relu6(x._expr), name)


@explained
def silu(x: Tensor, name: str = "silu") -> Tensor:
    """x * sigmoid(x)."""
    return wrap_tensor(_op.nn.silu(x._expr), name)


@explained
def gelu(x: Tensor, approximate: str | None = None, name: str = "gelu") -> Tensor:
    """x times the normal distribution's share below it; `approximate="tanh"` by a tanh."""
    if approximate not in (None, "none", "tanh"):
        raise ValueError(
            message("gelu: approximate", found=repr(approximate), legal="None, 'none' or 'tanh'")
        )
    out = _op.nn.gelu_tanh(x._expr) if approximate == "tanh" else _op.nn.gelu(x._expr)
    return wrap_tensor(out, name)


@explained
def softmax(x: Tensor, axis: int = -1, name: str = "softmax") -> Tensor:
    """Exponentials that sum to 1 along an axis."""
    return wrap_tensor(_op.nn.softmax(x._expr, axis), name)


@explained
def softplus(
    x: Tensor, beta: float = 1.0, threshold: float = 20.0, name: str = "softplus"
) -> Tensor:
    """log(1 + exp(beta x)) / beta, and x itself above the threshold."""
    return wrap_tensor(_op.nn.softplus(x._expr, beta=beta, threshold=threshold), name)


@explained
def prelu(x: Tensor, alpha: Tensor, name: str = "prelu") -> Tensor:
    """x above 0, alpha x below."""
    return wrap_tensor(_op.nn.prelu(x._expr, alpha._expr), name)


@explained
def layer_norm(
    x: Tensor,
    normalized_shape: int | list[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    name: str = "layer_norm",
) -> Tensor:
    """The last axes, as many as `normalized_shape` has, with mean 0 and variance 1."""
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    gamma = rx.const(np.ones(shape), x.dtype) if weight is None else weight._expr
    beta = rx.const(np.zeros(shape), x.dtype) if bias is None else bias._expr
    axes = list(range(-len(shape), 0))
    return wrap_tensor(_op.nn.layer_norm(x._expr, gamma, beta, axes=axes, epsilon=eps), name)


@explained
def rms_norm(
    x: Tensor,
    weight: Tensor,
    axes: int | list[int],
    epsilon: float = 1e-5,
    name: str = "rms_norm",
) -> Tensor:
    """x over its root mean square along axes, times the weight."""
    return wrap_tensor(_op.nn.rms_norm(x._expr, weight._expr, axes, epsilon), name)


@explained
def group_norm(
    x: Tensor,
    num_groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float = 1e-5,
    channel_axis: int = 1,
    axes: list[int] | None = None,
    name: str = "group_norm",
) -> Tensor:
    """Each group of channels with mean 0 and variance 1, over `axes` (all behind channels)."""
    channels = x.shape[channel_axis]
    gamma = rx.const(np.ones(channels), x.dtype) if weight is None else weight._expr
    beta = rx.const(np.zeros(channels), x.dtype) if bias is None else bias._expr
    over = list(range(2, x.ndim)) if axes is None else axes
    out = _op.nn.group_norm(x._expr, gamma, beta, num_groups=num_groups,
                            channel_axis=channel_axis, axes=over, epsilon=eps)  # fmt: skip
    return wrap_tensor(out, name)


@explained
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool | None = False,
    scale: float | None = None,
    name: str = "scaled_dot_product_attention",
) -> Tensor:
    """softmax(query key^T scale + mask) value; operands (batch, sequence, heads, dimension)."""
    mask = None if attn_mask is None else attn_mask._expr
    out = _op.nn.attention(query._expr, key._expr, value._expr, mask, scale=scale,
                           causal_mask="TopLeft" if is_causal else None)  # fmt: skip
    return wrap_tensor(out, name)


@explained
def get_timestep_embedding(
    x: Tensor,
    embedding_dim: int,
    flip_sin_to_cos: bool = False,
    downscale_freq_shift: float = 1,
    scale: float = 1,
    max_period: int = 10000,
    name: str = "get_timestep_embedding",
) -> Tensor:
    """Sines and cosines of times at many frequencies (Ho et al. 2020): (n,) -> (n, dimension)."""
    dtype, half = "float32", embedding_dim // 2  # angles need the precision, whatever is returned
    times = _op.expand_dims(_op.astype(x._expr, dtype), axis=[1])
    exponents = _op.multiply(
        rx.const(-math.log(max_period), dtype), _op.arange(start=0, end=half, dtype=dtype)
    )
    exponents = _op.divide(exponents, rx.const(half - downscale_freq_shift, dtype))
    angles = _op.multiply(times, _op.expand_dims(_op.exp(exponents), axis=[0]))
    if scale != 1:
        angles = _op.multiply(rx.const(scale, dtype), angles)
    waves = [_op.sin(angles), _op.cos(angles)]
    out = _op.concat(waves[::-1] if flip_sin_to_cos else waves, axis=-1)
    if embedding_dim % 2 == 1:
        out = _op.nn.pad(out, (0, 0, 0, 1))
    return wrap_tensor(_op.astype(out, get_default_dtype()), name)


@explained
def interpolate(
    x: Tensor,
    size: int | tuple[int, ...] | None = None,
    scale_factor: float | tuple[float, ...] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool | None = None,
    data_layout: str | None = "NCHW",
    name: str = "interpolate",
) -> Tensor:
    """A picture in another size, given or by a factor; modes: nearest, bilinear, bicubic.

    The nearest point of one halfway is the one behind, as in `image.resize2d` with "round".
    """
    if recompute_scale_factor is not None or antialias is not None:
        raise AssumptionError(
            message("interpolate", found="recompute_scale_factor or antialias", legal="neither")
        )
    layout = data_layout or "NCHW"
    if size is None:
        spatial = [i for i, axis in enumerate(layout) if axis not in "NC"]
        factors = scale_factor if isinstance(scale_factor, (list, tuple)) else None
        if scale_factor is None or (factors is not None and len(factors) != len(spatial)):
            raise ValueError(
                message("interpolate", found=f"size {size}, scale_factor {scale_factor}",
                        legal="a size, or one factor for all or each of the axes")
            )  # fmt: skip
        extents: Any = x.shape
        size = tuple(
            int(extents[dim] * (factors[i] if factors is not None else scale_factor))
            for i, dim in enumerate(spatial)
        )
    method = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    if mode.startswith("nearest"):
        method, coordinates = "nearest_neighbor", "asymmetric"
    else:
        coordinates = "align_corners" if align_corners else "half_pixel"
    out = _op.image.resize2d(x._expr, size, layout=layout, method=method,
                             coordinate_transformation_mode=coordinates)  # fmt: skip
    return wrap_tensor(out, name)


# --- several workers ---


@explained
def ccl_allreduce(
    x: Tensor, op_type: str = "sum", in_group: bool = True, name: str = "ccl_allreduce"
) -> Tensor:
    """The sum (prod, min, max, avg) of the tensors of all workers."""
    return wrap_tensor(_op.ccl.allreduce(x._expr, op_type, in_group), name)


@explained
def ccl_allgather(x: Tensor, num_workers: int, name: str = "ccl_allgather") -> Tensor:
    """The tensors of all workers behind each other."""
    return wrap_tensor(_op.ccl.allgather(x._expr, num_workers), name)


@explained
def ccl_broadcast_from_worker0(x: Tensor, name: str = "broadcast_from_worker") -> Tensor:
    """The tensor of the first worker, for all."""
    return wrap_tensor(_op.ccl.broadcast_from_worker0(x._expr), name)
