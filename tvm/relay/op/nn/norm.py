"""Activations and normalisations."""

from __future__ import annotations

from typing import Any

from tvm.ir.op import Op
from tvm.ir.type import TupleType, Type
from tvm.relax import op as R
from tvm.relay.expr import Call, TupleWrapper
from tvm.relay.op.declare import (
    BROADCAST,
    ELEMWISE,
    OUT_FUSABLE,
    REQUIRED,
    Expr,
    Relate,
    relay_op,
    te,
    topi,
)
from tvm.relay.op.relations import (
    along_axis,
    axis_of,
    extents,
    identity,
    is_any,
    same_extent,
    tensor,
    vector,
)
from tvm.relay.ty import TensorType


@relay_op("nn.relu", relation=identity, pattern=ELEMWISE, level=1,
          lower=lambda bb, x: R.nn.relu(x))  # fmt: skip
def relu(data: Expr) -> Call:
    """max(x, 0)."""
    return relu.call(data)


@relay_op("nn.leaky_relu", "LeakyReluAttrs", operands=("data",), relation=identity,
          pattern=ELEMWISE, level=3, optional={"alpha": 0.25},
          lower=lambda bb, x, *, alpha: R.nn.leakyrelu(x, alpha))  # fmt: skip
def leaky_relu(data: Expr, alpha: float = 0.01) -> Call:
    """x where it is positive, alpha * x elsewhere."""
    return leaky_relu.call(data, alpha=float(alpha))


def _prelu_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    axis = axis_of(ctx, int(ctx.attrs.axis), len(x.shape))
    vector(ctx, 1, extents(x)[axis], x.dtype)
    return x


@relay_op("nn.prelu", "PReluAttrs", operands=("data", "alpha"), relation=_prelu_type,
          pattern=BROADCAST, level=3, lower=lambda bb, x, a, *, axis: R.nn.prelu(x, a, axis)
          )  # fmt: skip
def prelu(data: Expr, alpha: Expr, axis: int = 1) -> Call:
    """x where it is positive, alpha * x elsewhere, with an alpha for each channel."""
    return prelu.call(data, alpha, axis=axis)


def _along_axis(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is not None:
        axis_of(ctx, int(ctx.attrs.axis), len(x.shape))
    return x


@relay_op("nn.softmax", "SoftmaxAttrs", operands=("data",), relation=_along_axis, level=1,
          pattern=OUT_FUSABLE, lower=lambda bb, x, *, axis: R.nn.softmax(x, axis))  # fmt: skip
def softmax(data: Expr, axis: int = -1) -> Call:
    """exp(x) over its sum along an axis."""
    return softmax.call(data, axis=axis)


@relay_op("nn.fast_softmax", "SoftmaxAttrs", operands=("data",), relation=_along_axis, level=1,
          pattern=OUT_FUSABLE, lower=te(topi.nn.fast_softmax))  # fmt: skip
def fast_softmax(data: Expr, axis: int = -1) -> Call:
    """As softmax, less exact."""
    return fast_softmax.call(data, axis=axis)


@relay_op("nn.log_softmax", "SoftmaxAttrs", operands=("data",), relation=_along_axis, level=1,
          pattern=OUT_FUSABLE, lower=lambda bb, x, *, axis: R.nn.log_softmax(x, axis))  # fmt: skip
def log_softmax(data: Expr, axis: int = -1) -> Call:
    """The logarithm of softmax."""
    return log_softmax.call(data, axis=axis)


def _channel_vectors(ctx: Relate, count: int) -> TensorType | None:
    """The type of the data, whose vectors along the axis become known by it."""
    x = tensor(ctx, 0)
    if x is None:
        return None
    axis = axis_of(ctx, int(ctx.attrs.axis), len(x.shape))
    for index in range(1, count + 1):
        vector(ctx, index, extents(x)[axis], x.dtype)
        given = extents(tensor(ctx, index))[0] if tensor(ctx, index).shape else 1  # type: ignore[arg-type,union-attr]
        want = extents(x)[axis]
        if isinstance(given, int) and isinstance(want, int) and given != want:
            raise ctx.fail(f"operand {index} has {given} elements", f"{want}, as the axis has")
    return x


def _batch_norm_type(ctx: Relate) -> Type | None:
    x = _channel_vectors(ctx, 4)
    if x is None:
        return None
    axis = int(ctx.attrs.axis) % len(x.shape)
    each = TensorType((x.shape[axis],), x.dtype)
    return TupleType([x, each, each])


def _batch_norm(bb: Any, x: Any, gamma: Any, beta: Any, mean: Any, var: Any, **o: Any) -> Any:
    return R.nn.batch_norm(
        x, gamma, beta, mean, var, o["axis"], o["epsilon"], o["center"], o["scale"],
        training=False,
    )  # fmt: skip


@relay_op("nn.batch_norm", "BatchNormAttrs", relation=_batch_norm_type,
          level=1, pattern=OUT_FUSABLE,
          operands=("data", "gamma", "beta", "moving_mean", "moving_var"), lower=_batch_norm
          )  # fmt: skip
def batch_norm(
    data: Expr, gamma: Expr, beta: Expr, moving_mean: Expr, moving_var: Expr, axis: int = 1,
    epsilon: float = 1e-05, center: bool = True, scale: bool = True,
) -> Any:  # fmt: skip
    """Data scaled and moved by given means and variances; those come along unchanged."""
    made = batch_norm.call(
        data, gamma, beta, moving_mean, moving_var, axis=axis, epsilon=float(epsilon),
        center=center, scale=scale,
    )  # fmt: skip
    return TupleWrapper(made, 3)


def _two_vectors(ctx: Relate) -> Type | None:
    return _channel_vectors(ctx, 2)


def _instance_norm(bb: Any, x: Any, g: Any, b: Any, **o: Any) -> Any:
    rank = x.struct_info.ndim
    axis = o["axis"] % rank
    axes = [at for at in range(1, rank) if at != axis]
    return R.nn.instance_norm(x, g, b, axis, axes, o["epsilon"], o["center"], o["scale"])


@relay_op("nn.instance_norm", "InstanceNormAttrs", operands=("data", "gamma", "beta"), level=1,
          relation=_two_vectors, lower=_instance_norm)  # fmt: skip
def instance_norm(
    data: Expr, gamma: Expr, beta: Expr, axis: int = 1, epsilon: float = 1e-05,
    center: bool = True, scale: bool = True,
) -> Call:  # fmt: skip
    """Each channel of each sample normalised on its own."""
    return instance_norm.call(
        data, gamma, beta, axis=axis, epsilon=float(epsilon), center=center, scale=scale
    )


@relay_op("nn.layer_norm", "LayerNormAttrs", operands=("data", "gamma", "beta"), level=1,
          relation=_two_vectors,
          lower=lambda bb, x, g, b, **o: R.nn.layer_norm(
              x, g, b, [o["axis"]], o["epsilon"], o["center"], o["scale"]))  # fmt: skip
def layer_norm(
    data: Expr, gamma: Expr, beta: Expr, axis: int = -1, epsilon: float = 1e-05,
    center: bool = True, scale: bool = True,
) -> Call:  # fmt: skip
    """Rows along an axis normalised."""
    return layer_norm.call(
        data, gamma, beta, axis=axis, epsilon=float(epsilon), center=center, scale=scale
    )


def _group_norm(bb: Any, x: Any, g: Any, b: Any, **o: Any) -> Any:
    rank = x.struct_info.ndim
    axis = o["axis"] % rank
    axes = [at for at in range(1, rank) if at != axis]
    return R.nn.group_norm(
        x, g, b, o["num_groups"], axis, axes, o["epsilon"], o["center"], o["scale"]
    )


@relay_op("nn.group_norm", "GroupNormAttrs", operands=("data", "gamma", "beta"), level=1,
          relation=_two_vectors, lower=_group_norm, optional={"num_groups": 0})  # fmt: skip
def group_norm(
    data: Expr, gamma: Expr, beta: Expr, num_groups: int, axis: int = 1, epsilon: float = 1e-05,
    center: bool = True, scale: bool = True,
) -> Call:  # fmt: skip
    """Groups of channels normalised together."""
    return group_norm.call(
        data, gamma, beta, num_groups=num_groups, axis=axis, epsilon=float(epsilon),
        center=center, scale=scale,
    )  # fmt: skip


def _local(ctx: Relate) -> Type | None:
    if int(ctx.attrs.size) % 2 == 0:
        raise ctx.fail(f"size {ctx.attrs.size} has no middle", "an odd number")
    return along_axis(ctx)


@relay_op("nn.lrn", "LRNAttrs", operands=("data",), relation=_local, level=2,
          optional={"bias": 2.0, "alpha": 1e-4},
          lower=lambda bb, x, *, size, axis, bias, alpha, beta: bb.call_te(
              topi.nn.lrn, x, size, axis, alpha, beta, bias))  # fmt: skip
def lrn(
    data: Expr, size: int = 5, axis: int = 1, bias: float = 2, alpha: float = 1e-05,
    beta: float = 0.75,
) -> Call:  # fmt: skip
    """Each value over a power of the squares of its neighbours along an axis."""
    return lrn.call(
        data, size=size, axis=axis, bias=float(bias), alpha=float(alpha), beta=float(beta)
    )


def _l2(bb: Any, x: Any, *, eps: float, axis: Any) -> Any:
    from tvm.relax import const

    axes = None if axis is None else list(axis)
    squares = bb.emit(R.multiply(x, x))
    total = bb.emit(R.sum(squares, axes, keepdims=True))
    return R.divide(x, bb.emit(R.sqrt(bb.emit(
        R.maximum(total, const(eps, x.struct_info.dtype))))))  # fmt: skip


@relay_op("nn.l2_normalize", "L2NormalizeAttrs", operands=("data",), relation=along_axis, level=2,
          lower=_l2, optional={"axis": REQUIRED})  # fmt: skip
def l2_normalize(data: Expr, eps: float, axis: Any = None) -> Call:
    """Values over the root of the sum of their squares along axes."""
    axes = None if axis is None else tuple(int(a) for a in axis)
    return l2_normalize.call(data, eps=float(eps), axis=axes)


def _dropout_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    return None if x is None else TupleType([x, x])


def _dropout(bb: Any, x: Any, *, rate: float) -> Any:
    from tvm.relax import Tuple

    return Tuple([x, bb.emit(R.ones_like(x))])


@relay_op("nn.dropout", "DropoutAttrs", operands=("data",), relation=_dropout_type, level=1,
          lower=_dropout)  # fmt: skip
def dropout_raw(data: Expr, rate: float = 0.5) -> Call:
    """The data and the mask of dropout; when a model runs, everything is kept."""
    return dropout_raw.call(data, rate=float(rate))


Op.get("nn.dropout").set_attr("TOpIsStateful", True)  # each call drops others


def dropout(data: Expr, rate: float = 0.5) -> Expr:
    """The data after dropout; when a model runs, everything is kept."""
    return TupleWrapper(dropout_raw(data, rate), 2)[0]


def _xent(bb: Any, p: Any, t: Any) -> Any:
    return _negative_sum(bb, bb.emit(R.log(p)), t)


def _negative_sum(bb: Any, logs: Any, targets: Any) -> Any:
    from tvm.relax import const

    total = bb.emit(R.sum(bb.emit(R.multiply(logs, targets))))
    rows = int(logs.struct_info.shape.values[0])
    return R.divide(R.negative(total), const(float(rows), logs.struct_info.dtype))


def _scalar_type(ctx: Relate) -> Type | None:
    x, targets = tensor(ctx, 0), tensor(ctx, 1)
    if x is None or targets is None:
        return None
    pairs = list(zip(extents(x), extents(targets)))
    if len(x.shape) != 2 or len(targets.shape) != 2 or not all(
        is_any(a, b) or same_extent(a, b) for a, b in pairs
    ):
        raise ctx.fail("the shapes do not fit", "two matrices of one shape")
    return TensorType((), x.dtype)


@relay_op("nn.cross_entropy", relation=_scalar_type, level=10, lower=_xent)
def cross_entropy(predictions: Expr, targets: Expr) -> Call:
    """The mean over rows of -sum(targets * log(predictions))."""
    return cross_entropy.call(predictions, targets)


@relay_op("nn.cross_entropy_with_logits", relation=_scalar_type, level=10,
          lower=lambda bb, p, t: _negative_sum(bb, p, t))  # fmt: skip
def cross_entropy_with_logits(predictions: Expr, targets: Expr) -> Call:
    """The mean over rows of -sum(targets * predictions), of logarithms."""
    return cross_entropy_with_logits.call(predictions, targets)


@relay_op("nn.nll_loss", "NLLLossAttrs", operands=("predictions", "targets", "weights"),
          optional={"ignore_index": REQUIRED},
          lower=lambda bb, p, t, w, *, reduction, ignore_index: bb.call_te(
              topi.nn.nll_loss, p, t, w, reduction, ignore_index), pattern=OUT_FUSABLE)  # fmt: skip
def nll_loss(
    predictions: Expr, targets: Expr, weights: Expr, reduction: str = "mean",
    ignore_index: int = -100,
) -> Call:  # fmt: skip
    """The weighted negative likelihood of the target classes."""
    return nll_loss.call(
        predictions, targets, weights, reduction=reduction, ignore_index=ignore_index
    )
