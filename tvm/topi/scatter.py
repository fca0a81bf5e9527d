"""Updates written to elements given by whole indices."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained

from .common import known, same_extent
from .loops import grid, load, store
from .scatter_elements import combine_rule, from_front, in_place_of
from .utils import get_const_int


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
    lead = indices.ndim - 1

    def body(out: tir.Buffer, index: tir.Buffer, update: tir.Buffer) -> tir.Stmt:
        def step(*i: Any) -> tir.Stmt:
            at, rest = i[:lead], i[lead:]
            goal: list[PrimExpr] = [
                from_front(load(index, k, *at), data.shape[k]) for k in range(depth)
            ]
            goal += rest
            return store(out, join(load(out, *goal), load(update, *i)), *goal)

        return grid(updates.shape, step, "j")

    return in_place_of(data, [indices, updates], body, "scatter_nd_generic")
