"""Softmax multiplies by one over the sum of a row, where it divided each element by the sum.

    M[i] = max(M[i], A[i, k])                    M[i] = max(M[i], A[i, k])
    E[i, k] = exp(A[i, k] - M[i])                E[i, k] = exp(A[i, k] - M[i])
    S[i] = S[i] + E[i, k]                 ->     S[i] = S[i] + E[i, k]
    B[i, k] = E[i, k] / S[i]                     B[i, k] = normal(E[i, k]) * (1 / S[i])

The largest element of a row is exp(0), so that sums are at least one, and one over them is no
infinity. That takes that all four run over the same elements and rows: indices are variables of
their blocks, in one order, of the same domains, and nobody else writes the buffers. A result is off
by one unit in the last place at most, beside what it was, and zero where it would be subnormal,
for the reason that `SoftmaxExponentials` has. Types below 32 bits stay: one over the sum would be
rounded to them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import const

from .pass_form import tir_pass
from .softmax_parts import Made, below_maximum, domains_of, kept_axes, made_once

_TINY: Final = {32: 2.0**-126, 64: 2.0**-1022}


@tir_pass("tir.SoftmaxQuotients")
def SoftmaxQuotients(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Quotients by sums of exponentials below their maximum are products."""
    made = made_once(func.body)
    sums = {total: found for total in made if (found := _sum_of(total, made)) is not None}
    return func.with_body(_Products(sums).visit_stmt(func.body)) if sums else func


class _Sum(NamedTuple):
    """What a buffer sums, and which of its axes the sum keeps."""

    part: Buffer
    kept: tuple[int, ...]


def _sum_of(total: Buffer, made: dict[Buffer, Made]) -> _Sum | None:
    """The exponentials that a buffer sums: of x - m, with m the maximum of the same x."""
    summed = made[total]
    value = summed.store.value
    if total.dtype.bits < 32 or not isinstance(value, e.Add):
        return None
    old, part = value.a, value.b
    if not isinstance(old, e.BufferLoad) or not isinstance(part, e.BufferLoad):
        return None
    raised = made.get(part.buffer)
    if raised is None or old.buffer is not total:
        return None
    power = raised.store.value
    below = below_maximum(raised.block, power, made)
    if below is None or domains_of(summed.block, part.indices) is None:
        return None
    x = below.x
    domains = [
        domains_of(raised.block, each) for each in (x.indices, raised.store.indices)
    ] + [domains_of(summed.block, part.indices)]
    if not all(structural_equal(domains[0], one) for one in domains[1:]):
        return None
    rows = [kept_axes(summed.store.indices, part.indices), kept_axes(old.indices, part.indices)]
    in_order = kept_axes(raised.store.indices, x.indices) == tuple(range(len(x.indices)))
    if not in_order or any(row != below.kept for row in rows):
        return None
    return _Sum(part.buffer, below.kept)


class _Products(StmtExprMutator):
    def __init__(self, sums: dict[Buffer, _Sum]) -> None:
        super().__init__()
        self._sums = sums

    def visit_div_(self, op: e.Div) -> PrimExpr:
        a, b = op.a, op.b
        if not isinstance(a, e.BufferLoad) or not isinstance(b, e.BufferLoad):
            return super().visit_div_(op)
        summed = self._sums.get(b.buffer)
        if summed is None or summed.part is not a.buffer:
            return super().visit_div_(op)
        if kept_axes(b.indices, a.indices) != summed.kept:
            return super().visit_div_(op)
        least = e.Mul(b, const(_TINY[b.dtype.bits], b.dtype))
        share = e.Select(e.LT(a, least), const(0.0, a.dtype), a)
        return e.Mul(share, e.Div(const(1.0, b.dtype), b), op.span)
