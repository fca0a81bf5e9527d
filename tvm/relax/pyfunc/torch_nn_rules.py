"""How operators of neural networks are said in `torch.nn.functional`.

Torch has channels on the second axis and the same padding on both sides; other layouts are
transposed, other padding is made before or cut off after.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .torch_rules import Options, Rule, axis_of, numbers

_PLAIN_LAYOUTS: Final = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
_KERNELS: Final = {1: "OIW", 2: "OIHW", 3: "OIDHW"}
_TURNED_KERNELS: Final = {1: "IOW", 2: "IOHW", 3: "IODHW"}


def _relaid(x: Any, have: str, want: str) -> Any:
    """The axes in another order, by their letters; None for axes in pieces (`NCHW4c`)."""
    if sorted(have) != sorted(want):
        return None
    return x if have == want else x.permute([have.index(letter) for letter in want])


def _layout(options: Options, key: str, fallback: str) -> str:
    return str(options.get(key) or fallback)


def _several(options: Options, key: str, count: int, fallback: int = 1) -> list[int]:
    given = numbers(options.get(key, fallback))
    found = given if isinstance(given, list) else [given]
    return [int(one) for one in (found * count if len(found) == 1 else found)]


def _sides(options: Options, rank: int) -> tuple[list[int], list[int]]:
    """Padding before and after each axis."""
    given = _several(options, "padding", rank, 0)
    return (given, given) if len(given) == rank else (given[:rank], given[rank:])


def _padded(library: Any, x: Any, before: Sequence[int], after: Sequence[int], value: float) -> Any:
    pairs = [side for pair in zip(reversed(before), reversed(after)) for side in pair]
    return library.nn.functional.pad(x, pairs, value=value)


# --- convolutions ---


def _operand(x: Any, options: Options, key: str, plain: str) -> Any:
    """An operand as the library takes it; None where it cannot."""
    return _relaid(x, _layout(options, key, plain), plain)


def _result(found: Any, options: Options, key: str, plain: str) -> Any:
    """What the library gives in the layout asked for: without one, that of the data."""
    return _relaid(found, plain, _layout(options, "out_layout", _layout(options, key, plain)))


def _conv(rank: int) -> Rule:
    def call(library: Any, args: list[Any], options: Options) -> Any:
        plain = _PLAIN_LAYOUTS[rank]
        x = _operand(args[0], options, "data_layout", plain)
        weight = _operand(args[1], options, "kernel_layout", _KERNELS[rank])
        if x is None or weight is None:
            return None
        before, after = _sides(options, rank)
        if before != after:
            x, before = _padded(library, x, before, after, 0), [0] * rank
        found = getattr(library.nn.functional, f"conv{rank}d")(
            x, weight, None, _several(options, "strides", rank), before,
            _several(options, "dilation", rank), int(axis_of(options, "groups")),
        )  # fmt: skip
        return _result(found, options, "data_layout", plain)

    return call


def _conv_transpose(rank: int) -> Rule:
    def call(library: Any, args: list[Any], options: Options) -> Any:
        plain = _PLAIN_LAYOUTS[rank]
        x = _operand(args[0], options, "data_layout", plain)
        weight = _operand(args[1], options, "kernel_layout", _TURNED_KERNELS[rank])
        if x is None or weight is None:
            return None
        before, after = _sides(options, rank)
        even = before == after
        found = getattr(library.nn.functional, f"conv_transpose{rank}d")(
            x, weight, None, _several(options, "strides", rank), before if even else [0] * rank,
            _several(options, "output_padding", rank, 0), int(axis_of(options, "groups")),
            _several(options, "dilation", rank),
        )  # fmt: skip
        if not even:  # padding of a transposed convolution is what it cuts off
            for axis, (low, high) in enumerate(zip(before, after), start=2):
                found = found.narrow(axis, low, found.shape[axis] - low - high)
        return _result(found, options, "data_layout", plain)

    return call


# --- pools ---


def _pool(word: str, rank: int) -> Rule:
    def call(library: Any, args: list[Any], options: Options) -> Any:
        plain = _PLAIN_LAYOUTS[rank]
        x = _operand(args[0], options, "layout", plain)
        if x is None:
            return None
        size, steps = (_several(options, key, rank) for key in ("pool_size", "strides"))
        dilation, (before, after) = _several(options, "dilation", rank), _sides(options, rank)
        ceil = bool(numbers(options.get("ceil_mode", False)))
        uneven = before != after or any(2 * p > s for p, s in zip(before, size))
        functional = library.nn.functional
        if word == "max":
            if uneven:
                if not x.is_floating_point():
                    return None
                x, before = _padded(library, x, before, after, -float("inf")), [0] * rank
            found = getattr(functional, f"max_pool{rank}d")(
                x, size, steps, before, dilation, ceil_mode=ceil
            )
        else:
            if uneven or ceil or any(d != 1 for d in dilation):
                return None
            counted = bool(numbers(options.get("count_include_pad", False)))
            found = getattr(functional, f"avg_pool{rank}d")(
                x, size, steps, before, count_include_pad=counted
            )
        return _result(found, options, "layout", plain)

    return call


def _adaptive_pool(rank: int) -> Rule:
    def call(library: Any, args: list[Any], options: Options) -> Any:
        plain = _PLAIN_LAYOUTS[rank]
        x = _operand(args[0], options, "layout", plain)
        if x is None:
            return None
        size = numbers(options.get("output_size"))
        wanted = list(x.shape[2:]) if size is None else _several(options, "output_size", rank)
        found = getattr(library.nn.functional, f"adaptive_avg_pool{rank}d")(x, wanted)
        return _result(found, options, "layout", plain)

    return call


# --- activations ---


def _softmax(word: str) -> Rule:
    def call(library: Any, args: list[Any], options: Options) -> Any:
        return getattr(library.nn.functional, word)(args[0], dim=int(axis_of(options)))

    return call


def _leaky(library: Any, args: list[Any], options: Options) -> Any:
    return library.nn.functional.leaky_relu(args[0], float(numbers(options.get("alpha"))))


def _gelu_tanh(library: Any, args: list[Any], options: Options) -> Any:
    return library.nn.functional.gelu(args[0], approximate="tanh")


def _softplus(library: Any, args: list[Any], options: Options) -> Any:
    beta, threshold = (float(numbers(options[key])) for key in ("beta", "threshold"))
    return library.nn.functional.softplus(args[0], beta, threshold)


def _prelu(library: Any, args: list[Any], options: Options) -> Any:
    """Torch has a slope for each channel of the second axis."""
    x, slope = args
    axis = int(axis_of(options)) % x.dim() if x.dim() > 1 else 0
    if axis == 1:
        return library.nn.functional.prelu(x, slope)
    if x.dim() == 1:
        return library.nn.functional.prelu(x[None], slope)[0]
    moved = library.nn.functional.prelu(x.movedim(axis, 1), slope)
    return moved.movedim(1, axis)


# --- norms ---


def _along(values: Any, rank: int, axes: Sequence[int]) -> Any:
    """Factors along axes, in the shape that goes with the whole tensor."""
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    shape = [1] * rank
    for axis, extent in zip(axes, values.shape):
        shape[axis] = extent
    return values.permute(order).reshape(shape)


def _from_front(axes: Any, rank: int) -> list[int]:
    given = axes if isinstance(axes, list) else [axes]
    return [int(axis) % rank for axis in given]


def _epsilon(options: Options) -> float:
    return float(numbers(options["epsilon"]))


def _layer_norm(library: Any, args: list[Any], options: Options) -> Any:
    x, gamma, beta = args
    rank = x.dim()
    axes = _from_front(axis_of(options, "axes"), rank)
    last = list(range(rank - len(axes), rank))
    shape = [x.shape[axis] for axis in axes]
    functional = library.nn.functional
    if axes == last:
        return functional.layer_norm(x, shape, gamma, beta, _epsilon(options))
    moved = functional.layer_norm(x.movedim(axes, last), shape, gamma, beta, _epsilon(options))
    return moved.movedim(last, axes)


def _rms_norm(library: Any, args: list[Any], options: Options) -> Any:
    x, weight = args
    rank = x.dim()
    axes = _from_front(axis_of(options, "axes"), rank)
    last = list(range(rank - len(axes), rank))
    shape = [x.shape[axis] for axis in axes]
    moved = library.nn.functional.rms_norm(x.movedim(axes, last), shape, weight, _epsilon(options))
    return moved.movedim(last, axes)


def _group_norm(library: Any, args: list[Any], options: Options) -> Any:
    """Torch's is over the channels of a group and all axes behind the channels."""
    x, gamma, beta = args
    rank = x.dim()
    axes = sorted(_from_front(axis_of(options, "axes"), rank))
    channel = int(axis_of(options, "channel_axis")) % rank
    others = [axis for axis in range(rank) if axis != channel and axis not in axes]
    order = [*others, channel, *axes]
    moved = x.permute(order)
    flat = moved.reshape(-1, x.shape[channel], *(x.shape[axis] for axis in axes))
    groups = int(axis_of(options, "num_groups"))
    made = library.nn.functional.group_norm(flat, groups, gamma, beta, _epsilon(options))
    back = [order.index(axis) for axis in range(rank)]
    return made.reshape(moved.shape).permute(back)


def _instance_norm(library: Any, args: list[Any], options: Options) -> Any:
    """Torch's is over all axes behind the channels, which are the second."""
    x, gamma, beta = args
    rank = x.dim()
    axes = sorted(_from_front(axis_of(options, "axes"), rank))
    channel = int(axis_of(options, "channel_axis")) % rank
    others = [axis for axis in range(rank) if axis != channel and axis not in axes]
    if len(others) != 1 or channel in axes:
        return None
    order = [*others, channel, *axes]
    made = library.nn.functional.instance_norm(
        x.permute(order), weight=gamma, bias=beta, eps=_epsilon(options)
    )
    return made.permute([order.index(axis) for axis in range(rank)])


def _batch_norm(library: Any, args: list[Any], options: Options) -> Any:
    """Running variances are without the correction for the sample that torch makes."""
    x, gamma, beta, mean, var = args
    axis = int(axis_of(options)) % x.dim()
    scale, center = (bool(numbers(options.get(key, True))) for key in ("scale", "center"))
    training = bool(numbers(options.get("training", False)))
    new_mean, new_var = mean, var
    if training:
        momentum = float(numbers(options["momentum"]))
        others = [i for i in range(x.dim()) if i != axis]
        seen = library.var_mean(x, dim=others, correction=0)
        new_mean = mean * (1 - momentum) + seen[1] * momentum
        new_var = var * (1 - momentum) + seen[0] * momentum
        var, mean = seen
    made = library.nn.functional.batch_norm(
        x.movedim(axis, 1), mean, var, gamma if scale else None, beta if center else None,
        training=False, eps=_epsilon(options),
    )  # fmt: skip
    return made.movedim(1, axis), new_mean, new_var


def _dropout(library: Any, args: list[Any], options: Options) -> Any:
    kept = library.nn.functional.dropout(args[0], float(numbers(options["rate"])), training=False)
    return kept, library.ones_like(args[0])


# --- losses ---


def _nll_loss(library: Any, args: list[Any], options: Options) -> Any:
    x, targets, *weights = args
    return library.nn.functional.nll_loss(
        x, targets.to(library.int64), *weights, ignore_index=int(axis_of(options, "ignore_index")),
        reduction=str(options["reduction"]),
    )  # fmt: skip


def _cross_entropy(library: Any, args: list[Any], options: Options) -> Any:
    """Predictions are logarithms already: the product with the labels, for each row."""
    predictions, labels = args
    rows = predictions.shape[0] if predictions.dim() > 1 else 1
    return -(predictions * labels).sum() / rows


# --- the rest ---


def _linear(library: Any, args: list[Any], options: Options) -> Any:
    return library.nn.functional.linear(*args)


_PADS: Final = {"constant": "constant", "reflect": "reflect", "replicate": "replicate",
                "edge": "replicate", "circular": "circular"}  # fmt: skip


def _pad(library: Any, args: list[Any], options: Options) -> Any:
    x = args[0]
    width = [int(one) for one in numbers(options["pad_width"])]
    mode = _PADS.get(str(options.get("pad_mode") or "constant"))
    before, after = width[::2], width[1::2]
    if mode == "constant":
        return _padded(library, x, before, after, float(numbers(options.get("pad_value")) or 0))
    # torch has the other modes for the last axes of tensors that have two more
    inner = x.dim() - 2
    if mode is None or not 1 <= inner <= 3 or any((*before[:2], *after[:2])):
        return None
    pairs = [side for pair in zip(before[:1:-1], after[:1:-1]) for side in pair]
    return library.nn.functional.pad(x, pairs, mode=mode)


def _pixel_shuffle(library: Any, args: list[Any], options: Options) -> Any:
    return library.nn.functional.pixel_shuffle(args[0], int(axis_of(options, "upscale_factor")))


def _attention(library: Any, args: list[Any], options: Options) -> Any:
    """Heads are on the third axis here, on the second in torch."""
    query, key, value, *bias = args
    q, k, v = (x.transpose(1, 2) for x in (query, key, value))
    causal, window = options.get("causal_mask"), numbers(options.get("window_size"))
    scale = numbers(options.get("scale"))
    mask = bias[0] if bias else None
    if causal is not None or window is not None:
        rows = library.arange(q.shape[2])[:, None]
        if str(causal) == "BottomRight":
            rows = rows + k.shape[2] - q.shape[2]
        columns = library.arange(k.shape[2])[None]
        seen = columns <= rows
        if window is not None:
            seen = seen & (columns > rows - int(window))
        least = library.finfo(q.dtype).min
        none = library.zeros((), dtype=q.dtype) if mask is None else mask
        mask = library.where(seen, none, library.full_like(none, least))
    found = library.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
    return found.transpose(1, 2)


NN_RULES: Final[dict[str, Rule]] = {
    "attention": _attention,
    "batch_norm": _batch_norm,
    "cross_entropy_with_logits": _cross_entropy,
    "dropout": _dropout,
    "gelu_tanh": _gelu_tanh,
    "group_norm": _group_norm,
    "instance_norm": _instance_norm,
    "layer_norm": _layer_norm,
    "leakyrelu": _leaky,
    "linear": _linear,
    "log_softmax": _softmax("log_softmax"),
    "nll_loss": _nll_loss,
    "pad": _pad,
    "pixel_shuffle": _pixel_shuffle,
    "prelu": _prelu,
    "rms_norm": _rms_norm,
    "softmax": _softmax("softmax"),
    "softplus": _softplus,
    **{f"conv{rank}d": _conv(rank) for rank in (1, 2, 3)},
    **{f"conv{rank}d_transpose": _conv_transpose(rank) for rank in (1, 2, 3)},
    **{f"max_pool{rank}d": _pool("max", rank) for rank in (1, 2, 3)},
    **{f"avg_pool{rank}d": _pool("avg", rank) for rank in (1, 2, 3)},
    **{f"adaptive_avg_pool{rank}d": _adaptive_pool(rank) for rank in (1, 2, 3)},
}
