"""Updates written to places along one axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr

from .broadcast import divide
from .loops import grid, let, load, parallel, sequence, store
from .tensor import full_like
from .utils import normal_axis, prod, unravel_index

Combine = Callable[[PrimExpr, PrimExpr], PrimExpr]
COMBINE: dict[str, Combine] = {
    "update": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "min": te.min,
    "max": te.max,
}


def combine_rule(reduction: str, what: str, extra: tuple[str, ...] = ()) -> Combine:
    """How an update joins what stands in its place."""
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
    data: te.Tensor, others: list[te.Tensor], body: Callable[..., tir.Stmt], name: str
) -> te.Tensor:
    """A copy of `data` that `body(out, others...)` then changes."""

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        copy = grid(data.shape, lambda *i: store(outs[0], load(ins[0], *i), *i))
        return sequence(copy, body(outs[0], *ins[1:]))

    inputs = [data, *others]
    buffers = [tir.decl_buffer(t.shape, t.dtype, f"{name}_in{k}") for k, t in enumerate(inputs)]
    out = tir.decl_buffer(data.shape, data.dtype, f"{name}_out")
    result = te.extern(
        [data.shape], inputs, run, dtype=[data.dtype], in_buffers=buffers, out_buffers=[out],
        name=name, tag=name,
    )  # fmt: skip
    assert isinstance(result, te.Tensor), "one output was declared"
    return result


def from_front(index: PrimExpr, extent: Any) -> PrimExpr:
    """A negative index counts from the end."""
    size = extent.astype(index.dtype)
    return tir.if_then_else(index < 0, index + size, index)


def scatter_elements(
    data: te.Tensor, indices: te.Tensor, updates: te.Tensor, axis: int = 0,
    reduction: str = "update",
) -> te.Tensor:  # fmt: skip
    """out[indices[i, j], j] is joined with updates[i, j] for axis 0, and so for each axis.

    Updates of one place come in the order of their indices. "mean" takes the mean of the updates
    and of the element itself.
    """
    place = normal_axis(axis, data.ndim, "topi.scatter_elements")
    if not data.ndim == indices.ndim == updates.ndim:
        raise ShapeError(
            message(
                "topi.scatter_elements",
                found=f"{data.ndim}, {indices.ndim} and {updates.ndim} dimensions",
                legal="as many of data, indices and updates",
            )
        )
    if reduction == "mean":
        return _mean(data, indices, updates, place)
    join = combine_rule(reduction, "scatter_elements")
    shape = indices.shape
    lead, rest = prod(shape[:place]), prod(shape[place + 1 :])

    def body(out: tir.Buffer, index: tir.Buffer, update: tir.Buffer) -> tir.Stmt:
        def row(fused: PrimExpr) -> tir.Stmt:
            before = _places(tir.indexdiv(fused, rest), shape[:place])
            after = _places(tir.indexmod(fused, rest), shape[place + 1 :])

            def step(k: PrimExpr) -> tir.Stmt:
                at = [*before, k, *after]
                target = from_front(load(index, *at), data.shape[place])

                def put(t: PrimExpr) -> tir.Stmt:
                    goal = [*before, t, *after]
                    return store(out, join(load(out, *goal), load(update, *at)), *goal)

                return let(target, put, "target")

            return grid([shape[place]], step, "k")

        return parallel(lead * rest, row, "fused")

    return in_place_of(data, [indices, updates], body, "scatter_elements_generic")


def _places(number: PrimExpr, shape: Any) -> list[PrimExpr]:
    return unravel_index(number, shape) if shape else []


def _mean(data: te.Tensor, indices: te.Tensor, updates: te.Tensor, place: int) -> te.Tensor:
    """The sum of the updates and the element over how many there are."""
    total = scatter_elements(data, indices, updates, place, "add")
    count = scatter_elements(full_like(data, 1), indices, full_like(updates, 1), place, "add")
    mean: te.Tensor = divide(total, count)
    return mean
