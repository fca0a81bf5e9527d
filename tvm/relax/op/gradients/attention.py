"""Gradients of attention, of each head by products of matrices."""

from __future__ import annotations

import math

import numpy as np

from tvm.ir.expr import PrimExpr
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, PrimValue, Var
from tvm.relax.op.binary import add, equal, less, less_equal, logical_and, multiply, subtract
from tvm.relax.op.create import arange
from tvm.relax.op.datatype import astype
from tvm.relax.op.declare import options_of
from tvm.relax.op.index import take
from tvm.relax.op.linear_algebra import matmul
from tvm.relax.op.manipulate import expand_dims, permute_dims
from tvm.relax.op.nn.activation import softmax
from tvm.relax.op.search import where
from tvm.relax.op.statistical import sum as sum_

from .common import (
    Expr,
    array_const,
    const,
    dtype_of,
    extents,
    fit,
    gradient_of,
    no_grads,
    numbers,
    refuse,
)
from .linear import transposed

_HEADS_FIRST = [0, 2, 1, 3]


def _mask(call: Call) -> Expr | None:
    """What is added to the scores so that a row sees only the columns that it may."""
    o = options_of(call)
    if o["causal_mask"] is None and o["window_size"] is None:
        return None
    query, _, value = call.args[:3]
    _check_wide(call, query)
    rows, columns = numbers(query, 1)[0], numbers(value, 1)[0]
    offset = columns - rows if o["causal_mask"] == "BottomRight" else 0
    row, column = np.arange(rows)[:, None] + offset, np.arange(columns)[None, :]
    seen = column <= row
    if o["window_size"] is not None:
        seen &= column > row - int(o["window_size"])
    return array_const(np.where(seen, 0.0, -1e30), query)


def _check_wide(call: Call, like: Expr) -> None:
    if dtype_of(like) not in ("float32", "float64"):
        raise refuse(call, f"a mask in {dtype_of(like)}", "float32, float64")


def _attention(call: Call, g: Expr, ctx: BlockBuilder, bias: Expr | None = None) -> list[Expr]:
    """The gradients of query, key, value, and that of the scores."""
    query, key, value = call.args[:3]
    scale = options_of(call)["scale"]
    [width] = numbers(query, 3)
    factor = const(1 / math.sqrt(width) if scale is None else float(scale), query)
    q, k, v, back = (
        ctx.normalize_argument(permute_dims(x, _HEADS_FIRST)) for x in (query, key, value, g)
    )
    scores: Expr = multiply(matmul(q, transposed(k)), factor)
    if bias is not None:
        scores = add(scores, bias)
    weights = ctx.normalize_argument(softmax(scores, -1))
    inner = ctx.normalize_argument(multiply(matmul(back, transposed(v)), weights))
    total = multiply(weights, sum_(inner, -1, keepdims=True))
    by_score = ctx.normalize_argument(subtract(inner, total))
    grads = [
        multiply(matmul(by_score, k), factor),
        multiply(matmul(transposed(by_score), q), factor),
        matmul(transposed(weights), back),
    ]
    return [*(permute_dims(grad, _HEADS_FIRST) for grad in grads), by_score]


@gradient_of("relax.nn.attention")
def attention_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `attention`."""
    return _attention(orig_call, output_grad, ctx, _mask(orig_call))[:3]


@gradient_of("relax.nn.attention_bias")
def attention_bias_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `attention_bias`, those of the bias last."""
    bias, mask = orig_call.args[3], _mask(orig_call)
    whole = bias if mask is None else add(bias, mask)
    *grads, by_score = _attention(orig_call, output_grad, ctx, whole)
    return [*grads, fit(ctx, by_score, bias)]


def _sequence(starts: Expr, length: PrimExpr, ctx: BlockBuilder) -> tuple[Expr, Expr]:
    """For each row the number of its sequence, and its position in it."""
    rows = ctx.normalize_argument(arange(PrimValue(length), dtype="int64"))
    wide = ctx.normalize_argument(astype(starts, "int64"))
    begun = less_equal(expand_dims(wide, 0), expand_dims(rows, 1))
    number: Expr = subtract(sum_(astype(begun, "int64"), 1), Constant(np.asarray(1, np.int64)))
    number = ctx.normalize_argument(number)
    return number, ctx.normalize_argument(subtract(rows, take(wide, number, axis=0)))


def _seen(call: Call, ctx: BlockBuilder) -> Expr:
    """Which columns each row sees: those of its sequence, as far as the mask lets it."""
    o = options_of(call)
    query, key, _, starts_q, starts_k = call.args[:5]
    of_row, row = _sequence(starts_q, extents(query)[1], ctx)
    of_column, column = _sequence(starts_k, extents(key)[1], ctx)
    if o["causal_mask"] == "BottomRight":
        lengths = [
            subtract(take(s, next_, axis=0), take(s, of_row, axis=0))
            for s in (astype(starts_k, "int64"), astype(starts_q, "int64"))
            for next_ in [add(of_row, Constant(np.asarray(1, np.int64)))]
        ]
        row = add(row, subtract(*lengths))
    rows, columns = expand_dims(row, 1), expand_dims(column, 0)
    seen: Expr = equal(expand_dims(of_row, 1), expand_dims(of_column, 0))
    if o["causal_mask"] is not None or o["window_size"] is not None:
        seen = logical_and(seen, less_equal(columns, rows))
    if o["window_size"] is not None:
        last = subtract(rows, Constant(np.asarray(int(o["window_size"]), np.int64)))
        seen = logical_and(seen, less(last, columns))
    return seen


@gradient_of("relax.nn.attention_var_len")
def attention_var_len_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `attention_var_len`: of attention over everything, masked."""
    query = orig_call.args[0]
    _check_wide(orig_call, query)
    mask = where(_seen(orig_call, ctx), const(0, query), const(-1e30, query))
    grads = _attention(orig_call, output_grad, ctx, mask)[:3]
    return [*grads, *no_grads(orig_call.args[3:])]
