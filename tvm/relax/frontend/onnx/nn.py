"""Neural network layers: convolution, pooling, normalisation, softmax."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tvm import tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant, PrimValue, Var
from tvm.relax.frontend.pools import max_pool_indices, within_data
from tvm.tir.expr import IntImm
from tvm.tir.op.arith import const
from tvm.topi.nn.conv3d_transpose import conv3d_transpose_ncdhw
from tvm.topi.nn.local_response_norm import lrn as local_response_norm

from .attributes import dtype_name
from .moving import padded
from .node import Node
from .registry import Result, convert
from .window import (
    auto_pad,
    kernel_extents,
    kernel_shape,
    padded_window,
    pads_vary,
    require_window,
    shared_out,
    window,
    with_channel_bias,
    with_one_window,
)

_CONVOLUTIONS = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}
_TRANSPOSED = {1: op.nn.conv1d_transpose, 2: op.nn.conv2d_transpose}
_MAX_POOLS = {1: op.nn.max_pool1d, 2: op.nn.max_pool2d, 3: op.nn.max_pool3d}
_AVG_POOLS = {1: op.nn.avg_pool1d, 2: op.nn.avg_pool2d, 3: op.nn.avg_pool3d}


def _by_rank(node: Node, table: Mapping[int, Callable[..., RelaxExpr]]) -> Callable[..., RelaxExpr]:
    spatial = node.rank(0) - 2
    if spatial not in table:
        legal = ", ".join(str(n) for n in table)
        raise node.invalid("the number of spatial dimensions", spatial, legal)
    return table[spatial]


@convert("Conv")
def conv(node: Node) -> Result:
    result = node.bb.emit(convolution(node, node[0], node[1], 1))
    return with_channel_bias(result, node.optional(2), node.rank(0))


def convolution(node: Node, x: RelaxExpr, w: RelaxExpr, weight: int) -> RelaxExpr:
    """The convolution of `x` with `w`, in the place of inputs 0 and `weight`."""
    kernel = kernel_extents(node, weight)
    (x,), strides, pads, dilations = padded_window(node, [x], kernel)
    if not auto_pad(node).startswith("SAME"):
        require_window(node, kernel, pads, dilations)
    return _by_rank(node, _CONVOLUTIONS)(
        x, w, strides=strides, padding=pads, dilation=dilations,
        groups=int(node.attr("group", 1)),
    )  # fmt: skip


@convert("ConvTranspose")
def conv_transpose(node: Node) -> Result:
    """Pads are given, or follow from the output's extents (`output_shape`, or by `auto_pad`)."""
    kernel = kernel_shape(node)
    spatial = len(kernel)
    strides = [int(s) for s in node.attr("strides", [1] * spatial)]
    dilations = [int(d) for d in node.attr("dilations", [1] * spatial)]
    extra = [int(p) for p in node.attr("output_padding", [0] * spatial)]
    groups = int(node.attr("group", 1))
    asked = node.attr("output_shape")
    is_cut = asked is not None and not all(isinstance(e, IntImm) for e in node.shape(0)[2:])
    if is_cut:
        pads = [0] * (2 * spatial)
    else:
        extra = _stretched(node, kernel, strides, dilations, extra)
        pads = _transposed_pads(node, kernel, strides, dilations, extra)
    result: RelaxExpr
    if spatial == 3:
        if groups != 1 or set(dilations) != {1}:
            raise node.invalid("group, dilations", (groups, dilations), "1 with three axes")
        result = node.bb.emit_te(
            conv3d_transpose_ncdhw, node[0], node[1], strides, pads, node.dtype(0), extra
        )
    else:
        result = node.bb.emit(_by_rank(node, _TRANSPOSED)(
            node[0], node[1], strides=strides, padding=pads, dilation=dilations,
            output_padding=extra, groups=groups,
        ))  # fmt: skip
    if is_cut:
        result = _cut_to_shape(node, result, [int(n) for n in asked])
    return with_channel_bias(result, node.optional(2), node.rank(0))


def _stretched(
    node: Node, kernel: list[int], strides: list[int], dilations: list[int], extra: list[int]
) -> list[int]:
    """The output padding, with what an asked shape has beyond the one that windows reach."""
    asked = node.attr("output_shape")
    extents = node.shape(0)[2:]
    if asked is None or not all(isinstance(extent, IntImm) for extent in extents):
        return extra
    reach = [
        stride * (int(size) - 1) + (k - 1) * dilation + 1  # type: ignore[call-overload]
        for size, stride, k, dilation in zip(extents, strides, kernel, dilations)
    ]
    return [max(more, int(out) - r) for more, out, r in zip(extra, asked[-len(kernel) :], reach)]


def _transposed_pads(
    node: Node, kernel: list[int], strides: list[int], dilations: list[int], extra: list[int]
) -> list[int]:
    mode = auto_pad(node)
    asked = node.attr("output_shape")
    if asked is None and mode in ("NOTSET", "VALID"):
        given = [0] * (2 * len(kernel)) if mode == "VALID" else node.attr("pads")
        return [int(p) for p in given or [0] * (2 * len(kernel))]
    reach = [(k - 1) * dilation + 1 + more for k, dilation, more in zip(kernel, dilations, extra)]
    if asked is None:  # the output is `stride` times as long, whatever the input's extent
        totals = [max(0, n - stride) for n, stride in zip(reach, strides)]
    else:
        sizes = [int(extent) for extent in node.shape(0)[2:]]  # type: ignore[call-overload]
        totals = [
            max(0, stride * (size - 1) + n - int(out))
            for size, stride, n, out in zip(sizes, strides, reach, asked[-len(kernel) :])
        ]
    pads = shared_out(totals, larger_after=mode == "SAME_UPPER")
    return [pad for pad in pads if isinstance(pad, int)]


def _cut_to_shape(node: Node, value: RelaxExpr, asked: list[int]) -> RelaxExpr:
    """All that the windows reach, cut (or filled up) to an asked shape; extents are symbols."""
    value = node.bb.emit(value)
    have = value.struct_info.shape.values[2:]  # type: ignore[attr-defined]
    before: list[PrimExpr | int] = [0, 0]
    after: list[PrimExpr | int] = [0, 0]
    for reach, out in zip(have, asked[-len(have) :]):
        total = tir.max(reach - int(out), tir.const(0, "int64"))
        half = tir.floordiv(total, 2)
        start = half if auto_pad(node) == "SAME_UPPER" else total - half
        before.append(-start)
        after.append(int(out) - reach + start)
    return padded(node.bb, value, before, after)


@convert("MaxPool")
def max_pool(node: Node) -> Result:
    largest = _pool(node, _MAX_POOLS)
    if not node.wants(1):
        return largest
    largest = node.bb.emit(largest)
    return [largest, _places_of_largest(node, largest)]


def _places_of_largest(node: Node, largest: RelaxExpr) -> RelaxExpr:
    """Where in the whole tensor each window's largest element is, the first of equal ones."""
    kernel = [int(k) for k in node.attr("kernel_shape")]
    strides, around, dilations = window(node, kernel)
    out = largest.struct_info.shape.values  # type: ignore[attr-defined]
    return max_pool_indices(
        node.bb, node[0], out, kernel, strides, around, dilations, of_plane=False,
        by_column=bool(node.attr("storage_order", 0)),
    )  # fmt: skip


@convert("AveragePool")
def average_pool(node: Node) -> Result:
    counts = bool(node.attr("count_include_pad", 0))
    return _pool(node, _AVG_POOLS, count_include_pad=counts)


def _pool(node: Node, table: Mapping[int, Callable[..., RelaxExpr]], **options: Any) -> RelaxExpr:
    kernel = [int(k) for k in node.attr("kernel_shape")]
    largest = table is _MAX_POOLS
    counts = not largest and options["count_include_pad"]
    if not counts and pads_vary(node, kernel) and _halves(node, kernel):
        return _by_rank(node, table)(
            node[0], pool_size=kernel, strides=kernel, ceil_mode=True, **options
        )
    if not largest and not counts and pads_vary(node, kernel):
        return _mean_of_data(node, kernel)
    fill = float(_lowest(node.dtype(0))) if largest else 0.0
    (x,), strides, pads, dilations = padded_window(node, [node[0]], kernel, fill)
    up = bool(node.attr("ceil_mode", 0))
    counts_: dict[int, PrimExpr] = {}
    if not up and not auto_pad(node).startswith("SAME"):
        pads, counts_ = with_one_window(node, kernel, strides, pads, dilations)
    result = _by_rank(node, table)(
        x,
        pool_size=kernel,
        strides=strides,
        padding=pads,
        dilation=dilations,
        ceil_mode=up,
        **options,
    )
    if up:
        return _within_data(node, x, result, kernel, strides, pads, dilations)
    return _first(node, result, counts_)


def _first(node: Node, value: RelaxExpr, counts: Mapping[int, PrimExpr]) -> RelaxExpr:
    """So many elements along each of the axes."""
    if not counts:
        return value
    begin, end = [0] * len(counts), list(counts.values())
    return op.strided_slice(node.bb.emit(value), list(counts), begin, end)


def _halves(node: Node, kernel: list[int]) -> bool:
    """Whether windows of two take steps of two, and what they lack stands behind the data.

    The last window then takes what there is, which needs no copy with pads.
    """
    twos = [2] * len(kernel)
    strides, dilations = (node.attr(name, [1] * len(kernel)) for name in ("strides", "dilations"))
    plain = kernel == twos and [*strides] == twos and set(dilations) == {1}
    return plain and auto_pad(node) == "SAME_UPPER"


def _within_data(node: Node, x: RelaxExpr, result: RelaxExpr, *window: list[int]) -> RelaxExpr:
    extents = node.bb.normalize(x).struct_info.shape.values[2:]  # type: ignore[attr-defined]
    return within_data(node.bb, result, extents, *window)


def _lowest(dtype: str) -> float | int:
    return -np.inf if dtype.startswith(("float", "bfloat")) else int(np.iinfo(dtype).min)


def _mean_of_data(node: Node, kernel: list[int]) -> RelaxExpr:
    """Means without the pads, of which only running tells how many: by means of ones."""
    data = [node[0], node.bb.emit(op.ones(node.shape(0), node.dtype(0)))]
    wide, strides, pads, dilations = padded_window(node, data, kernel)
    means = [
        node.bb.emit(_by_rank(node, _AVG_POOLS)(
            x, pool_size=kernel, strides=strides, padding=pads, dilation=dilations,
            count_include_pad=True,
        ))
        for x in wide
    ]  # fmt: skip
    return op.divide(*means)


@convert("GlobalAveragePool")
def global_average_pool(node: Node) -> Result:
    mean: Result = op.mean(node[0], list(range(2, node.rank(0))), keepdims=True)
    return mean


@convert("GlobalMaxPool")
def global_max_pool(node: Node) -> Result:
    largest: Result = op.max(node[0], list(range(2, node.rank(0))), keepdims=True)
    return largest


@convert("BatchNormalization")
def batch_normalization(node: Node) -> Result:
    """Data of 16 bits may have scales, or moments, of 32."""
    dtypes = [node.dtype(i) for i in range(5)]
    if len(set(dtypes)) == 1:
        return _batch_norm(node)
    bb, wide = node.bb, "float64" if "float64" in dtypes else "float32"
    for i in range(5):
        node.replace(i, bb.emit(op.astype(node[i], wide)))
    found = [bb.emit(value) for value in _batch_norm(node)]
    return [op.astype(value, kind) for value, kind in zip(found, (dtypes[0], *dtypes[3:]))]


def _batch_norm(node: Node) -> list[RelaxExpr]:
    if node.attr("training_mode", 0):
        return _batch_norm_in_training(node)
    if not node.attr("spatial", 1):  # up to operator set 8: moments of each element
        epsilon = _float(node, float(node.attr("epsilon", 1e-5)))
        size = op.rsqrt(op.add(node[4], epsilon))
        centred = op.subtract(node[0], node[3])
        return [op.add(op.multiply(centred, op.multiply(node[1], size)), node[2])]
    result = op.nn.batch_norm(
        node[0], node[1], node[2], node[3], node[4], axis=1,
        epsilon=float(node.attr("epsilon", 1e-5)), training=False,
    )  # fmt: skip
    return [node.bb.emit(result)[0]]


def _batch_norm_in_training(node: Node) -> list[RelaxExpr]:
    """By the moments of this batch; the running ones move toward them."""
    bb, rank = node.bb, node.rank(0)
    axes = [0, *range(2, rank)]
    mean = bb.emit(op.mean(node[0], axes, keepdims=True))
    centred = bb.emit(op.subtract(node[0], mean))
    variance = bb.emit(op.mean(bb.emit(op.square(centred)), axes, keepdims=True))
    epsilon = _float(node, float(node.attr("epsilon", 1e-5)))
    weight, bias = (bb.emit(op.reshape(node[i], [1, -1, *[1] * (rank - 2)])) for i in (1, 2))
    scaled = op.multiply(centred, bb.emit(op.rsqrt(op.add(variance, epsilon))))
    result: list[RelaxExpr] = [op.add(op.multiply(scaled, weight), bias)]
    share = float(node.attr("momentum", 0.9))
    for i, moment in ((3, mean), (4, variance)):
        new = op.multiply(bb.emit(op.reshape(moment, [-1])), _float(node, 1 - share))
        result.append(op.add(op.multiply(node[i], _float(node, share)), new))
    return result[: node.output_count]


@convert("InstanceNormalization")
def instance_normalization(node: Node) -> Result:
    axes = list(range(2, node.rank(0)))
    return op.nn.instance_norm(
        node[0], node[1], node[2], channel_axis=1, axes=axes,
        epsilon=float(node.attr("epsilon", 1e-5)),
    )  # fmt: skip


@convert("GroupNormalization", since=18)
def group_normalization(node: Node) -> Result:
    axes = list(range(2, node.rank(0)))
    return op.nn.group_norm(
        node[0], node[1], node[2], num_groups=int(node.attr("num_groups")), channel_axis=1,
        axes=axes, epsilon=float(node.attr("epsilon", 1e-5)),
    )  # fmt: skip


@convert("LayerNormalization", since=17)
def layer_normalization(node: Node) -> Result:
    rank = node.rank(0)
    axes = list(range(node.axis(-1), rank))
    if node.wants(1) or node.wants(2):
        return _norm_with_moments(node, axes)
    epsilon = float(node.attr("epsilon", 1e-5))
    own, dtype = [node.shape(0)[a] for a in axes], node.dtype(1)
    if _fits(node, 1, own) and (not node.has(2) or _fits(node, 2, own)):
        shift = node.optional(2) or node.bb.emit(op.zeros(own, dtype))
        if node.written_axis(-1) < 0:
            axes = [a - rank for a in axes]
        return op.nn.layer_norm(node[0], node[1], shift, axes=axes, epsilon=epsilon)
    ones, zeros = (node.bb.emit(make(own, dtype)) for make in (op.ones, op.zeros))
    norm = node.bb.emit(op.nn.layer_norm(node[0], ones, zeros, axes=axes, epsilon=epsilon))
    scaled = op.multiply(norm, node[1])
    return op.add(scaled, node[2]) if node.has(2) else scaled


def _fits(node: Node, i: int, own: Sequence[Any]) -> bool:
    """Whether a scale or shift has the extents that are normalised, and none to be repeated."""
    shape, equal = node.shape(i), node.bb.analyzer.can_prove_equal
    return len(shape) == len(own) and all(equal(a, b) for a, b in zip(shape, own))


def _norm_with_moments(node: Node, axes: list[int]) -> list[RelaxExpr]:
    """The norm, the mean, and the inverse of the deviation."""
    bb, dtype = node.bb, node.dtype(0)
    x = bb.emit(op.astype(node[0], "float32")) if dtype != "float64" else node[0]
    kind = "float64" if dtype == "float64" else "float32"
    mean = bb.emit(op.mean(x, axes, keepdims=True))
    centred = bb.emit(op.subtract(x, mean))
    variance = op.mean(bb.emit(op.square(centred)), axes, keepdims=True)
    epsilon = Constant(np.asarray(node.attr("epsilon", 1e-5), kind))
    inverse = bb.emit(op.rsqrt(op.add(variance, epsilon)))
    norm: RelaxExpr = op.multiply(op.astype(op.multiply(centred, inverse), dtype), node[1])
    if node.has(2):
        norm = op.add(norm, node[2])
    # the moments are of `stash_type`, float32 unless another one is asked for
    kept = dtype_name(int(node.attr("stash_type", 1)))
    moments = [bb.emit(op.astype(value, kept)) for value in (mean, inverse)]
    return [norm, *moments][: node.output_count]


def _over_last_axes(
    node: Node, rule: Callable[[RelaxExpr, int], RelaxExpr], axis: int
) -> RelaxExpr:
    """Before operator set 13: all axes from `axis` on are taken as one."""
    if axis == node.rank(0) - 1:
        return rule(node[0], axis)
    shape = node.shape(0)
    flat = op.reshape(node[0], [*shape[:axis], functools.reduce(lambda a, b: a * b, shape[axis:])])
    return op.reshape(rule(flat, axis), shape)


@convert("Softmax")
def softmax_flattened(node: Node) -> Result:
    return _over_last_axes(node, op.nn.softmax, node.axis(1))


@convert("Softmax", since=13)
def softmax(node: Node) -> Result:
    return op.nn.softmax(node[0], node.written_axis(-1))


@convert("LogSoftmax")
def log_softmax_flattened(node: Node) -> Result:
    return _over_last_axes(node, op.nn.log_softmax, node.axis(1))


@convert("LogSoftmax", since=13)
def log_softmax(node: Node) -> Result:
    return op.nn.log_softmax(node[0], node.written_axis(-1))


@convert("Hardmax")
def hardmax_flattened(node: Node) -> Result:
    return _over_last_axes(node, lambda x, axis: _hardmax(node, x, axis), node.axis(1))


@convert("Hardmax", since=13)
def hardmax(node: Node) -> Result:
    return _hardmax(node, node[0], node.axis(-1))


def _hardmax(node: Node, x: RelaxExpr, axis: int) -> RelaxExpr:
    """1 at the first of the largest elements along an axis, 0 elsewhere."""
    x = node.bb.normalize(x)
    x = x if isinstance(x, Var) else node.bb.emit(x)
    *_, depth = shape = x.struct_info.shape.values[: axis + 1]  # type: ignore[attr-defined]
    dtype = node.dtype(0)
    if not isinstance(depth, IntImm):
        ones = [1] * (node.rank(0) - len(shape)) if x is node[0] else []
        numbers = node.bb.emit(op.reshape(op.arange(0, depth, 1, "int64"), [depth, *ones]))
        place = node.bb.emit(op.argmax(x, axis, keepdims=True))
        return op.astype(op.equal(place, numbers), dtype)
    on, off = PrimValue(const(1, dtype)), PrimValue(const(0, dtype))
    return op.one_hot(op.argmax(x, axis), on, off, depth.value, axis)


@convert("LpPool")
def lp_pool(node: Node) -> Result:
    """(sum of |x|^p over a window)^(1 / p)."""
    p = float(node.attr("p", 2))
    kernel = [int(k) for k in node.attr("kernel_shape")]
    given = node.bb.emit(op.power(op.abs(node[0]), _float(node, p)))
    (powers,), strides, pads, dilations = padded_window(node, [given], kernel)
    up = bool(node.attr("ceil_mode", 0))
    counts: dict[int, PrimExpr] = {}
    if not up and not auto_pad(node).startswith("SAME"):
        pads, counts = with_one_window(node, kernel, strides, pads, dilations)
    # a window that is not whole is filled up with zeros: all means are of as many elements
    more = [stride - 1 if up else 0 for stride in strides]
    filled = [*pads[: len(kernel)], *(a + b for a, b in zip(pads[len(kernel) :], more))]
    means = _by_rank(node, _AVG_POOLS)(
        powers,
        pool_size=kernel,
        strides=strides,
        padding=filled,
        dilation=dilations,
        count_include_pad=True,
    )
    if up:
        means = _within_data(node, powers, means, kernel, strides, pads, dilations)
    means = _first(node, means, counts)
    sums = op.multiply(means, _float(node, float(np.prod(kernel))))
    return op.power(sums, _float(node, 1 / p))


@convert("GlobalLpPool")
def global_lp_pool(node: Node) -> Result:
    p = float(node.attr("p", 2))
    powers = op.power(op.abs(node[0]), _float(node, p))
    sums = op.sum(powers, list(range(2, node.rank(0))), keepdims=True)
    return op.power(sums, _float(node, 1 / p))


def _float(node: Node, value: float) -> Constant:
    return Constant(np.asarray(value, node.dtype(0)))


@convert("MaxUnpool")
def max_unpool(node: Node) -> Result:
    """Elements back where a max pool found them; zeros elsewhere."""
    kernel = [int(k) for k in node.attr("kernel_shape")]
    spatial = len(kernel)
    shape = node.shape(0)
    out: list[Any]
    if node.has(2):
        out = node.numbers(2, "output_shape", node.rank(0))
    else:
        strides = [int(s) for s in node.attr("strides", [1] * spatial)]
        pads = [int(p) for p in node.attr("pads", [0] * (2 * spatial))]
        out = [
            *shape[:2],
            *((n - 1) * s + k - pads[i] - pads[i + spatial]
              for i, (n, s, k) in enumerate(zip(shape[2:], strides, kernel))),
        ]  # fmt: skip
    flat = op.zeros([functools.reduce(lambda a, b: a * b, out)], node.dtype(0))
    places, values = op.reshape(node[1], [-1]), op.reshape(node[0], [-1])
    return op.reshape(op.scatter_elements(flat, places, values, 0), out)


@convert("LRN")
def lrn(node: Node) -> Result:
    """x / (bias + alpha / size * sum of squares of neighbouring channels)^beta."""
    return node.bb.emit_te(
        local_response_norm, node[0], int(node.attr("size")), 1, float(node.attr("alpha", 1e-4)),
        float(node.attr("beta", 0.75)), float(node.attr("bias", 1.0)),
    )  # fmt: skip


@convert("MeanVarianceNormalization")
def mean_variance_normalization(node: Node) -> Result:
    axes = [int(a) for a in node.attr("axes", [0, 2, 3])]
    centred = node.bb.emit(op.subtract(node[0], op.mean(node[0], axes, keepdims=True)))
    variance = op.mean(op.multiply(centred, centred), axes, keepdims=True)
    return op.divide(centred, op.add(op.sqrt(variance), _float(node, 1e-9)))


@convert("LpNormalization")
def lp_normalization(node: Node) -> Result:
    """x over its norm along an axis; 0 where that is 0."""
    axis, p = node.axis(-1), int(node.attr("p", 2))
    if p == 1:
        size = op.sum(op.abs(node[0]), [axis], keepdims=True)
    else:
        size = op.sqrt(op.sum(op.multiply(node[0], node[0]), [axis], keepdims=True))
    zero = _float(node, 0)
    safe = op.where(op.equal(size, zero), _float(node, 1), size)
    return op.divide(node[0], safe)


@convert("RMSNormalization")
def rms_normalization(node: Node) -> Result:
    axes = list(range(node.axis(-1), node.rank(0)))
    epsilon = float(node.attr("epsilon", 1e-5))
    own = [node.shape(0)[a] for a in axes]
    if _fits(node, 1, own):
        return op.nn.rms_norm(node[0], node[1], axes=axes, epsilon=epsilon)
    ones = node.bb.emit(op.ones(own, node.dtype(1)))
    norm = node.bb.emit(op.nn.rms_norm(node[0], ones, axes=axes, epsilon=epsilon))
    return op.multiply(norm, node[1])


@convert("NegativeLogLikelihoodLoss")
def negative_log_likelihood_loss(node: Node) -> Result:
    return op.nn.nll_loss(
        node[0], node[1], node.optional(2), node.attr("reduction", "mean"),
        int(node.attr("ignore_index", -100)),
    )  # fmt: skip


@convert("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(node: Node) -> Result:
    """The loss, and the logarithms of probabilities."""
    logs = node.bb.emit(op.nn.log_softmax(node[0], 1))
    loss = op.nn.nll_loss(
        logs, node[1], node.optional(2), node.attr("reduction", "mean"),
        int(node.attr("ignore_index", -100)),
    )  # fmt: skip
    return [loss, logs]
