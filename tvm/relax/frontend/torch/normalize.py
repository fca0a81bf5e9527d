"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.expr import PrimExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant, TupleGetItem

from .dtypes import is_float
from .registry import convert
from .values import (
    Expr,
    axis_of,
    dtype_of,
    length,
    product,
    rank,
    scalar,
    sizes,
    tensor_of,
)


def _full(value: float, shape: Sequence[Any], dtype: str) -> Expr:
    """A parameter that is left out."""
    if any(isinstance(n, PrimExpr) for n in shape):
        return op.full(list(shape), scalar(value, dtype), dtype)
    import numpy as np

    from tvm.relax.numpy_dtype import numpy_dtype
    from tvm.support.dtype import DataType

    return Constant(np.full([int(n) for n in shape], value, numpy_dtype(DataType(dtype))))


def _scale_and_shift(
    weight: Expr | None, bias: Expr | None, shape: Sequence[Any], dtype: str
) -> tuple[Expr, Expr]:
    return (
        _full(1.0, shape, dtype) if weight is None else weight,
        _full(0.0, shape, dtype) if bias is None else bias,
    )


def normalize_batch(
    bb: BlockBuilder,
    input: Expr,
    weight: Expr | None,
    bias: Expr | None,
    running_mean: Expr | None,
    running_var: Expr | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Expr:
    """The triple of `relax.nn.batch_norm`: the result, and the running statistics after it."""
    channels = length(running_mean or input, 1 if running_mean is None else 0, "batch_norm")
    dtype = dtype_of(input)
    scale, shift = _scale_and_shift(weight, bias, [channels], dtype)
    mean, var = _scale_and_shift(running_var, running_mean, [channels], dtype)[::-1]
    return bb.emit(
        op.nn.batch_norm(
            input, scale, shift, mean, var, axis=1, epsilon=float(eps),
            momentum=float(momentum), training=bool(training),
        )
    )  # fmt: skip


@convert("batch_norm")
def batch_norm(
    bb: BlockBuilder,
    input: Expr,
    weight: Expr | None = None,
    bias: Expr | None = None,
    running_mean: Expr | None = None,
    running_var: Expr | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    cudnn_enabled: bool = False,
) -> Expr:
    made = normalize_batch(
        bb, input, weight, bias, running_mean, running_var, training, momentum, eps
    )
    return TupleGetItem(made, 0)


@convert("batch_norm.functional")
def functional_batch_norm(
    bb: BlockBuilder,
    input: Expr,
    running_mean: Expr | None,
    running_var: Expr | None,
    weight: Expr | None = None,
    bias: Expr | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """`torch.nn.functional.batch_norm` has the statistics before the parameters."""
    return batch_norm(bb, input, weight, bias, running_mean, running_var, training, momentum, eps)


@convert("_native_batch_norm_legit_no_training")
def batch_norm_no_training(
    bb: BlockBuilder,
    input: Expr,
    weight: Expr | None,
    bias: Expr | None,
    running_mean: Expr,
    running_var: Expr,
    momentum: float,
    eps: float,
) -> Any:
    made = normalize_batch(bb, input, weight, bias, running_mean, running_var, False, momentum, eps)
    empty = _full(0.0, [0], "float32")
    return TupleGetItem(made, 0), empty, empty


@convert("_native_batch_norm_legit", "native_batch_norm")
def native_batch_norm(bb: BlockBuilder, input: Expr, *args: Any) -> Any:
    """Result, mean and inverse deviation of the batch."""
    return batch_norm_training(bb, input, *args)[:3]


@convert("_native_batch_norm_legit_functional")
def batch_norm_training(
    bb: BlockBuilder,
    input: Expr,
    weight: Expr | None,
    bias: Expr | None,
    running_mean: Any,
    running_var: Any,
    *rest: Any,
) -> Any:
    """Result, mean and inverse deviation of the batch, running mean, running variance."""
    if isinstance(running_mean, bool):  # the overload without statistics
        rest = (running_mean, running_var, *rest)
        running_mean = running_var = None
    training, momentum, eps = rest
    made = normalize_batch(
        bb, input, weight, bias, running_mean, running_var, training, momentum, eps
    )
    axes = [axis for axis in range(rank(input)) if axis != 1]

    def variance_after() -> Any:
        if training and running_var is not None:
            return _unbiased(bb, input, running_var, momentum)
        return TupleGetItem(made, 2)

    none = _full(0.0, [0], "float32")  # nothing of the batch is saved outside of training
    return (
        TupleGetItem(made, 0),
        lambda: op.mean(input, axes) if training else none,
        lambda: _inverse_deviation(input, axes, eps) if training else none,
        lambda: TupleGetItem(made, 1),
        variance_after,
    )


def _inverse_deviation(x: Expr, axes: Any, eps: float, keepdims: bool = False) -> Expr:
    spread = op.variance(x, axes, keepdims)
    return op.rsqrt(op.add(spread, scalar(float(eps), dtype_of(x))))


def _unbiased(bb: BlockBuilder, x: Expr, running_var: Expr, momentum: float) -> Any:
    """The running variance: torch takes in the batch's unbiased one."""
    axes = [axis for axis in range(rank(x)) if axis != 1]
    dtype = dtype_of(x)
    count = product([sizes(x)[axis] for axis in axes])
    if isinstance(count, PrimExpr):
        many = bb.emit(op.astype(tensor_of(bb, count, "int64"), dtype))
        others = op.maximum(op.subtract(many, scalar(1.0, dtype)), scalar(1.0, dtype))
        factor: Any = op.divide(op.multiply(many, scalar(momentum, dtype)), others)
    else:
        factor = scalar(momentum * count / max(count - 1, 1), dtype)
    kept = op.multiply(running_var, scalar(1.0 - momentum, dtype))
    return op.add(kept, op.multiply(op.variance(x, axes), factor))


@convert("layer_norm")
def layer_norm(
    bb: BlockBuilder,
    input: Expr,
    normalized_shape: Any,
    weight: Expr | None = None,
    bias: Expr | None = None,
    eps: float = 1e-5,
    *flags: Any,
) -> Expr:
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    scale, shift = _scale_and_shift(weight, bias, shape, dtype_of(input))
    axes = list(range(-len(shape), 0))
    return op.nn.layer_norm(input, scale, shift, axes=axes, epsilon=float(eps))


@convert("native_layer_norm")
def native_layer_norm(
    bb: BlockBuilder, input: Expr, normalized_shape: Any, weight: Any, bias: Any, eps: float
) -> Any:
    made = bb.emit(layer_norm(bb, input, normalized_shape, weight, bias, eps))
    axes = list(range(-len(normalized_shape), 0))
    return (
        made,
        lambda: op.mean(input, axes, True),
        lambda: _inverse_deviation(input, axes, eps, True),
    )


@convert("group_norm")
def group_norm(
    bb: BlockBuilder,
    input: Expr,
    num_groups: int,
    weight: Expr | None = None,
    bias: Expr | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Expr:
    channels = sizes(input)[1]
    scale, shift = _scale_and_shift(weight, bias, [channels], dtype_of(input))
    axes = list(range(2, rank(input)))
    return op.nn.group_norm(
        input, scale, shift, num_groups=num_groups, channel_axis=1, axes=axes, epsilon=float(eps)
    )


@convert("native_group_norm")
def native_group_norm(
    bb: BlockBuilder, input: Expr, weight: Any, bias: Any, N: Any, C: Any, HxW: Any, group: int,
    eps: float,
) -> Any:  # fmt: skip
    made = bb.emit(group_norm(bb, input, group, weight, bias, eps))

    def rows() -> Expr:
        return bb.emit(op.reshape(input, [N, group, -1]))

    return made, lambda: op.mean(rows(), -1), lambda: _inverse_deviation(rows(), -1, eps)


@convert("instance_norm")
def instance_norm(
    bb: BlockBuilder,
    input: Expr,
    weight: Expr | None = None,
    bias: Expr | None = None,
    running_mean: Expr | None = None,
    running_var: Expr | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    """Every picture and channel by itself; or, with running statistics, as batches are."""
    if not use_input_stats:
        return batch_norm(
            bb, input, weight, bias, running_mean, running_var, False, momentum, eps
        )
    channels = sizes(input)[1]
    scale, shift = _scale_and_shift(weight, bias, [channels], dtype_of(input))
    axes = list(range(2, rank(input)))
    return op.nn.instance_norm(
        input, scale, shift, channel_axis=1, axes=axes, epsilon=float(eps)
    )


@convert("instance_norm.functional")
def functional_instance_norm(
    bb: BlockBuilder,
    input: Expr,
    running_mean: Expr | None = None,
    running_var: Expr | None = None,
    weight: Expr | None = None,
    bias: Expr | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """`torch.nn.functional.instance_norm` has the statistics before the parameters."""
    return instance_norm(
        bb, input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps
    )


@convert("rms_norm")
def rms_norm(
    bb: BlockBuilder,
    input: Expr,
    normalized_shape: Any,
    weight: Expr | None = None,
    eps: float | None = None,
) -> Expr:
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    scale = _full(1.0, shape, dtype_of(input)) if weight is None else weight
    small = machine_epsilon(dtype_of(input)) if eps is None else float(eps)
    return op.nn.rms_norm(input, scale, axes=list(range(-len(shape), 0)), epsilon=small)


@convert("_fused_rms_norm")
def fused_rms_norm(
    bb: BlockBuilder, input: Expr, normalized_shape: Any, weight: Any, eps: float | None
) -> Any:
    made = bb.emit(rms_norm(bb, input, normalized_shape, weight, eps))
    axes = list(range(-len(normalized_shape), 0))
    small = machine_epsilon(dtype_of(input)) if eps is None else float(eps)

    def inverse_size() -> Expr:
        square = op.mean(op.square(input), axes, True)
        return op.rsqrt(op.add(square, scalar(small, dtype_of(input))))

    return made, inverse_size


def machine_epsilon(dtype: str) -> float:
    """The distance from 1 to the next number."""
    assert is_float(dtype), "norms are of floats"
    return 2.0 ** -{"float16": 10, "bfloat16": 7, "float64": 52}.get(dtype, 23)


@convert("local_response_norm")
def local_response_norm(
    bb: BlockBuilder, input: Expr, size: int, alpha: float = 1e-4, beta: float = 0.75,
    k: float = 1.0,
) -> Expr:
    """x / (k + alpha * mean of squares over `size` neighbouring channels) ** beta"""
    dtype = dtype_of(input)
    width = [0, 0, size // 2, (size - 1) // 2, *[0, 0] * (rank(input) - 2)]
    squares = bb.emit(op.nn.pad(op.multiply(input, input), width))
    channels = length(input, 1, "local_response_norm")
    total: Expr | None = None
    for start in range(size):
        part = bb.emit(op.strided_slice(squares, [1], [start], [start + channels]))
        total = part if total is None else bb.emit(op.add(total, part))
    assert total is not None, "there is a channel"
    mean = op.add(scalar(k, dtype), op.multiply(total, scalar(alpha / size, dtype)))
    return op.divide(input, op.power(mean, scalar(beta, dtype)))


@convert("normalize")
def normalize(
    bb: BlockBuilder, input: Expr, p: float = 2.0, dim: int = 1, eps: float = 1e-12
) -> Expr:
    from .reduction import norm

    length = norm(bb, input, p, [axis_of(dim, rank(input))], True)
    return op.divide(input, op.maximum(length, scalar(eps, dtype_of(input))))
