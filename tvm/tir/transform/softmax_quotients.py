"""Softmax multiplies by one over the sum of a row, where it divided each element by the sum.

    M[i] = max(M[i], A[i, k])                    M[i] = max(M[i], A[i, k])
    E[i, k] = exp(A[i, k] - M[i])                E[i, k] = exp(A[i, k] - M[i])
    S[i] = S[i] + E[i, k]                 ->     S[i] = S[i] + E[i, k]
    B[i, k] = E[i, k] / S[i]                     B[i, k] = E[i, k] * (1 / S[i])

The largest element of a row is exp(0), so that sums are at least one, and one over them is no
infinity. A result is off by one unit in the last place at most, beside what it was. Types below 32
bits stay: one over the sum would be rounded to them.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op import const

from .pass_form import tir_pass


@tir_pass("tir.SoftmaxQuotients")
def SoftmaxQuotients(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Quotients by sums of exponentials below their maximum are products."""
    stores: dict[Buffer, list[PrimExpr]] = {}
    for node in walk(func.body):
        if isinstance(node, s.Block) and isinstance(node.body, s.BufferStore):
            stores.setdefault(node.body.buffer, []).append(node.body.value)
    made = {buffer: values[0] for buffer, values in stores.items() if len(values) == 1}
    sums = {buffer: part for buffer, value in made.items()
            if (part := _exponentials(buffer, value, made)) is not None}  # fmt: skip
    return func.with_body(_Products(sums).visit_stmt(func.body)) if sums else func


def _exponentials(
    total: Buffer, value: PrimExpr, made: dict[Buffer, PrimExpr]
) -> Buffer | None:
    """What a buffer sums, if that is exp(x - m) with m the maximum of all x."""
    if total.dtype.bits < 32 or not isinstance(value, e.Add):
        return None
    old, part = value.a, value.b
    if not isinstance(old, e.BufferLoad) or old.buffer is not total:
        return None
    if not isinstance(part, e.BufferLoad):
        return None
    power = made.get(part.buffer)
    if not isinstance(power, e.Call) or getattr(power.op, "name", "") != "tir.exp":
        return None
    difference = power.args[0]
    if not isinstance(difference, e.Sub) or not isinstance(difference.b, e.BufferLoad):
        return None
    top = difference.b.buffer
    largest = made.get(top)
    if not isinstance(largest, e.Max) or not isinstance(largest.a, e.BufferLoad):
        return None
    source, same = difference.a, largest.b
    if not isinstance(source, e.BufferLoad) or not isinstance(same, e.BufferLoad):
        return None
    fits = largest.a.buffer is top and source.buffer is same.buffer
    return part.buffer if fits else None


class _Products(StmtExprMutator):
    def __init__(self, sums: dict[Buffer, Buffer]) -> None:
        super().__init__()
        self._sums = sums

    def visit_div_(self, op: e.Div) -> PrimExpr:
        a, b = op.a, op.b
        if not isinstance(a, e.BufferLoad) or not isinstance(b, e.BufferLoad):
            return super().visit_div_(op)
        if self._sums.get(b.buffer) is not a.buffer:
            return super().visit_div_(op)
        return e.Mul(a, e.Div(const(1.0, b.dtype), b), op.span)
