"""Gradients of attention, of each head by products of matrices."""

from __future__ import annotations

import math

import numpy as np

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Var
from tvm.relax.op.binary import add, multiply, subtract
from tvm.relax.op.declare import options_of
from tvm.relax.op.linear_algebra import matmul
from tvm.relax.op.manipulate import permute_dims
from tvm.relax.op.nn.activation import softmax
from tvm.relax.op.statistical import sum as sum_

from .common import Expr, array_const, const, dtype_of, fit, gradient_of, numbers, refuse
from .linear import transposed

_HEADS_FIRST = [0, 2, 1, 3]


def _mask(call: Call, rows: int, columns: int, like: Expr) -> Expr | None:
    """What is added to the scores so that a row sees only the columns that it may."""
    o = options_of(call)
    if o["causal_mask"] is None and o["window_size"] is None:
        return None
    if dtype_of(like) not in ("float32", "float64"):
        raise refuse(call, f"a mask in {dtype_of(like)}", "float32, float64")
    offset = columns - rows if o["causal_mask"] == "BottomRight" else 0
    row, column = np.arange(rows)[:, None] + offset, np.arange(columns)[None, :]
    seen = column <= row
    if o["window_size"] is not None:
        seen &= column > row - int(o["window_size"])
    return array_const(np.where(seen, 0.0, -1e30), like)


def _attention(call: Call, g: Expr, ctx: BlockBuilder) -> list[Expr]:
    query, key, value = call.args[:3]
    scale = options_of(call)["scale"]
    rows, columns, width = numbers(query)[1], numbers(value)[1], numbers(query)[3]
    factor = const(1 / math.sqrt(width) if scale is None else float(scale), query)
    q, k, v, back = (
        ctx.normalize_argument(permute_dims(x, _HEADS_FIRST)) for x in (query, key, value, g)
    )
    scores: Expr = multiply(matmul(q, transposed(k)), factor)
    if len(call.args) > 3:
        scores = add(scores, call.args[3])
    mask = _mask(call, rows, columns, query)
    if mask is not None:
        scores = add(scores, mask)
    weights = ctx.normalize_argument(softmax(scores, -1))
    inner = ctx.normalize_argument(multiply(matmul(back, transposed(v)), weights))
    total = multiply(weights, sum_(inner, -1, keepdims=True))
    by_score = ctx.normalize_argument(subtract(inner, total))
    grads = [
        multiply(matmul(by_score, k), factor),
        multiply(matmul(transposed(by_score), q), factor),
        matmul(transposed(weights), back),
    ]
    result: list[Expr] = [permute_dims(grad, _HEADS_FIRST) for grad in grads]
    if len(call.args) > 3:
        result.append(fit(ctx, by_score, call.args[3]))
    return result


@gradient_of("relax.nn.attention")
def attention_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `attention`."""
    return _attention(orig_call, output_grad, ctx)


@gradient_of("relax.nn.attention_bias")
def attention_bias_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `attention_bias`, those of the bias last."""
    return _attention(orig_call, output_grad, ctx)
