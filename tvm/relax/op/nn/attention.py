"""Attention: softmax(q k^T * scale + bias) v for each head. (Vaswani et al., 2017)"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tvm.ir.expr import StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike
from tvm.relax.op.declare import (
    ALWAYS,
    OUT_FUSABLE,
    Array,
    Expr,
    Infer,
    OptionError,
    attrs_class,
    options_of,
    real,
    relax_op,
    script_function,
    show_shape,
    te,
    topi,
)
from tvm.relax.op.shapes import check_ndim, common_dtype, is_one, like
from tvm.relax.struct_info import TensorStructInfo
from tvm.tir import op as tir_op
from tvm.tir.op.arith import const as tir_const

from .activation import softmax_numpy

AttentionAttrs = attrs_class(
    "AttentionAttrs", "scale", "causal_mask", "window_size", numbers=("scale", "window_size")
)
MASKS = ("TopLeft", "BottomRight", None)


def _options(scale: Any, causal_mask: str | None, window_size: int | None) -> dict[str, Any]:
    if causal_mask not in MASKS:
        raise OptionError(
            f"attention: causal_mask is {causal_mask!r}; legal: 'TopLeft', 'BottomRight', None"
        )
    value = getattr(scale, "value", scale)
    return {
        "scale": None if value is None else real(value, "attention: scale"),
        "causal_mask": causal_mask,
        "window_size": window_size,
    }


@relax_op("relax.nn.attention", "query: Tensor, key: Tensor, value: Tensor", AttentionAttrs,
          pattern=OUT_FUSABLE, precision=ALWAYS, script=False)  # fmt: skip
def _plain_attention(query: ExprLike, key: ExprLike, value: ExprLike, **options: Any) -> Call:
    """Attention without a bias.   (b, s, n, h), (b, t, n, h), (b, t, n, v) -> (b, s, n, v)"""
    return _plain_attention.call(query, key, value, **options)


@relax_op("relax.nn.attention_bias", "query: Tensor, key: Tensor, value: Tensor, bias: Tensor",
          AttentionAttrs, pattern=OUT_FUSABLE, precision=ALWAYS, script=False)  # fmt: skip
def _biased_attention(
    query: ExprLike, key: ExprLike, value: ExprLike, bias: ExprLike, **options: Any
) -> Call:
    """Attention with a bias on the scores, which broadcasts to (b, n, s, t)."""
    return _biased_attention.call(query, key, value, bias, **options)


def attention(
    query: ExprLike,
    key: ExprLike,
    value: ExprLike,
    bias: ExprLike | None = None,
    scale: Any = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> Call:
    """Attention of each head.   (b, s, n, h), (b, t, n, h), (b, t, n, v) -> (b, s, n, v)

    `scale` is 1 / sqrt(h) unless given. `causal_mask` "TopLeft" lets row i see columns up to i,
    "BottomRight" aligns the last row with the last column (rows that are more than the columns see
    as many more); `window_size` limits how far back.
    """
    options = _options(scale, causal_mask, window_size)
    if bias is None:
        return _plain_attention(query, key, value, **options)
    return _biased_attention(query, key, value, bias, **options)


def attention_bias(
    query: ExprLike,
    key: ExprLike,
    value: ExprLike,
    bias: ExprLike | None = None,
    scale: Any = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> Call:
    """Attention with a bias on the scores."""
    return attention(query, key, value, bias, scale, causal_mask, window_size)


def _info(
    ctx: Infer,
    query: TensorStructInfo,
    key: TensorStructInfo,
    value: TensorStructInfo,
    bias: TensorStructInfo | None = None,
    **options: Any,
) -> TensorStructInfo:
    dtype = common_dtype(ctx, ("query", query), ("key", key), ("value", value))
    for name, info in (("query", query), ("key", key), ("value", value)):
        check_ndim(ctx, name, info, 4)
    if query.values is None or key.values is None or value.values is None:
        return like(query, None, 4, dtype)
    b, s, n, h = query.values
    pairs = [
        ("key", key, 0, b), ("key", key, 2, n), ("key", key, 3, h), ("value", value, 0, b),
        ("value", value, 1, key.values[1]), ("value", value, 2, n),
    ]  # fmt: skip
    for name, info, at, wanted in pairs:
        assert info.values is not None, "checked above"
        if ctx.differ(info.values[at], wanted):
            raise ctx.shape_error(
                f"dimension {at} of {name} does not fit",
                f"query {show_shape(query)}, key {show_shape(key)}, value {show_shape(value)}",
                f"{wanted}",
            )
    if bias is not None:
        _check_bias(ctx, bias, (b, n, s, key.values[1]))
    return like(query, (b, s, n, value.values[3]), dtype=dtype)


def _check_bias(ctx: Infer, bias: TensorStructInfo, wanted: Any) -> None:
    check_ndim(ctx, "bias", bias, 4)
    for at, (extent, full) in enumerate(zip(bias.values or (), wanted)):
        if not is_one(extent) and ctx.differ(extent, full):
            raise ctx.shape_error(
                f"dimension {at} of bias does not fit", show_shape(bias), f"1 or {full}"
            )


def te_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    scale: float | None = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> Any:
    """Attention in tensor expressions: scores, softmax over their last axis, weighted sum."""
    b, s, n, h = query.shape
    t, width = value.shape[1], value.shape[3]
    dtype = query.dtype
    k = te.reduce_axis((0, h), name="k")
    scores = te.compute(
        (b, n, s, t),
        lambda i, j, r, c: te.sum(query[i, r, j, k] * key[i, c, j, k], axis=k),
        name="scores",
    )
    factor = tir_const(scale, dtype) if scale is not None else 1 / tir_op.sqrt(h.astype(dtype))
    scores = topi.multiply(scores, factor)
    if bias is not None:
        scores = topi.add(scores, bias)
    if causal_mask is not None or window_size is not None:
        offset = _aligned(s, t, causal_mask)

        def masked(i: Any, j: Any, r: Any, c: Any) -> Any:
            seen = c <= r + offset
            if window_size is not None:
                seen = tir_op.all(seen, c > r + offset - window_size)
            lowest = tir_op.min_value(dtype)
            return tir_op.if_then_else(seen, scores[i, j, r, c], lowest)

        scores = te.compute((b, n, s, t), masked, name="masked")
    weights = topi.nn.softmax(scores, -1)
    m = te.reduce_axis((0, t), name="m")
    return te.compute(
        (b, s, n, width),
        lambda i, r, j, d: te.sum(weights[i, j, r, m] * value[i, m, j, d], axis=m),
        name="attention",
    )


def te_products(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    scale: float | None = None,
    causal_mask: str | None = None,
) -> Any:
    """Attention as products of matrices, a batch of all heads: what schedules for these take."""
    b, s, n, h = query.shape
    t, width = value.shape[1], value.shape[3]

    def heads(x: Any, *extents: Any) -> Any:
        return topi.reshape(topi.transpose(x, [0, 2, 1, 3]), [b * n, *extents])

    q, k, v = heads(query, s, h), heads(key, t, h), heads(value, t, width)
    scores = topi.nn.batch_matmul(q, k)
    if scale is not None:
        scores = topi.multiply(scores, tir_const(scale, scores.dtype))
    else:
        scores = topi.divide(scores, tir_op.sqrt(h.astype(scores.dtype)))
    if bias is not None:
        scores = topi.add(topi.reshape(scores, [b, n, s, t]), bias)
        scores = topi.reshape(scores, [b * n, s, t])
    if causal_mask is None:
        weights = topi.nn.softmax(scores)
    else:
        seen = _aligned(s, t, causal_mask).astype("int32")
        masked = topi.trilu(scores, seen, False)
        most = topi.max(masked, axis=-1, keepdims=True)
        exps = topi.trilu(topi.exp(topi.subtract(masked, most)), seen, False)
        weights = topi.divide(exps, topi.sum(exps, axis=-1, keepdims=True))
    out = topi.nn.batch_matmul(weights, v, transpose_b=False)
    return topi.transpose(topi.reshape(out, [b, n, s, width]), [0, 2, 1, 3])


def _aligned(rows: Any, columns: Any, causal_mask: str | None) -> Any:
    """How many more columns a row sees than its number; more rows than columns hide none."""
    if causal_mask != "BottomRight":
        return tir_const(0, "int32")
    return tir_op.abs(rows - columns)


def _te(bb: BlockBuilder, *operands: Expr, **o: Any) -> Expr:
    """Products of matrices; windows are for loops over heads only."""
    if o["window_size"] is not None:
        return _te_by_heads(bb, *operands, **o)

    def compute(query: Any, key: Any, value: Any, bias: Any = None) -> Any:
        return te_products(query, key, value, bias, o["scale"], o["causal_mask"])

    return bb.call_te(compute, *operands, primfunc_name_hint=_kernel_name(operands))


def _te_by_heads(bb: BlockBuilder, *operands: Expr, **o: Any) -> Expr:
    def compute(query: Any, key: Any, value: Any, bias: Any = None) -> Any:
        return te_attention(query, key, value, bias, o["scale"], o["causal_mask"], o["window_size"])

    return bb.call_te(compute, *operands, primfunc_name_hint=_kernel_name(operands))


def _kernel_name(operands: Sequence[Expr]) -> str:
    return "attention" if len(operands) == 3 else "attention_bias"


def attention_by_heads(bb: BlockBuilder, call: Call) -> Expr:
    """Legalization to loops over the heads as they lie, which no operand is moved for."""
    return _te_by_heads(bb, *call.args, **options_of(call))


# For `LegalizeOps` where schedules look at the whole kernel.
BY_HEADS: Final = {
    "relax.nn.attention": attention_by_heads, "relax.nn.attention_bias": attention_by_heads,
}  # fmt: skip


def attention_numpy(
    query: Array,
    key: Array,
    value: Array,
    bias: Array | None = None,
    *,
    scale: float | None,
    causal_mask: str | None,
    window_size: int | None,
) -> Array:
    """Attention in numpy, computed in single precision at least."""
    q, k, v = (np.moveaxis(_wide(x), 2, 1) for x in (query, key, value))
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * factor
    if bias is not None:
        scores = scores + bias
    s, t = scores.shape[-2:]
    if causal_mask is not None or window_size is not None:
        offset = abs(t - s) if causal_mask == "BottomRight" else 0
        row, column = np.arange(s)[:, None] + offset, np.arange(t)[None, :]
        seen = column <= row
        if window_size is not None:
            seen &= column > row - window_size
        scores = np.where(seen, scores, np.finfo(scores.dtype).min)
    out = np.matmul(softmax_numpy(scores, axis=-1), v)
    return np.moveaxis(out, 1, 2).astype(query.dtype)


def _wide(x: Array) -> Array:
    return x.astype(np.result_type(x.dtype, np.float32))


for _op in (_plain_attention, _biased_attention):
    _op.infer(_info)
    _op.legalize(_te)
    _op.reference(attention_numpy)


@relax_op(
    "relax.nn.attention_var_len",
    "query: Tensor, key: Tensor, value: Tensor, seqstart_q: Tensor, seqstart_k: Tensor, "
    "max_seqlen_q: Tensor, max_seqlen_k: Tensor",
    AttentionAttrs,
    pattern=OUT_FUSABLE,
    precision=ALWAYS,
    script=False,
)
def _var_len(query: ExprLike, key: ExprLike, value: ExprLike, *starts: ExprLike, **o: Any) -> Call:
    """Attention within each of several sequences that lie one after the other."""
    return _var_len.call(query, key, value, *starts, **o)


def attention_var_len(
    queries: ExprLike,
    keys: ExprLike,
    values: ExprLike,
    seqstart_q: ExprLike,
    max_seqlen_q: ExprLike,
    seqstart_k: ExprLike | None = None,
    max_seqlen_k: ExprLike | None = None,
    scale: Any = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> Call:
    """Attention within each of several sequences that lie one after the other.

    (1, total, n, h) each; `seqstart_q` says where sequences begin, with the end as last.
    """
    if _ndim(max_seqlen_q) == 1 and _ndim(seqstart_k) == 0:
        # scripts show the operands in the operator's order: both starts, then both lengths
        max_seqlen_q, seqstart_k = seqstart_k, max_seqlen_q  # type: ignore[assignment]
    starts_k = seqstart_q if seqstart_k is None else seqstart_k
    longest_k = max_seqlen_q if max_seqlen_k is None else max_seqlen_k
    return _var_len(
        queries, keys, values, seqstart_q, starts_k, max_seqlen_q, longest_k,
        **_options(scale, causal_mask, window_size),
    )  # fmt: skip


def _ndim(operand: object) -> int:
    return getattr(getattr(operand, "struct_info_", None), "ndim", -1)


@_var_len.infer
def _var_len_info(
    ctx: Infer,
    query: TensorStructInfo,
    key: TensorStructInfo,
    value: TensorStructInfo,
    *starts: StructInfo,
    **options: Any,
) -> TensorStructInfo:
    return _info(ctx, query, key, value)


def _sequence_of(starts: Any, position: Any) -> Any:
    """How many sequences end at or before a position: the index of the sequence it lies in."""
    count = starts.shape[0] - 1
    b = te.reduce_axis((0, count), name="b")
    ends = tir_op.if_then_else(starts[b + 1] <= position.astype(starts.dtype), 1, 0)
    return te.sum(ends, axis=b)


def _start(starts: Any, sequence: Any) -> Any:
    """Where a sequence starts; positions behind the last one's end are in none, at the end."""
    last = (starts.shape[0] - 1).astype(sequence.dtype)
    return starts[tir_op.min(sequence, last)]


@_var_len.legalize
def _var_len_te(bb: BlockBuilder, *operands: Expr, **o: Any) -> Expr:
    def compute(q: Any, k: Any, v: Any, starts_q: Any, starts_k: Any) -> Any:
        """Attention over everything, where a row sees the columns of its own sequence."""
        _, s, n, h = q.shape
        t = k.shape[1]
        dtype = q.dtype
        rows = te.compute((s,), lambda r: _sequence_of(starts_q, r), name="row_sequence")
        columns = te.compute((t,), lambda c: _sequence_of(starts_k, c), name="column_sequence")
        factor = o["scale"] if o["scale"] is not None else 1 / tir_op.sqrt(h.astype("float32"))
        x = te.reduce_axis((0, h), name="x")
        scores = te.compute(
            (n, s, t),
            lambda j, r, c: te.sum(
                q[0, r, j, x].astype("float32") * k[0, c, j, x].astype("float32"), axis=x
            ),
            name="scores",
        )

        def masked(j: Any, r: Any, c: Any) -> Any:
            own = rows[r]
            first_q, first_k = _start(starts_q, own), _start(starts_k, own)
            row = r - first_q.astype(r.dtype)
            column = c - first_k.astype(c.dtype)
            if o["causal_mask"] == "BottomRight":
                next_q, next_k = _start(starts_q, own + 1), _start(starts_k, own + 1)
                more = (next_k - first_k) - (next_q - first_q)
                row = row + more.astype(row.dtype)
            seen = columns[c].equal(own)
            if o["causal_mask"] is not None or o["window_size"] is not None:
                seen = tir_op.all(seen, column <= row)
            if o["window_size"] is not None:
                seen = tir_op.all(seen, column > row - o["window_size"])
            lowest = tir_op.min_value("float32")
            return tir_op.if_then_else(seen, scores[j, r, c] * factor, lowest)

        weights = topi.nn.softmax(te.compute((n, s, t), masked, name="masked"), -1)
        m = te.reduce_axis((0, t), name="m")
        out = te.compute(
            (1, s, n, v.shape[3]),
            lambda i, r, j, d: te.sum(
                weights[j, r, m] * v[0, m, j, d].astype("float32"), axis=m
            ),
            name="attention_var_len",
        )
        count = (starts_q.shape[0] - 1).astype("int32")

        def within(i: Any, r: Any, j: Any, d: Any) -> Any:
            inside = rows[r].astype("int32") < count
            return tir_op.if_then_else(inside, out[i, r, j, d], 0.0).astype(dtype)

        return te.compute(out.shape, within, name="of_sequences")

    # the longest sequences tell a kernel what to reserve; this one needs nothing
    return bb.call_te(compute, *operands[:5], primfunc_name_hint="attention_var_len")


@_var_len.reference
def _var_len_numpy(
    query: Array,
    key: Array,
    value: Array,
    seqstart_q: Array,
    seqstart_k: Array,
    max_seqlen_q: Array,
    max_seqlen_k: Array,
    **o: Any,
) -> Array:
    out = np.zeros((*query.shape[:3], value.shape[3]), query.dtype)
    for i in range(len(seqstart_q) - 1):
        rows = slice(int(seqstart_q[i]), int(seqstart_q[i + 1]))
        columns = slice(int(seqstart_k[i]), int(seqstart_k[i + 1]))
        out[:, rows] = attention_numpy(query[:, rows], key[:, columns], value[:, columns], **o)
    return out


# one Python function makes either of two operators
script_function("nn.attention", attention)
script_function("nn.attention_bias", attention_bias)
script_function("nn.attention_var_len", attention_var_len)
