"""Updates written to elements given by whole indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained

from . import tag
from .common import known, same_extent, stage
from .loops import load, loop, parallel, store
from .scatter_elements import combine_rule, element_indices, from_front, in_place_of
from .utils import get_const_int, prod


def _check(data: te.Tensor, indices: te.Tensor, updates: te.Tensor) -> int:
    depth = get_const_int(indices.shape[0])
    if depth > data.ndim:
        raise ShapeError(
            message(
                "topi.scatter_nd: The number of indices must not be larger than the data's rank",
                found=f"{depth} indices for {data.ndim} dimensions",
                legal="at most one for each dimension",
            )
        )
    wanted = [*indices.shape[1:], *data.shape[depth:]]
    fits = len(wanted) == updates.ndim and all(
        same_extent(a, b) or not (known(a) and known(b)) for a, b in zip(wanted, updates.shape)
    )
    if not fits:
        raise ShapeError(
            message(
                "topi.scatter_nd: shape of the updates",
                found=f"({', '.join(map(str, updates.shape))})",
                legal=f"({', '.join(map(str, wanted))})",
            )
        )
    return depth


@explained
def scatter_nd(data: te.Tensor, indices: te.Tensor, updates: te.Tensor, mode: str) -> te.Tensor:
    """out[indices[:, j]] is joined with updates[j]; `mode` is update, add, mul, min or max.

    indices (m, j...), updates (j..., data.shape[m:]...)
    """
    depth = _check(data, indices, updates)
    join = combine_rule(mode, "scatter_nd")
    count, width = prod(indices.shape[1:]), prod(data.shape[depth:])

    def body(out: tir.Buffer, index: tir.Buffer, update: tir.Buffer) -> tir.Stmt:
        def one(j: PrimExpr) -> tir.Stmt:
            def part(k: PrimExpr) -> tir.Stmt:
                goal, step = k, width
                for axis in reversed(range(depth)):
                    found = load(index, *element_indices(j + axis * count, index.shape))
                    goal = goal + step * found
                    step = step * data.shape[axis]
                to = element_indices(goal, data.shape)
                new = load(update, *element_indices(j * width + k, update.shape))
                return store(out, join(load(out, *to), new), *to)

            return parallel(width, part, "k")

        return loop(count, one, "j")

    return in_place_of(data, [indices, updates], body, "scatter_nd_generic", copy=loop)


def counted_from_front(indices: te.Tensor, shape: Sequence[Any]) -> te.Tensor:
    """The indices of `scatter_nd` with negative ones, which count from the end, made positive."""
    depth = get_const_int(indices.shape[0])

    def element(axis: PrimExpr, *at: PrimExpr) -> PrimExpr:
        extent: PrimExpr = shape[0]
        for k in range(1, depth):
            extent = tir.Select(axis.equal(k), shape[k], extent)
        return from_front(indices(axis, *at), extent)

    return stage(indices.shape, element, "from_front", tag.INJECTIVE)
