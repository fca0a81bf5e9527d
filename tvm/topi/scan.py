"""Running sums and products along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.tir.expr import as_expr

from .loops import load, loop, parallel, sequence, store
from .reshaping import reshape
from .utils import normal_axis, prod


def scanop(
    data: te.Tensor,
    binop: Callable[[PrimExpr, PrimExpr], PrimExpr],
    identity_value: PrimExpr,
    op_name: str,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
) -> te.Tensor:
    """`binop` over all elements up to each one; without an axis the tensor is flattened first.

    An exclusive scan leaves the element itself out and starts with the identity.
    """
    kind = DataType(data.dtype if dtype in (None, "") else dtype)
    if axis is None:
        place, data = 0, reshape(data, (prod(data.shape),)) if data.ndim != 1 else data
    else:
        place = normal_axis(axis, data.ndim, op_name)
    shape = data.shape
    lead, steps, rest = prod(shape[:place]), shape[place], prod(shape[place + 1 :])

    def body(source: tir.Buffer, out: tir.Buffer) -> tir.Stmt:
        def run(fused: PrimExpr) -> tir.Stmt:
            before, after = tir.indexdiv(fused, rest), tir.indexmod(fused, rest)

            def at(k: Any) -> list[PrimExpr]:
                return [*_unravel(before, shape[:place]), k, *_unravel(after, shape[place + 1 :])]

            zero = tir.const(0, steps.dtype)
            first: PrimExpr = tir.const(identity_value, kind)
            if not exclusive:
                first = load(source, *at(zero)).astype(kind)

            def step(k: PrimExpr) -> tir.Stmt:
                new = load(source, *at(k if exclusive else k + 1)).astype(kind)
                return store(out, binop(load(out, *at(k)), new), *at(k + 1))

            return sequence(store(out, first, *at(zero)), loop(steps - 1, step, "k"))

        return parallel(lead * rest, run, "fused")

    source = tir.decl_buffer(shape, data.dtype, "data")
    out = tir.decl_buffer(shape, kind, "out_buf")
    return _single(
        te.extern([shape], [data], lambda ins, outs: body(ins[0], outs[0]), dtype=[kind],
                  in_buffers=[source], out_buffers=[out], name=op_name, tag=op_name)
    )  # fmt: skip


def _single(result: Any) -> te.Tensor:
    assert isinstance(result, te.Tensor), "one output was declared"
    return result


def _unravel(number: PrimExpr, shape: Any) -> list[PrimExpr]:
    """Indices by number; the leading one needs no remainder."""
    indices: list[PrimExpr] = []
    for k in range(len(shape) - 1, 0, -1):
        indices.append(tir.indexmod(number, shape[k]))
        number = tir.indexdiv(number, shape[k])
    return [number, *reversed(indices)] if shape else []


def cumsum(
    data: te.Tensor,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
) -> te.Tensor:
    """The running sum."""
    return scanop(data, lambda a, b: a + b, as_expr(0), "cumsum_generic", axis, dtype, exclusive)


def cumprod(
    data: te.Tensor,
    axis: int | None = None,
    dtype: int | None = None,
    exclusive: bool | None = None,
) -> te.Tensor:
    """The running product."""
    kind = None if dtype is None else str(dtype)
    return scanop(data, lambda a, b: a * b, as_expr(1), "cumprod_generic", axis, kind, exclusive)
