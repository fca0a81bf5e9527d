"""Softmax multiplies by one over the sum of a row, where it divided each element by the sum.

    M[i] = max(M[i], A[i, k])                    M[i] = max(M[i], A[i, k])
    E[i, k] = exp(A[i, k] - M[i])                E[i, k] = exp(A[i, k] - M[i])
    S[i] = S[i] + E[i, k]                 ->     S[i] = S[i] + E[i, k]
    B[i, k] = E[i, k] / S[i]                     B[i, k] = E[i, k] * (1 / S[i])

The largest element of a row is exp(0), so that sums are at least one, and one over them is no
infinity. That takes that all four run over the same elements and rows: indices are variables of
their blocks, in one order, of the same domains, and nobody else writes the buffers. A result is off
by one unit in the last place at most, beside what it was. Types below 32 bits stay: one over the
sum would be rounded to them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op import const
from tvm.tir.op.arith import is_one

from .pass_form import tir_pass


@tir_pass("tir.SoftmaxQuotients")
def SoftmaxQuotients(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Quotients by sums of exponentials below their maximum are products."""
    made = _made(func.body)
    sums = {total: found for total in made if (found := _sum_of(total, made)) is not None}
    return func.with_body(_Products(sums).visit_stmt(func.body)) if sums else func


class _Made(NamedTuple):
    """The only block that writes a buffer, and its only statement."""

    block: s.Block
    store: s.BufferStore


class _Sum(NamedTuple):
    """What a buffer sums, and which of its axes the sum keeps."""

    part: Buffer
    kept: tuple[int, ...]


def _made(body: s.Stmt) -> dict[Buffer, _Made]:
    found: dict[Buffer, _Made] = {}
    writers: Counter[Buffer] = Counter()
    pointers: set[e.Var] = set()
    for node in walk(body):
        if isinstance(node, s.BufferStore):
            writers[node.buffer] += 1
        elif isinstance(node, e.Var):
            pointers.add(node)  # memory that is handed on is written by whoever has it
        elif isinstance(node, s.BlockRealize) and is_one(node.predicate):
            block = node.block
            if isinstance(block.body, s.BufferStore):
                found[block.body.buffer] = _Made(block, block.body)
    return {
        buffer: made for buffer, made in found.items()
        if buffer.data not in pointers and writers[buffer] == 1 + (made.block.init is not None)
    }  # fmt: skip


def _sum_of(total: Buffer, made: dict[Buffer, _Made]) -> _Sum | None:
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
    if not e.is_call_of(power, "tir.exp"):
        return None
    difference = power.args[0]
    if not isinstance(difference, e.Sub):
        return None
    x, top = difference.a, difference.b
    if not isinstance(x, e.BufferLoad) or not isinstance(top, e.BufferLoad):
        return None
    compared = made.get(top.buffer)
    largest = compared.store.value if compared is not None else None
    if compared is None or not isinstance(largest, e.Max):
        return None
    before, same = largest.a, largest.b
    if not isinstance(before, e.BufferLoad) or not isinstance(same, e.BufferLoad):
        return None
    if before.buffer is not top.buffer or x.buffer is not same.buffer:
        return None
    domains = [
        _domains(compared.block, same.indices), _domains(raised.block, x.indices),
        _domains(raised.block, raised.store.indices), _domains(summed.block, part.indices),
    ]  # fmt: skip
    if domains[0] is None or not all(structural_equal(domains[0], one) for one in domains[1:]):
        return None
    kept = _kept(compared.store.indices, same.indices)
    rows = [
        _kept(before.indices, same.indices), _kept(top.indices, x.indices),
        _kept(summed.store.indices, part.indices), _kept(old.indices, part.indices),
    ]  # fmt: skip
    in_order = _kept(raised.store.indices, x.indices) == tuple(range(len(x.indices)))
    if kept is None or not in_order or any(row != kept for row in rows):
        return None
    return _Sum(part.buffer, kept)


def _domains(block: s.Block, indices: Sequence[PrimExpr]) -> list[object] | None:
    """What indices run over; None where one is no variable of the block, or two are the same."""
    known = {each.var: each.dom for each in block.iter_vars}
    found = [known.get(index) if isinstance(index, e.Var) else None for index in indices]
    if None in found or len(set(indices)) < len(indices):
        return None
    return list(found)


def _kept(few: Sequence[PrimExpr], all_of: Sequence[PrimExpr]) -> tuple[int, ...] | None:
    """Which of all indices the few are; None if one is none of them."""
    positions = [next((n for n, other in enumerate(all_of) if other is one), -1) for one in few]
    return None if -1 in positions else tuple(positions)


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
        if _kept(b.indices, a.indices) != summed.kept:
            return super().visit_div_(op)
        return e.Mul(a, e.Div(const(1.0, b.dtype), b), op.span)
