"""Running sums and products along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import mul
from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.tir.expr import IntImm, as_expr
from tvm.tir.op.arith import is_zero

from .loops import load, loop, parallel, sequence, store, when
from .utils import normal_axis, prod, unravel_index


@explained
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
        dim, shape = 0, (prod(data.shape),) if data.ndim != 1 else data.shape
    else:
        dim, shape = normal_axis(axis, data.ndim, op_name), data.shape
    before, after = _count(shape[:dim]), _count(shape[dim + 1 :])
    steps = shape[dim]

    def body(source: tir.Buffer, out: tir.Buffer) -> tir.Stmt:
        if any(is_zero(extent) for extent in shape):
            return tir.Evaluate(0)  # there is nothing to add up

        def at(number: PrimExpr) -> list[Any]:
            return unravel_index(number, shape)

        def given(number: PrimExpr) -> PrimExpr:
            return load(source, *unravel_index(number, data.shape)).astype(kind)

        def run(fused: PrimExpr) -> tir.Stmt:
            base = tir.indexdiv(fused, after) * steps * after + tir.indexmod(fused, after)
            first: PrimExpr = tir.const(identity_value, kind)
            if not exclusive:
                first = given(base)

            def step(k: PrimExpr) -> tir.Stmt:
                last = base + (k + 1 - 1) * after
                here = base + (k + 1) * after
                new = given(last if exclusive else here)
                return store(out, binop(load(out, *at(last)), new), *at(here))

            whole = sequence(store(out, first, *at(base)), loop(steps - 1, step, "_k"))
            # an open extent may be 0: then there is no first element
            return whole if isinstance(steps, (int, IntImm)) else when(steps > 0, whole)

        return parallel(before * after, run, "fused")

    out = tir.decl_buffer(shape, kind, "out_buf")
    return _single(
        te.extern([shape], [data], lambda ins, outs: body(ins[0], outs[0]), dtype=[kind],
                  out_buffers=[out], name=op_name, tag=op_name)
    )  # fmt: skip


def running_place(
    data: te.Tensor, axis: int, better: Callable[[PrimExpr, PrimExpr], PrimExpr]
) -> te.Tensor:
    """Where the best element so far lies along `axis`, as int64, at each element.

    `better(a, b)` says whether an earlier element `a` goes on being the best when `b` comes.
    """
    dim, shape = normal_axis(axis, data.ndim, "running_place"), data.shape
    before, after = _count(shape[:dim]), _count(shape[dim + 1 :])
    steps = shape[dim]

    def body(source: tir.Buffer, out: tir.Buffer) -> tir.Stmt:
        if any(is_zero(extent) for extent in shape):
            return tir.Evaluate(0)

        def run(fused: PrimExpr) -> tir.Stmt:
            base = tir.indexdiv(fused, after) * steps * after + tir.indexmod(fused, after)

            def at(k: PrimExpr) -> list[Any]:
                return unravel_index(base + k * after, shape)

            def step(k: PrimExpr) -> tir.Stmt:
                best = load(out, *at(k))
                place = best.astype(base.dtype)
                stays = better(load(source, *at(place)), load(source, *at(k + 1)))
                chosen = tir.if_then_else(stays, best, (k + 1).astype("int64"))
                return store(out, chosen, *at(k + 1))

            zero = tir.const(0, as_expr(steps).dtype)
            whole = sequence(store(out, 0, *at(zero)), loop(steps - 1, step, "k"))
            return when(steps > zero, whole)

        return parallel(before * after, run, "fused")

    out = tir.decl_buffer(shape, "int64", "out_buf")
    return _single(
        te.extern([shape], [data], lambda ins, outs: body(ins[0], outs[0]), dtype=["int64"],
                  out_buffers=[out], name="running_place", tag="running_place")
    )  # fmt: skip


def _count(extents: Sequence[PrimExpr]) -> Any:
    """How many elements there are; a Python number where nothing is counted."""
    return reduce(mul, extents, 1)


def _single(result: Any) -> te.Tensor:
    assert isinstance(result, te.Tensor), "one output was declared"
    return result


@explained
def cumsum(
    data: te.Tensor,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
) -> te.Tensor:
    """The running sum."""
    return scanop(data, lambda a, b: a + b, as_expr(0), "cumsum_generic", axis, dtype, exclusive)


@explained
def cumprod(
    data: te.Tensor,
    axis: int | None = None,
    dtype: int | None = None,
    exclusive: bool | None = None,
) -> te.Tensor:
    """The running product."""
    kind = None if dtype is None else str(dtype)
    return scanop(data, lambda a, b: a * b, as_expr(1), "cumprod_generic", axis, kind, exclusive)
