"""Values put at indices given by index tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained

from .broadcast import Broadcasting, operand_indices
from .loops import grid, load, store
from .scatter_elements import from_front, in_place_of


@explained
def index_put(
    data: te.Tensor, indices: Sequence[te.Tensor] | te.Tensor, values: te.Tensor,
    accumulate: bool = False,
) -> te.Tensor:  # fmt: skip
    """data with data[indices] = values, or += values; index tensors are broadcast together."""
    given = [indices] if isinstance(indices, te.Tensor) else list(indices)
    if not given or len(given) > data.ndim:
        raise ShapeError(
            f"topi.index_put: {len(given)} indices for {data.ndim} dimensions; legal: one or more, "
            "at most one for each"
        )
    common: Sequence[Any] = given[0].shape
    for other in given[1:]:
        common = Broadcasting(common, other.shape).shape
    moves = [Broadcasting(common, t.shape).right for t in given]
    whole = [*common, *data.shape[len(given) :]]
    of_values = Broadcasting(whole, values.shape).right

    def body(out: tir.Buffer, value: tir.Buffer, *index: tir.Buffer) -> tir.Stmt:
        def step(*i: Any) -> tir.Stmt:
            shared, rest = i[: len(common)], i[len(common) :]
            goal: list[PrimExpr] = [
                from_front(load(b, *operand_indices(shared, m)), data.shape[k])
                for k, (b, m) in enumerate(zip(index, moves))
            ]
            goal += rest
            new: PrimExpr = load(value, *operand_indices(i, of_values))
            return store(out, load(out, *goal) + new if accumulate else new, *goal)

        return grid(whole, step, "j")

    return in_place_of(data, [values, *given], body, "index_put")
