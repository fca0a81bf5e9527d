"""Batch normalisation."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.error import ShapeError
from tvm.support.arguments import explained
from tvm.topi import broadcast, math, reduction
from tvm.topi.reshaping import reshape
from tvm.topi.utils import normal_axis, prod


@explained
def batch_norm(
    data: te.Tensor,
    gamma: te.Tensor,
    beta: te.Tensor,
    moving_mean: te.Tensor,
    moving_var: te.Tensor,
    axis: int | None = None,
    epsilon: float | None = None,
    center: bool | None = None,
    scale: bool | None = None,
    training: bool | None = None,
    momentum: float | None = None,
) -> list[te.Tensor]:
    """(data - mean) / sqrt(var + epsilon) * gamma + beta, with the mean and variance that follow.

    In training (the default), mean and variance are those of the data, and the moving ones take
    `momentum` of them; otherwise the moving ones are used, and come back unchanged.
    """
    trains = training is None or training
    return _batch_norm(
        data, gamma, beta, moving_mean, moving_var, axis, epsilon, center, scale, momentum,
        of_batch=trains, moves=trains,
    )  # fmt: skip


def batch_norm_as_legalized(
    data: te.Tensor,
    gamma: te.Tensor,
    beta: te.Tensor,
    moving_mean: te.Tensor,
    moving_var: te.Tensor,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
    training: bool,
    momentum: float,
) -> list[te.Tensor]:
    """`batch_norm` with the statistics the other way round, as Relax's kernels in TVM have them.

    With `training`, mean and variance are the moving ones, although these take their part of those
    of the data; without, they are those of the data.
    """
    return _batch_norm(
        data, gamma, beta, moving_mean, moving_var, axis, epsilon, center, scale, momentum,
        of_batch=not training, moves=training,
    )  # fmt: skip


def _batch_norm(
    data: te.Tensor,
    gamma: te.Tensor,
    beta: te.Tensor,
    moving_mean: te.Tensor,
    moving_var: te.Tensor,
    axis: int | None,
    epsilon: float | None,
    center: bool | None,
    scale: bool | None,
    momentum: float | None,
    of_batch: bool,
    moves: bool,
) -> list[te.Tensor]:
    dim = normal_axis(1 if axis is None else axis, data.ndim, "batch_norm")
    small = 1e-5 if epsilon is None else epsilon
    share = 0.1 if momentum is None else momentum
    if moves and not 0 <= share <= 1:
        raise ShapeError(f"batch_norm: momentum {share}; the valid momentum range is [0, 1].")
    shape: list[Any] = [1] * data.ndim
    shape[dim] = data.shape[dim]
    count = prod([extent for i, extent in enumerate(data.shape) if i != dim])
    mean, var = moving_mean, moving_var
    if of_batch:
        mean = _mean(data, dim, count)
    shift = reshape(mean, shape)
    if of_batch:
        var = _mean(_squares(data, shift), dim, count)
    centred = broadcast.subtract(data, shift)
    spread = broadcast.add(reshape(var, shape), tir.const(small, var.dtype))
    out = broadcast.divide(centred, math.sqrt(spread))
    if scale is None or scale:
        out = broadcast.multiply(out, reshape(gamma, shape))
    if center is None or center:
        out = broadcast.add(out, reshape(beta, shape))
    if not moves:
        # stages of their own, so that no result is an input
        return [out, broadcast.multiply(moving_mean, 1), broadcast.multiply(moving_var, 1)]
    if not of_batch:
        mean = _mean(data, dim, count)
        var = _mean(_squares(data, reshape(mean, shape)), dim, count)
    return [out, _moved(moving_mean, mean, share), _moved(moving_var, var, share)]


def _squares(data: te.Tensor, shift: te.Tensor) -> te.Tensor:
    # a difference for each use, as in TVM, whose programs are compared with ours
    squares: te.Tensor = broadcast.multiply(*(broadcast.subtract(data, shift) for _ in range(2)))
    return squares


def _mean(data: te.Tensor, dim: int, count: Any) -> te.Tensor:
    """The mean along all axes but one; `count` elements are in each."""
    others = [i for i in range(data.ndim) if i != dim]
    mean: te.Tensor = broadcast.divide(reduction.sum(data, axis=others), count)
    return mean


def _moved(old: te.Tensor, new: te.Tensor, share: float) -> te.Tensor:
    # numbers of the tensors' type, which they would widen otherwise
    rest, part = tir.const(1 - share, old.dtype), tir.const(share, new.dtype)
    kept, taken = broadcast.multiply(rest, old), broadcast.multiply(part, new)
    moved: te.Tensor = broadcast.add(kept, taken)
    return moved
