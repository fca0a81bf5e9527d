"""Searches for the place of an extreme element start from what any element replaces.

    with T.init():                              with T.init():
        i[v] = -1                        ->         i[v] = 2147483647
        x[v] = T.float32(-3.4e38)                   x[v] = T.float32("-inf")
    i[v] = Select(x[v] > a or x[v] == a and i[v] < k, i[v], k)      (as it is)
    x[v] = Select(x[v] > a, x[v], a)

As operators write it, a row of nothing but the start's value (zeros of uint8, False, infinities)
has place -1: the start wins the tie. Blocks must still have their inits.
"""

from __future__ import annotations

import math
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import scalar
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op.math import max_value, min_value

from .pass_form import tir_pass

_TURNED: Final = {e.LT: e.GT, e.GT: e.LT}


@tir_pass("tir.StartArgReductions")
def StartArgReductions(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No place of an extreme is that of the initial value."""
    return start_arg_reductions(func)


def start_arg_reductions(func: PrimFunc) -> PrimFunc:
    """The function with such starts."""
    return func.with_body(_Starts().visit_stmt(func.body))


class _Starts(StmtExprMutator):
    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr  # blocks hide in no expression

    def visit_block_(self, op: s.Block) -> s.Stmt:
        init = op.init
        if init is None:
            body = self.visit_stmt(op.body)
            return op if body is op.body else with_fields(op, body=body)
        if not isinstance(init, s.SeqStmt) or len(init.seq) != 2:
            return op
        first, second = init.seq
        if not isinstance(first, s.BufferStore) or not isinstance(second, s.BufferStore):
            return op
        for place, value in ((first, second), (second, first)):
            starts = _starts(op.body, place, value)
            if starts is not None:
                made = [with_fields(one, value=start) for one, start in zip((place, value), starts)]
                return with_fields(op, init=with_fields(init, seq=made))
        return op


def _starts(
    body: s.Stmt, place: s.BufferStore, value: s.BufferStore
) -> tuple[PrimExpr, PrimExpr] | None:
    """What a search starts from, place and value; None if the block is no search."""
    if not isinstance(place.value, e.IntImm) or place.value.value != -1:
        return None
    start = value.value
    low, high = (structural_equal(start, of(start.dtype)) for of in (min_value, max_value))
    tie = next((t for n in walk(body) if (t := _facing(n, place.buffer)) is not None), None)
    chosen = next((t for n in walk(body) if (t := _facing(n, value.buffer)) is not None), None)
    if tie is None or chosen is not (e.GT if low else e.LT) or not (low or high):
        return None
    worst = start
    if start.dtype.is_float or start.dtype.is_bfloat16:
        worst = e.FloatImm(start.dtype, -math.inf if low else math.inf, start.span)
    if tie is e.GT:  # of equals the last place; it is behind -1
        return place.value, worst
    dtype = place.value.dtype
    return e.IntImm(dtype, scalar.int_range(dtype)[1], place.value.span), worst


def _facing(node: object, buffer: Buffer) -> type | None:
    """How a comparison finds what is in the buffer: less or greater than something else."""
    if not isinstance(node, (e.LT, e.GT)):
        return None
    if isinstance(node.a, e.BufferLoad) and node.a.buffer is buffer:
        return type(node)
    if isinstance(node.b, e.BufferLoad) and node.b.buffer is buffer:
        return _TURNED[type(node)]
    return None
