"""Attention."""

from __future__ import annotations

import math
from typing import Any

from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.struct_info import ShapeExpr

from .registry import convert
from .values import Expr, Size, cast, dtype_of, length, product, rank, scalar, sizes, tensor_of

_SWAPPED = [0, 2, 1, 3]


@convert("scaled_dot_product_attention")
def scaled_dot_product_attention(
    bb: BlockBuilder,
    query: Expr,
    key: Expr,
    value: Expr,
    attn_mask: Expr | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Expr:
    """(..., heads, length, width); Relax has heads behind lengths."""
    if enable_gqa and rank(query) >= 3:
        groups = length(query, -3, "attention: query") // length(key, -3, "attention: key")
        if groups > 1:
            key, value = (bb.emit(op.repeat(x, groups, rank(x) - 3)) for x in (key, value))
    query, key, value = _same_batches(bb, query, key, value)
    lead = sizes(query)[:-2]
    q, k, v = (bb.emit(op.permute_dims(_four(bb, x), _SWAPPED)) for x in (query, key, value))
    bias = None if attn_mask is None else score_bias(bb, attn_mask, query, key)
    causal = "TopLeft" if is_causal else None
    made = bb.emit(op.nn.attention(q, k, v, bias, scale=scale, causal_mask=causal))
    made = bb.emit(op.permute_dims(made, _SWAPPED))
    if len(lead) == 2:
        return made
    return op.reshape(made, [*lead, *sizes(made)[-2:]])


def _same_batches(bb: BlockBuilder, *given: Expr) -> list[Expr]:
    """Operands whose axes of batch and heads are stretched to those of all, as `matmul` does it."""
    count = max(rank(x) for x in given) - 2
    leads: list[list[Size]] = [[*[1] * (count + 2 - rank(x)), *sizes(x)[:-2]] for x in given]
    lead = [next((n for n in along if not _is_one(n)), 1) for along in zip(*leads)]
    return [
        bb.emit(op.broadcast_to(x, [*lead, *sizes(x)[-2:]])) if _stretches(own, lead, x) else x
        for x, own in zip(given, leads)
    ]


def _stretches(own: list[Size], lead: list[Size], x: Expr) -> bool:
    return rank(x) - 2 < len(lead) or any(_is_one(a) and not _is_one(b) for a, b in zip(own, lead))


def _is_one(size: Size) -> bool:
    return isinstance(size, int) and size == 1


def _four(bb: BlockBuilder, x: Expr) -> Expr:
    """With one axis for the batch and one for heads."""
    *lead, rows, width = sizes(x)
    if len(lead) == 2:
        return x
    heads = lead[-1] if lead else 1
    return bb.emit(op.reshape(x, [product(lead[:-1]), heads, rows, width]))


def score_bias(bb: BlockBuilder, mask: Expr, query: Expr, key: Expr) -> Expr:
    """What is added to the scores: truth values become 0 and minus infinity."""
    dtype = dtype_of(query)
    if dtype_of(mask) == "bool":
        mask = bb.emit(op.where(mask, scalar(0.0, dtype), scalar(-math.inf, dtype)))
    lead = sizes(query)[:-2]
    if len(lead) > 2:
        mask = bb.emit(op.broadcast_to(mask, [*lead, sizes(query)[-2], sizes(key)[-2]]))
        return bb.emit(op.reshape(mask, [product(lead[:-1]), *sizes(mask)[-3:]]))
    missing = 4 - rank(mask)
    return bb.emit(op.reshape(mask, [*[1] * missing, *sizes(mask)])) if missing else mask


@convert("_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention")
def flash_attention(
    bb: BlockBuilder, query: Expr, key: Expr, value: Expr, dropout_p: float = 0.0,
    is_causal: bool = False, attn_mask: Any = None, scale: float | None = None, **options: Any,
) -> Any:  # fmt: skip
    """The result, and the logarithms of the sums of exponentials (of use in training alone)."""
    made = scaled_dot_product_attention(
        bb, query, key, value, attn_mask, dropout_p, is_causal, scale
    )
    return made, lambda: _log_sums(bb, query, key, attn_mask, is_causal, scale)


def _log_sums(
    bb: BlockBuilder, query: Expr, key: Expr, mask: Expr | None, causal: bool, scale: float | None
) -> Any:
    """Logarithms of the sums of exponentials of the scores, float32: (batch, heads, rows)"""
    dtype = dtype_of(query)
    turned = bb.emit(op.permute_dims(key, [0, 1, 3, 2]))
    factor = tensor_of(bb, scale, dtype) if scale is not None else op.rsqrt(
        tensor_of(bb, sizes(query)[-1], dtype)
    )
    scores: Expr = bb.emit(op.multiply(op.matmul(query, turned), factor))
    if causal:
        rows, columns = sizes(scores)[-2:]
        held = bb.emit(op.tril(bb.emit(op.ones((rows, columns), "bool"))))
        mask = held if mask is None else mask
    if mask is not None:
        scores = bb.emit(op.add(scores, score_bias(bb, mask, query, key)))
    scores = cast(bb, scores, "float32")
    largest = bb.emit(op.max(scores, -1, True))
    total = op.log(op.sum(op.exp(op.subtract(scores, largest)), -1))
    return op.add(total, op.squeeze(largest, [-1]))


@convert("multi_head_attention_forward")
def multi_head_attention_forward(
    bb: BlockBuilder,
    query: Expr,
    key: Expr,
    value: Expr,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Expr | None,
    in_proj_bias: Expr | None,
    bias_k: Expr | None,
    bias_v: Expr | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Expr,
    out_proj_bias: Expr | None,
    training: bool = True,
    key_padding_mask: Expr | None = None,
    need_weights: bool = True,
    attn_mask: Expr | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Expr | None = None,
    k_proj_weight: Expr | None = None,
    v_proj_weight: Expr | None = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Any:
    """(length, batch, width): project, attend by heads, project; the weights, if asked for."""
    batched = rank(query) == 3
    if not batched:
        query, key, value = (bb.emit(op.expand_dims(x, 1)) for x in (query, key, value))
    if in_proj_weight is None or use_separate_proj_weight:
        weights = [q_proj_weight, k_proj_weight, v_proj_weight]
    else:
        weights = _thirds(bb, in_proj_weight)
    biases = [None] * 3 if in_proj_bias is None else _thirds(bb, in_proj_bias)
    width = length(query, -1, "attention")
    size = width // num_heads
    q, k, v = (
        _heads(bb, bb.emit(op.linear(x, w, b)), num_heads, size)  # type: ignore[arg-type]
        for x, w, b in zip((query, key, value), weights, biases)
    )
    mask = _mask(bb, q, attn_mask, key_padding_mask, num_heads)
    for more in _more_places(bb, k, bias_k, bias_v, add_zero_attn):
        k, v = (bb.emit(op.concat([x, one], 2)) for x, one in zip((k, v), more))
        if mask is not None:  # nothing hides them
            mask = bb.emit(op.nn.pad(mask, [0, 0] * (rank(mask) - 1) + [0, 1]))
    dtype = dtype_of(q)
    product = op.matmul(q, op.permute_dims(k, [0, 1, 3, 2]))
    scores = bb.emit(op.multiply(product, scalar(1.0 / math.sqrt(size), dtype)))
    if mask is not None:
        scores = bb.emit(op.add(scores, mask))
    chances = bb.emit(op.nn.softmax(scores, -1))
    joined = op.permute_dims(op.matmul(chances, v), [2, 0, 1, 3])
    rows, batch = sizes(query)[:2]
    rejoined = bb.emit(op.reshape(joined, [rows, batch, width]))
    made = bb.emit(op.linear(rejoined, out_proj_weight, out_proj_bias))
    shown = _shown(bb, chances, need_weights, average_attn_weights)
    if batched:
        return made, shown
    return op.squeeze(made, [1]), None if shown is None else op.squeeze(shown, [0])


def _more_places(
    bb: BlockBuilder, k: Expr, bias_k: Expr | None, bias_v: Expr | None, zero: bool
) -> list[tuple[Expr, Expr]]:
    """Keys and values that are learned, and zeros: one place each behind those of the sequence."""
    batch, heads, _, size = sizes(k)
    found: list[tuple[Expr, Expr]] = []
    if bias_k is not None and bias_v is not None:
        learned = [bb.emit(op.reshape(x, [1, heads, 1, size])) for x in (bias_k, bias_v)]
        wide = [bb.emit(op.broadcast_to(x, [batch, heads, 1, size])) for x in learned]
        found.append((wide[0], wide[1]))
    if zero:
        zeros = bb.emit(op.zeros(ShapeExpr([batch, heads, 1, size]), dtype_of(k)))
        found.append((zeros, zeros))
    return found


def _shown(bb: BlockBuilder, chances: Expr, wanted: bool, average: bool) -> Expr | None:
    if not wanted:
        return None
    return bb.emit(op.mean(chances, 1)) if average else chances


def _thirds(bb: BlockBuilder, x: Expr) -> list[Any]:
    third = length(x, 0, "attention: weights") // 3
    return [
        bb.emit(op.strided_slice(x, [0], [i * third], [(i + 1) * third])) for i in range(3)
    ]


def _heads(bb: BlockBuilder, x: Expr, heads: int, size: int) -> Expr:
    """(length, batch, heads * size) to (batch, heads, length, size)"""
    length, batch, _ = sizes(x)
    return bb.emit(op.permute_dims(op.reshape(x, [length, batch, heads, size]), [1, 2, 0, 3]))


def _mask(
    bb: BlockBuilder, q: Expr, mask: Expr | None, padding: Expr | None, heads: int
) -> Expr | None:
    """What is added to the scores; here truth means: not to be looked at."""
    found: Expr | None = None
    if mask is not None:
        found = _added(bb, mask, dtype_of(q))
        if rank(found) == 3:
            batch, _, *rest = [sizes(q)[0], 0, *sizes(found)[1:]]
            found = bb.emit(op.reshape(found, [batch, heads, *rest]))
    if padding is not None:
        extra = _added(bb, padding, dtype_of(q))
        batch, keys = sizes(extra)
        extra = bb.emit(op.reshape(extra, [batch, 1, 1, keys]))
        found = extra if found is None else bb.emit(op.add(found, extra))
    return found


def _added(bb: BlockBuilder, mask: Expr, dtype: str) -> Expr:
    if dtype_of(mask) != "bool":
        return mask
    return bb.emit(op.where(mask, scalar(-math.inf, dtype), scalar(0.0, dtype)))
