"""Operators of neural networks."""

from __future__ import annotations

import math
from typing import Any

from tvm.relay import image as _image
from tvm.relay import op as _op
from tvm.relay import vision as _vision
from tvm.relay.expr import TupleGetItem, const

from .elementwise import dtype_of
from .linear import extents
from .moving import rank_of
from .reduction import ints
from .translate import RULES, Translator, rule


def _weight(call: Any, transposed: bool) -> dict[str, Any]:
    """Channels and the window's extents, where the weight says them."""
    attrs: Any = call.attrs
    layout, found = str(attrs.kernel_layout), extents(call.args[1].struct_info)
    sizes = dict(zip(layout, found))
    channels = sizes["O"]
    if channels is None or None in found:
        return {}
    if transposed:
        channels *= int(attrs.groups)
    return {"channels": channels, "kernel_size": [sizes[s] for s in layout if s not in "OI"]}


def _convolution(name: str) -> None:
    def convolve(t: Translator, call: Any, x: Any, w: Any) -> Any:
        attrs: Any = call.attrs
        options = {
            "strides": ints(attrs.strides), "padding": ints(attrs.padding),
            "dilation": ints(attrs.dilation), "groups": int(attrs.groups),
            "data_layout": str(attrs.data_layout), "kernel_layout": str(attrs.kernel_layout),
        }  # fmt: skip
        if dtype_of(call) != dtype_of(call, 0):
            options["out_dtype"] = dtype_of(call)
        if name.endswith("_transpose"):
            options["output_padding"] = ints(attrs.output_padding)
        if str(attrs.out_layout or attrs.data_layout) != str(attrs.data_layout):
            options["out_layout"] = str(attrs.out_layout)
        made = {**options, **_weight(call, name.endswith("_transpose"))}
        return getattr(_op.nn, name)(x, w, **made)

    RULES[f"relax.nn.{name}"] = convolve


def _pool(name: str) -> None:
    def pool(t: Translator, call: Any, x: Any) -> Any:
        attrs: Any = call.attrs
        options: dict[str, Any] = {
            "pool_size": ints(attrs.pool_size), "strides": ints(attrs.strides),
            "dilation": ints(attrs.dilation), "padding": ints(attrs.padding),
            "layout": str(attrs.layout), "ceil_mode": bool(attrs.ceil_mode),
        }  # fmt: skip
        if name.startswith("avg"):
            options["count_include_pad"] = bool(attrs.count_include_pad)
        return getattr(_op.nn, name)(x, **options)

    RULES[f"relax.nn.{name}"] = pool


def _adaptive(name: str) -> None:
    def pool(t: Translator, call: Any, x: Any) -> Any:
        size = call.attrs.output_size
        layout = str(call.attrs.layout)
        return getattr(_op.nn, name)(x, None if size is None else ints(size), layout=layout)

    RULES[f"relax.nn.{name}"] = pool


for _name in ("conv1d", "conv2d", "conv3d", "conv1d_transpose", "conv2d_transpose",
              "conv3d_transpose"):  # fmt: skip
    _convolution(_name)
for _dims in (1, 2, 3):
    _pool(f"max_pool{_dims}d")
    _pool(f"avg_pool{_dims}d")
    _adaptive(f"adaptive_avg_pool{_dims}d")


@rule("relax.nn.relu")
def relu(t: Translator, call: Any, x: Any) -> Any:
    """max(x, 0)"""
    return _op.nn.relu(x)


@rule("relax.nn.leakyrelu")
def leakyrelu(t: Translator, call: Any, x: Any) -> Any:
    """A slope for what is negative."""
    return _op.nn.leaky_relu(x, float(call.attrs.alpha))


@rule("relax.nn.prelu")
def prelu(t: Translator, call: Any, x: Any, alpha: Any) -> Any:
    """A slope a channel."""
    return _op.nn.prelu(x, alpha, int(call.attrs.axis) % rank_of(call))


@rule("relax.nn.silu")
def silu(t: Translator, call: Any, x: Any) -> Any:
    """x * sigmoid(x)"""
    return _op.multiply(x, _op.sigmoid(x))


@rule("relax.nn.gelu")
def gelu(t: Translator, call: Any, x: Any) -> Any:
    """x times the normal distribution function at x."""
    dtype = dtype_of(call)
    half = const(0.5, dtype)
    return x * (half + _op.erf(x * const(math.sqrt(0.5), dtype)) * half)


@rule("relax.nn.gelu_tanh")
def gelu_tanh(t: Translator, call: Any, x: Any) -> Any:
    """The same by a hyperbolic tangent."""
    dtype = dtype_of(call)
    inner = const(math.sqrt(2 / math.pi), dtype) * x
    cubic = const(1.0, dtype) + const(0.044715, dtype) * x * x
    return const(0.5, dtype) * x * (const(1.0, dtype) + _op.tanh(inner * cubic))


@rule("relax.nn.selu")
def selu(t: Translator, call: Any, x: Any) -> Any:
    """The scaled exponential unit (Klambauer et al., 2017)."""
    dtype = dtype_of(call)
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    low = const(alpha, dtype) * (_op.exp(_op.minimum(x, const(0.0, dtype))) - const(1.0, dtype))
    return const(scale, dtype) * (_op.nn.relu(x) + low)


@rule("relax.nn.softplus")
def softplus(t: Translator, call: Any, x: Any) -> Any:
    """log(1 + exp(beta x)) / beta, and x itself where that is large."""
    dtype, attrs = dtype_of(call), call.attrs
    beta, one = const(float(attrs.beta), dtype), const(1.0, dtype)
    scaled = x * beta
    near = _op.log(one + _op.exp(-_op.abs(scaled))) + _op.nn.relu(scaled)
    return _op.where(_op.greater(scaled, const(float(attrs.threshold), dtype)), x, near / beta)


@rule("relax.nn.softmax", "relax.nn.log_softmax")
def softmax(t: Translator, call: Any, x: Any) -> Any:
    """Shares along an axis, or their logarithms."""
    make = _op.nn.log_softmax if "log" in call.op.name else _op.nn.softmax
    axis = int(call.attrs.axis)
    return make(x, axis if axis < 0 else axis % rank_of(call))


@rule("relax.nn.dropout")
def dropout(t: Translator, call: Any, x: Any) -> Any:
    """At inference the value itself, and a mask of ones."""
    return (x, _op.ones_like(x))


_PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "edge": "edge"}


@rule("relax.nn.pad")
def pad(t: Translator, call: Any, x: Any, value: Any = None) -> Any:
    """Values around."""
    attrs: Any = call.attrs
    flat = ints(attrs.pad_width)
    pairs = [flat[at : at + 2] for at in range(0, len(flat), 2)]
    fill = value if value is not None else float(getattr(attrs, "pad_value", 0.0))
    mode = _PAD_MODES.get(str(attrs.pad_mode))
    if mode is None:
        return _circular(x, pairs)
    return _op.nn.pad(x, pairs, fill, pad_mode=mode)


def _circular(x: Any, pairs: list[list[int]]) -> Any:
    """The other end, before and behind."""
    for axis, (before, behind) in enumerate(pairs):
        parts = [x]
        if before:
            parts.insert(0, _op.strided_slice(x, [-before], [2**31 - 1], [1], axes=[axis]))
        if behind:
            parts.append(_op.strided_slice(x, [0], [behind], [1], axes=[axis]))
        x = _op.concatenate(parts, axis) if len(parts) > 1 else x
    return x


@rule("relax.nn.batch_norm")
def batch_norm(t: Translator, call: Any, x: Any, *params: Any) -> Any:
    """By mean and variance of each channel; in training by those of the batch."""
    attrs: Any = call.attrs
    axis, rank = int(attrs.axis) % rank_of(call), rank_of(call)
    options: dict[str, Any] = {
        "axis": axis, "epsilon": float(attrs.epsilon), "center": bool(attrs.center),
        "scale": bool(attrs.scale),
    }  # fmt: skip
    if not attrs.training:
        made = _op.nn.batch_norm(x, *params, **options)
        return (TupleGetItem(getattr(made, "tuple_value", made), 0), *params[2:])
    gamma, beta, mean, var = params
    others = [at for at in range(rank) if at != axis]
    own_mean, own_var = _op.mean(x, others), _op.variance(x, others)
    made = _op.nn.batch_norm(x, gamma, beta, own_mean, own_var, **options)
    dtype, part = dtype_of(call, 3), float(attrs.momentum)
    kept, new = const(1 - part, dtype), const(part, dtype)
    moved = [old * kept + now * new for old, now in ((mean, own_mean), (var, own_var))]
    return (TupleGetItem(getattr(made, "tuple_value", made), 0), *moved)


def _normalised(t: Translator, x: Any, axes: list[int], epsilon: float, dtype: str) -> Any:
    centre = x - _op.mean(x, axes, keepdims=True)
    spread = _op.mean(centre * centre, axes, keepdims=True)
    return centre * _op.rsqrt(spread + const(epsilon, dtype))


def _spread(t: Translator, x: Any, axes: list[int], rank: int) -> Any:
    """A factor for some axes, beside tensors of all."""
    for axis in range(rank):
        if axis not in axes:
            x = _op.expand_dims(x, axis)
    return x


@rule("relax.nn.layer_norm", "relax.nn.instance_norm")
def layer_norm(t: Translator, call: Any, x: Any, gamma: Any, beta: Any) -> Any:
    """By mean and variance over axes; factors for these axes, or for the channels."""
    attrs: Any = call.attrs
    rank, dtype = rank_of(call), dtype_of(call)
    axes = [int(axis) % rank for axis in attrs.axes]
    own = call.op.name.endswith("instance_norm")
    kept = [int(attrs.channel_axis) % rank] if own else axes
    if not own and axes == [rank - 1] and attrs.center and attrs.scale:
        return _op.nn.layer_norm(x, gamma, beta, axis=-1, epsilon=float(attrs.epsilon))
    made = _normalised(t, x, axes, float(attrs.epsilon), dtype)
    if attrs.scale:
        made = made * _spread(t, gamma, kept, rank)
    return made + _spread(t, beta, kept, rank) if attrs.center else made


@rule("relax.nn.group_norm")
def group_norm(t: Translator, call: Any, x: Any, gamma: Any, beta: Any) -> Any:
    """By mean and variance of each group of channels."""
    attrs: Any = call.attrs
    return _op.nn.group_norm(
        x, gamma, beta, int(attrs.num_groups), axis=int(attrs.channel_axis) % rank_of(call),
        epsilon=float(attrs.epsilon), center=bool(attrs.center), scale=bool(attrs.scale),
    )  # fmt: skip


@rule("relax.nn.rms_norm")
def rms_norm(t: Translator, call: Any, x: Any, weight: Any) -> Any:
    """By the root of the mean square, in float32 at least."""
    attrs: Any = call.attrs
    rank, dtype = rank_of(call), dtype_of(call)
    axes = [int(axis) % rank for axis in attrs.axes]
    wide = "float64" if dtype == "float64" else "float32"
    x, weight = ((v if dtype == wide else _op.cast(v, wide)) for v in (x, weight))
    mean = _op.mean(x * x, axes, keepdims=True)
    scaled = x * _op.rsqrt(mean + const(float(attrs.epsilon), wide))
    made = scaled * _spread(t, weight, axes, rank)
    return made if dtype == wide else _op.cast(made, dtype)


@rule("relax.nn.nll_loss")
def nll_loss(t: Translator, call: Any, predictions: Any, targets: Any, weights: Any = None) -> Any:
    """The negative log likelihood."""
    attrs: Any = call.attrs
    if weights is None:
        channels = extents(call.args[0].struct_info)
        count = channels[1] if len(channels) > 1 else channels[0]
        weights = _op.ones([count], dtype_of(call, 0))
    return _op.nn.nll_loss(
        predictions, targets, weights, str(attrs.reduction), int(attrs.ignore_index)
    )


@rule("relax.nn.cross_entropy_with_logits")
def cross_entropy(t: Translator, call: Any, predictions: Any, targets: Any) -> Any:
    """The mean of products."""
    return _op.nn.cross_entropy_with_logits(predictions, targets)


@rule("relax.nn.pixel_shuffle")
def pixel_shuffle(t: Translator, call: Any, x: Any) -> Any:
    """Channels become blocks of pixels."""
    return _op.nn.depth_to_space(x, int(call.attrs.upscale_factor), mode="CRD")


@rule("relax.image.resize2d")
def resize2d(t: Translator, call: Any, x: Any, size: Any) -> Any:
    """Another resolution."""
    attrs: Any = call.attrs
    return _image.resize2d(
        x, t.shape(size), roi=[float(v) for v in attrs.roi or ()] or None,
        layout=str(attrs.layout), method=str(attrs.method),
        coordinate_transformation_mode=str(attrs.coordinate_transformation_mode),
        rounding_method=str(attrs.rounding_method), cubic_alpha=float(attrs.cubic_alpha),
        cubic_exclude=int(attrs.cubic_exclude),
        extrapolation_value=float(attrs.extrapolation_value),
    )  # fmt: skip


@rule("relax.quantize", "relax.dequantize")
def quantize(t: Translator, call: Any, x: Any, scale: Any, zero: Any) -> Any:
    """Integers for real numbers, or back."""
    from tvm.relay import qnn

    make = qnn.op.dequantize if call.op.name.endswith("dequantize") else qnn.op.quantize
    point = zero if dtype_of(call, 2) == "int32" else _op.cast(zero, "int32")
    return make(x, scale, point, axis=int(call.attrs.axis), out_dtype=dtype_of(call))


@rule("relax.vision.all_class_non_max_suppression")
def suppression(t: Translator, call: Any, boxes: Any, scores: Any, *limits: Any) -> Any:
    """The boxes of each class that overlap no better one."""
    most, overlap, least = (t.tensor(v) for v in limits)
    found: Any = _vision.all_class_non_max_suppression(
        boxes, scores, most, overlap, least, output_format=str(call.attrs.output_format)
    )
    info: Any = call.struct_info
    whole: Any = getattr(found, "tuple_value", found)
    return tuple([TupleGetItem(whole, at) for at in range(len(info.fields))])


@rule("relax.to_vdevice", "relax.hint_on_device", "relax.builtin.stop_lift_params")
def same(t: Translator, call: Any, x: Any) -> Any:
    """The value itself: where it lies is not said in Relay."""
    return x
