"""Updates written to elements along one axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained

from .broadcast import divide
from .common import known, same_extent
from .loops import load, loop, parallel, sequence, store
from .tensor import full_like
from .utils import get_const_int, normal_axis, prod, unravel_index

Combine = Callable[[PrimExpr, PrimExpr], PrimExpr]
COMBINE: dict[str, Combine] = {
    "update": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "min": te.min,
    "max": te.max,
}


def combine_rule(reduction: str, what: str, extra: tuple[str, ...] = ()) -> Combine:
    """How an update joins the old element."""
    if reduction in extra:
        return COMBINE["add"]
    rule = COMBINE.get(reduction)
    if rule is None:
        legal = ", ".join((*COMBINE, *extra))
        raise NotImplementedReductionError(message(f"{what}: reduction {reduction!r}", legal=legal))
    return rule


class NotImplementedReductionError(NotImplementedError, ValueError):
    """A way to join updates that the operator does not have."""


def in_place_of(
    data: te.Tensor, others: list[te.Tensor], body: Callable[..., tir.Stmt], name: str,
    copy: Callable[..., tir.Stmt] = parallel,
) -> te.Tensor:  # fmt: skip
    """A copy of `data`, made in such a loop, that `body(out, others...)` then changes."""

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        def element(i: PrimExpr) -> tir.Stmt:
            at = element_indices(i, data.shape)
            return store(outs[0], load(ins[0], *at), *at)

        return sequence(copy(prod(data.shape), element), body(outs[0], *ins[1:]))

    out = tir.decl_buffer(data.shape, data.dtype, "out_buf")
    result = te.extern(
        [data.shape], [data, *others], run, dtype=[data.dtype], out_buffers=[out],
        name=name, tag=name,
    )  # fmt: skip
    assert isinstance(result, te.Tensor), "one output was declared"
    return result


def from_front(index: PrimExpr, extent: Any) -> PrimExpr:
    """A negative index counts from the end."""
    size = extent.astype(index.dtype)
    return tir.if_then_else(index < 0, index + size, index)


@explained
def scatter_elements(
    data: te.Tensor, indices: te.Tensor, updates: te.Tensor, axis: int = 0,
    reduction: str = "update",
) -> te.Tensor:  # fmt: skip
    """out[indices[i, j], j] is joined with updates[i, j] for axis 0, and so for each axis.

    Updates of one element come in the order of their indices. "mean" goes halfway from the element
    to each update in turn, as v0.22 does; `scatter_elements_mean` takes the mean of all of them.
    """
    dim = normal_axis(axis, data.ndim, "topi.scatter_elements")
    if not data.ndim == indices.ndim == updates.ndim:
        raise ShapeError(
            message(
                "topi.scatter_elements",
                found=f"{data.ndim}, {indices.ndim} and {updates.ndim} dimensions",
                legal="as many of data, indices and updates",
            )
        )
    for k, (own, other) in enumerate(zip(indices.shape, updates.shape)):
        if known(own) and known(other) and get_const_int(own) > get_const_int(other):
            raise ShapeError(
                message(
                    f"topi.scatter_elements: dimension {k} of indices and updates",
                    found=f"{own} and {other}",
                    legal="an update for each index",
                )
            )
    join = _halfway if reduction == "mean" else combine_rule(reduction, "scatter_elements")
    shape = indices.shape
    lead, rest = prod(shape[:dim]), prod(shape[dim + 1 :])
    axis_step = prod(data.shape[dim + 1 :])
    others = [k for k in range(data.ndim) if k != dim]
    whole = all(same_extent(shape[k], data.shape[k]) for k in others)
    wide = max(indices.dtype, shape[0].dtype, key=lambda kind: int(kind.bits))

    def body(out: tir.Buffer, index: tir.Buffer, update: tir.Buffer) -> tir.Stmt:
        def row(fused: PrimExpr) -> tir.Stmt:
            i, j = tir.indexdiv(fused, rest), tir.indexmod(fused, rest)
            first = i * (shape[dim] * rest) + j
            if whole:
                step_of_i = data.shape[dim] * axis_step
                goal = i.astype(wide) * step_of_i.astype(wide) + j.astype(wide)
            else:
                goal = _element(i, shape[:dim], data.shape[: dim + 1], axis_step)
                goal = goal + _element(j, shape[dim + 1 :], data.shape[dim + 1 :])

            def step(k: PrimExpr) -> tir.Stmt:
                at = element_indices(first + k * rest, shape)
                found = load(index, *at)
                size = data.shape[dim].astype(found.dtype)
                target = found + (found < 0).astype(found.dtype) * size  # from the end
                to = element_indices(goal + target * axis_step, data.shape)
                return store(out, join(load(out, *to), load(update, *at)), *to)

            return loop(shape[dim], step, "k")

        return parallel(lead * rest, row, "fused")

    return in_place_of(data, [indices, updates], body, "scatter_elements_generic")


def _element(number: PrimExpr, part: Any, shape: Any, step: Any = 1) -> PrimExpr:
    """The number in a tensor of `shape` of element `number` of its leading `part`."""
    strides = [prod(shape[k + 1 :]) * step for k in range(len(part))]
    total = tir.const(0, number.dtype)
    for k, index in enumerate(unravel_index(number, part) if part else []):
        total = total + index * strides[k]
    return total


def element_indices(number: PrimExpr, shape: Any) -> list[PrimExpr]:
    """The indices of an element by its number: n // 5 // 4, n // 5 % 4, n % 5."""
    return unravel_index(number, shape) if len(shape) else []


def _halfway(old: PrimExpr, new: PrimExpr) -> PrimExpr:
    return te.div(old + new, tir.const(2, old.dtype))


@explained
def scatter_elements_mean(
    data: te.Tensor, indices: te.Tensor, updates: te.Tensor, axis: int = 0
) -> te.Tensor:
    """Each element becomes the mean of itself and all of its updates."""
    total = scatter_elements(data, indices, updates, axis, "add")
    ones = full_like(data, 1), indices, full_like(updates, 1)
    mean: te.Tensor = divide(total, scatter_elements(*ones, axis, "add"))
    return mean
