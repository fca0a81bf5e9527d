"""Losses."""

from __future__ import annotations

import math
from typing import Any

from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder

from .registry import convert
from .values import (
    Expr,
    dtype_of,
    floating,
    product,
    rank,
    refuse,
    scalar,
    sizes,
    tensor_of,
)

_REDUCTIONS = ("none", "mean", "sum")


def _reduction(reduction: Any) -> str:
    """Aten says 0, 1, 2; torch.nn the name."""
    name = _REDUCTIONS[reduction] if isinstance(reduction, int) else str(reduction)
    if name not in _REDUCTIONS:
        raise refuse("a loss's reduction", repr(name), ", ".join(_REDUCTIONS))
    return name


def _reduced(loss: Expr, reduction: Any) -> Any:
    how = _reduction(reduction)
    if how == "none":
        return loss
    return op.mean(loss) if how == "mean" else op.sum(loss)


@convert("mse_loss")
def mse_loss(
    bb: BlockBuilder, input: Expr, target: Expr, reduction: Any = "mean", **options: Any
) -> Any:
    return _reduced(bb.emit(op.square(op.subtract(input, target))), reduction)


@convert("l1_loss")
def l1_loss(bb: BlockBuilder, input: Expr, target: Expr, reduction: Any = "mean", **o: Any) -> Any:
    return _reduced(bb.emit(op.abs(op.subtract(input, target))), reduction)


@convert("huber_loss")
def huber_loss(
    bb: BlockBuilder, input: Expr, target: Expr, reduction: Any = "mean", delta: float = 1.0,
    weight: Any = None,
) -> Any:  # fmt: skip
    """Half the square up to delta, a line behind it."""
    dtype = dtype_of(input)
    size = bb.emit(op.abs(op.subtract(input, target)))
    width = scalar(float(delta), dtype)
    near = op.multiply(scalar(0.5, dtype), op.multiply(size, size))
    far = op.multiply(width, op.subtract(size, scalar(0.5 * delta, dtype)))
    return _reduced(bb.emit(op.where(op.less(size, width), near, far)), reduction)


@convert("smooth_l1_loss")
def smooth_l1_loss(
    bb: BlockBuilder, input: Expr, target: Expr, reduction: Any = "mean", beta: float = 1.0,
    **options: Any,
) -> Any:  # fmt: skip
    """Huber's loss over beta."""
    if beta == 0:
        return l1_loss(bb, input, target, reduction)
    loss = bb.emit(huber_loss(bb, input, target, "none", beta))
    return _reduced(bb.emit(op.divide(loss, scalar(float(beta), dtype_of(input)))), reduction)


@convert("binary_cross_entropy")
def binary_cross_entropy(
    bb: BlockBuilder, input: Expr, target: Expr, weight: Any = None, reduction: Any = "mean",
    **options: Any,
) -> Any:  # fmt: skip
    """Logarithms are not below -100, as torch has it."""
    dtype = dtype_of(input)
    one, least = scalar(1.0, dtype), scalar(-100.0, dtype)
    held = op.multiply(target, op.maximum(op.log(input), least))
    other = op.maximum(op.log(op.subtract(one, input)), least)
    loss = bb.emit(op.negative(op.add(held, op.multiply(op.subtract(one, target), other))))
    if weight is not None:
        loss = bb.emit(op.multiply(loss, weight))
    return _reduced(loss, reduction)


@convert("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    bb: BlockBuilder, input: Expr, target: Expr, weight: Any = None, *rest: Any,
    pos_weight: Any = None, reduction: Any = "mean", **options: Any,
) -> Any:  # fmt: skip
    """(1 - t) x + w softplus(-x), with w = 1 + (p - 1) t"""
    if rest:  # aten has pos_weight before the reduction
        names = (pos_weight, reduction)
        pos_weight, reduction = (*rest, *names[len(rest) :])[:2]
    one = scalar(1.0, dtype_of(input))
    soft = op.nn.softplus(op.negative(input))
    if pos_weight is not None:
        factor = op.add(one, op.multiply(op.subtract(pos_weight, one), target))
        soft = op.multiply(factor, soft)
    loss = bb.emit(op.add(op.multiply(op.subtract(one, target), input), soft))
    if weight is not None:
        loss = bb.emit(op.multiply(loss, weight))
    return _reduced(loss, reduction)


@convert("kl_div")
def kl_div(
    bb: BlockBuilder, input: Expr, target: Expr, *rest: Any, reduction: Any = "mean",
    log_target: bool = False, **options: Any,
) -> Any:  # fmt: skip
    """t (log t - x), with 0 where t is 0."""
    how = rest[0] if rest else reduction
    zero = scalar(0.0, dtype_of(input))
    if log_target:
        loss = bb.emit(op.multiply(op.exp(target), op.subtract(target, input)))
    else:
        value = op.multiply(target, op.subtract(op.log(target), input))
        loss = bb.emit(op.where(op.greater(target, zero), value, zero))
    if how == "batchmean":
        batch = scalar(float(int(sizes(input)[0])), dtype_of(input))  # type: ignore[arg-type]
        return op.divide(op.sum(loss), batch)
    return _reduced(loss, how)


@convert("nll_loss", "nll_loss_nd", "nll_loss2d")
def nll_loss(
    bb: BlockBuilder, input: Expr, target: Expr, weight: Any = None, *rest: Any,
    reduction: Any = "mean", ignore_index: int = -100, **options: Any,
) -> Any:  # fmt: skip
    if rest:
        reduction, ignore_index = rest[0], (*rest, ignore_index)[1]
    return op.nn.nll_loss(input, target, weight, _reduction(reduction), ignore_index)


@convert("nll_loss_forward", "nll_loss2d_forward")
def nll_loss_forward(
    bb: BlockBuilder, input: Expr, target: Expr, weight: Any, reduction: int, ignore_index: int
) -> Any:
    """The loss, and the weights it was divided by."""
    loss = nll_loss(bb, input, target, weight, reduction, ignore_index)

    def total() -> Any:
        dtype = dtype_of(input)
        counted = op.not_equal(target, scalar(ignore_index, dtype_of(target)))
        if weight is None:
            return op.sum(op.astype(counted, dtype))
        each = op.take(weight, op.reshape(target, [product(sizes(target))]), 0)
        flat = op.reshape(op.astype(counted, dtype), [product(sizes(target))])
        return op.sum(op.multiply(each, flat))

    return loss, total


@convert("cross_entropy_loss", "cross_entropy")
def cross_entropy_loss(
    bb: BlockBuilder, input: Expr, target: Expr, weight: Any = None, *rest: Any,
    reduction: Any = "mean", ignore_index: int = -100, label_smoothing: float = 0.0,
    **options: Any,
) -> Any:  # fmt: skip
    """-log softmax of the scores of classes, at the class or weighted by chances of classes."""
    if rest:
        defaults = (reduction, ignore_index, label_smoothing)
        reduction, ignore_index, label_smoothing = (*rest, *defaults[len(rest) :])[:3]
    axis = 0 if rank(input) == 1 else 1
    scores = bb.emit(op.nn.log_softmax(input, axis if rank(input) > 2 else -1))
    if "float" in dtype_of(target):
        return _chances(bb, scores, target, weight, reduction, label_smoothing, axis)
    plain = op.nn.nll_loss(scores, target, weight, _reduction(reduction), ignore_index)
    if label_smoothing == 0:
        return plain
    if weight is not None or rank(input) != 2:
        raise refuse("cross_entropy: label_smoothing", "with weights or pictures", "rows of scores")
    return _smoothed(bb, scores, target, plain, reduction, ignore_index, label_smoothing)


def _smoothed(
    bb: BlockBuilder, scores: Expr, target: Expr, plain: Expr, reduction: Any, ignore: int,
    smoothing: float,
) -> Expr:  # fmt: skip
    """A part of each class's chance goes to all classes alike."""
    dtype = dtype_of(scores)
    counted = bb.emit(op.astype(op.not_equal(target, scalar(ignore, dtype_of(target))), dtype))
    even = bb.emit(op.multiply(op.negative(op.mean(scores, 1)), counted))
    how = _reduction(reduction)
    if how == "mean":
        even = bb.emit(op.divide(op.sum(even), op.sum(counted)))
    elif how == "sum":
        even = bb.emit(op.sum(even))
    share, rest = scalar(smoothing, dtype), scalar(1.0 - smoothing, dtype)
    return op.add(op.multiply(plain, rest), op.multiply(even, share))


def _chances(
    bb: BlockBuilder, scores: Expr, target: Expr, weight: Any, reduction: Any, smoothing: float,
    axis: int,
) -> Any:  # fmt: skip
    dtype = dtype_of(scores)
    if smoothing:
        classes = int(sizes(scores)[axis])  # type: ignore[arg-type]
        share = scalar(smoothing / classes, dtype)
        target = bb.emit(op.add(op.multiply(target, scalar(1.0 - smoothing, dtype)), share))
    each = op.multiply(scores, target)
    if weight is not None:
        shape = [-1 if i == axis else 1 for i in range(rank(scores))]
        each = op.multiply(each, op.reshape(weight, shape))
    loss = bb.emit(op.negative(op.sum(each, axis)))
    return _reduced(loss, reduction)


@convert("poisson_nll_loss")
def poisson_nll_loss(
    bb: BlockBuilder, input: Expr, target: Expr, log_input: bool = True, full: bool = False,
    eps: float = 1e-8, reduction: Any = "mean", **options: Any,
) -> Any:  # fmt: skip
    """With `full` Stirling's approximation of log(target!), for targets above one."""
    if log_input:
        loss = op.subtract(op.exp(input), op.multiply(target, input))
    else:
        small = scalar(eps, dtype_of(input))
        loss = op.subtract(input, op.multiply(target, op.log(op.add(input, small))))
    if full:
        kind = dtype_of(target)
        turn = op.multiply(scalar(2 * math.pi, kind), target)
        stirling = op.subtract(op.multiply(target, op.log(target)), target)
        stirling = op.add(stirling, op.multiply(scalar(0.5, kind), op.log(turn)))
        above = op.greater(target, scalar(1.0, kind))
        loss = op.add(loss, op.where(above, stirling, scalar(0.0, kind)))
    return _reduced(bb.emit(loss), reduction)


@convert("soft_margin_loss")
def soft_margin_loss(
    bb: BlockBuilder, input: Expr, target: Expr, reduction: Any = "mean", **options: Any
) -> Any:
    return _reduced(bb.emit(op.nn.softplus(op.negative(op.multiply(target, input)))), reduction)


@convert("hinge_embedding_loss")
def hinge_embedding_loss(
    bb: BlockBuilder, input: Expr, target: Expr, margin: float = 1.0, reduction: Any = "mean"
) -> Any:
    """x where the target is 1, max(0, margin - x) where it is -1; elsewhere the sum of both."""
    dtype, kind = dtype_of(input), dtype_of(target)
    zero = scalar(0, dtype)
    away = op.nn.relu(op.subtract(scalar(margin, dtype), input))
    away = op.where(op.not_equal(target, scalar(1, kind)), away, zero)
    near = op.where(op.not_equal(target, scalar(-1, kind)), input, zero)
    return _reduced(bb.emit(op.add(away, near)), reduction)


@convert("margin_ranking_loss")
def margin_ranking_loss(
    bb: BlockBuilder, input1: Expr, input2: Expr, target: Expr, margin: float = 0.0,
    reduction: Any = "mean",
) -> Any:  # fmt: skip
    gap = op.negative(op.multiply(target, op.subtract(input1, input2)))
    return _reduced(bb.emit(op.nn.relu(op.add(gap, scalar(margin, dtype_of(input1))))), reduction)


@convert("cosine_embedding_loss")
def cosine_embedding_loss(
    bb: BlockBuilder, input1: Expr, input2: Expr, target: Expr, margin: float = 0.0,
    reduction: Any = "mean",
) -> Any:  # fmt: skip
    """1 - cos for pairs, max(0, cos - margin) for strangers."""
    from .linear import cosine_similarity

    dtype = dtype_of(input1)
    near = bb.emit(cosine_similarity(bb, input1, input2, -1))
    pair = op.equal(target, scalar(1, dtype_of(target)))
    away = op.nn.relu(op.subtract(near, scalar(margin, dtype)))
    return _reduced(bb.emit(op.where(pair, op.subtract(scalar(1.0, dtype), near), away)), reduction)


@convert("gaussian_nll_loss")
def gaussian_nll_loss(
    bb: BlockBuilder, input: Expr, target: Expr, var: Any, full: bool = False, eps: float = 1e-6,
    reduction: Any = "mean",
) -> Any:  # fmt: skip
    dtype = dtype_of(input)
    spread = op.maximum(floating(bb, var), scalar(eps, dtype))
    square = op.divide(op.square(op.subtract(input, target)), spread)
    loss = op.multiply(scalar(0.5, dtype), op.add(op.log(spread), square))
    if full:
        loss = op.add(loss, scalar(0.5 * math.log(2 * math.pi), dtype))
    return _reduced(bb.emit(loss), reduction)


@convert("triplet_margin_loss")
def triplet_margin_loss(
    bb: BlockBuilder, anchor: Expr, positive: Expr, negative: Expr, margin: float = 1.0,
    p: float = 2.0, eps: float = 1e-6, swap: bool = False, reduction: Any = "mean",
) -> Any:  # fmt: skip
    from .linear import pairwise_distance

    near = bb.emit(pairwise_distance(bb, anchor, positive, p, eps))
    far = bb.emit(pairwise_distance(bb, anchor, negative, p, eps))
    if swap:
        far = bb.emit(op.minimum(far, pairwise_distance(bb, positive, negative, p, eps)))
    gap = op.add(op.subtract(near, far), scalar(margin, dtype_of(anchor)))
    return _reduced(bb.emit(op.nn.relu(gap)), reduction)


@convert("multi_margin_loss")
def multi_margin_loss(
    bb: BlockBuilder, input: Expr, target: Expr, p: Any = 1, margin: float = 1.0,
    weight: Expr | None = None, reduction: Any = "mean",
) -> Any:  # fmt: skip
    """The mean of max(0, margin - x[target] + x[i])^p over classes, 0 for the target's own."""
    classes = _classes(input)
    x = bb.emit(op.reshape(input, [-1, classes]))
    label = bb.emit(op.reshape(target, [-1, 1]))
    gap = op.subtract(x, op.gather_elements(x, label, 1))
    away = bb.emit(op.nn.relu(op.add(gap, scalar(float(margin), dtype_of(x)))))
    each = away if p == 1 else bb.emit(op.multiply(away, away))
    if weight is not None:
        each = bb.emit(op.multiply(each, op.take(weight, label, 0)))
    others = op.where(_is_label(bb, label, classes), scalar(0.0, dtype_of(x)), each)
    return _reduced(_of_rows(bb, op.mean(others, [1]), input), reduction)


def _classes(input: Expr) -> Any:
    return sizes(input)[-1] if rank(input) else 1


def _is_label(bb: BlockBuilder, label: Expr, classes: Any) -> Any:
    """(n, classes): whether a class is the label, of (n, 1)."""
    numbers = bb.emit(op.arange(0, classes, 1, dtype_of(label)))
    return op.equal(label, numbers)


def _of_rows(bb: BlockBuilder, losses: Any, input: Expr) -> Expr:
    """One loss a row, or one alone."""
    return bb.emit(losses if rank(input) > 1 else op.reshape(losses, []))


@convert("multilabel_margin_loss")
def multilabel_margin_loss(
    bb: BlockBuilder, input: Expr, target: Expr, reduction: Any = "mean"
) -> Any:
    """The sum of max(0, 1 - x[label] + x[i]) over labels and other classes, over the classes.

    Labels of a row end at the first -1.
    """
    dtype, classes = dtype_of(input), _classes(input)
    x = bb.emit(op.reshape(input, [-1, classes]))
    labels = bb.emit(op.reshape(target, [-1, classes]))
    ended = bb.emit(op.astype(op.less(labels, scalar(0, dtype_of(labels))), "int64"))
    held = bb.emit(op.equal(op.cumsum(ended, 1), scalar(0, "int64")))  # (n, labels)
    counted = op.where(held, labels, scalar(-1, dtype_of(labels)))
    is_label = bb.emit(_is_label(bb, bb.emit(op.expand_dims(counted, [2])), classes))
    any_label = op.expand_dims(op.max(op.astype(is_label, "int8"), [1]), [1])
    other = op.equal(any_label, scalar(0, "int8"))  # (n, 1, classes)
    first = op.where(held, labels, scalar(0, dtype_of(labels)))
    at = op.expand_dims(op.gather_elements(x, bb.emit(first), 1), [2])
    gap = op.subtract(op.expand_dims(x, [1]), at)
    away = op.nn.relu(op.add(gap, scalar(1.0, dtype)))
    both = op.logical_and(op.expand_dims(held, [2]), other)
    each = bb.emit(op.where(both, away, scalar(0.0, dtype)))
    total = op.sum(each, [1, 2])
    size = tensor_of(bb, classes, dtype)
    return _reduced(_of_rows(bb, op.divide(total, size), input), reduction)


@convert("multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(
    bb: BlockBuilder, input: Expr, target: Expr, weight: Expr | None = None,
    size_average: Any = None, reduce: Any = None, reduction: Any = "mean",
) -> Any:  # fmt: skip
    """The mean over classes of -(y log s(x) + (1 - y) log s(-x)), s the sigmoid."""
    here = op.multiply(target, op.nn.softplus(op.negative(input)))
    away = op.multiply(op.subtract(scalar(1, dtype_of(target)), target), op.nn.softplus(input))
    each = bb.emit(op.add(here, away))
    if weight is not None:
        each = bb.emit(op.multiply(each, weight))
    return _reduced(bb.emit(op.mean(each, [-1])), reduction)
