"""Attention kernels in numpy, with the parameters that caches call kernels with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

Array = Any


def rope(x: Array, positions: Array, theta: float, scale: float) -> Array:
    """Turn the halves of the last dimension by the positions of the first."""
    half = x.shape[-1] // 2
    freq = positions.reshape(-1, 1, 1) * scale / theta ** (np.arange(half) * 2 / x.shape[-1])
    left, right = x[..., :half], x[..., half:]
    cos, sin = np.cos(freq), np.sin(freq)
    return np.concatenate([left * cos - right * sin, right * cos + left * sin], -1)


def attend(q: Array, k: Array, v: Array, scale: float, visible: Array) -> tuple[Array, Array]:
    """(m, h, d), (n, g, d), (n, g, e), (m, n) -> (m, h, e), and log2 of the sums, (m, h)."""
    group = q.shape[1] // k.shape[1]
    scores = np.einsum("mhd,nhd->hmn", q, np.repeat(k, group, 1)) * scale * math.log2(math.e)
    scores = np.where(visible, scores, -5e4)
    if not k.shape[0]:
        return np.zeros((*q.shape[:2], v.shape[2])), np.full(q.shape[:2], -5e4)
    top = scores.max(-1, keepdims=True)
    sums = np.exp2(scores - top).sum(-1, keepdims=True)
    out = np.einsum("hmn,nhe->mhe", np.exp2(scores - top) / sums, np.repeat(v, group, 1))
    return out, (np.log2(sums) + top)[..., 0].T


def store(target: Any, values: Array) -> None:
    """Write an array to a tensor."""
    target.copyfrom(np.ascontiguousarray(values.astype(str(target.dtype))))


def append(pages: Any, k: Any, v: Any, places: Any) -> None:
    """Keys and values into pages of (pages, 2, heads, size, dim)."""
    held = pages.numpy().copy()
    for i, place in enumerate(places.numpy()):
        page, at = divmod(int(place), held.shape[3])
        held[page, 0, :, at] = k.numpy()[i]
        held[page, 1, :, at] = v.numpy()[i]
    store(pages, held)


def split_rotary_of(theta: float, scale: float) -> Callable[..., None]:
    """Split and turn rows of queries, keys and values."""

    def split_rotary(qkv: Any, positions: Any, q: Any, k: Any, v: Any, turn: int) -> None:
        rows, at = qkv.numpy().astype("float64"), positions.numpy()
        heads, kv = q.shape[1], k.shape[1]
        parts = rows[:, :heads], rows[:, heads : heads + kv]
        for target, part in zip((q, k), parts):
            store(target, rope(part, at, theta, scale) if turn else part)
        store(v, rows[:, heads + kv :])

    return split_rotary


def copy_page(pages: Any, source: int, target: int, count: int) -> None:
    """The first places of a page into another."""
    held = pages.numpy().copy()
    held[target, :, :, :count] = held[source, :, :, :count]
    store(pages, held)


def compact(pages: Any, indptr: Any, moves: Any, batch: int) -> None:
    """Move single tokens; those of a sequence one after the other."""
    held = pages.numpy().copy()
    size = held.shape[3]
    assert indptr.shape == (batch + 1,)
    for source, target in moves.numpy().T:
        held[target // size, :, :, target % size] = held[source // size, :, :, source % size]
    store(pages, held)


def debug_get(pages: Any, places: Any, k: Any, v: Any, layer: int) -> None:
    """The keys and values at some places, as one layer of the outputs."""
    held, size = pages.numpy(), pages.shape[3]
    for i, target in enumerate((k, v)):
        out = target.numpy().copy()
        out[layer] = [held[p // size, i, :, p % size] for p in places.numpy()]
        store(target, out)


def merge(a: Any, s: Any, b: Any, t: Any) -> None:
    """Two attentions over different tokens as one, into the first."""
    top = np.maximum(s.numpy(), t.numpy())
    left, right = np.exp2(s.numpy() - top), np.exp2(t.numpy() - top)
    share = (left / (left + right))[..., None]
    store(a, a.numpy() * share + b.numpy() * (1 - share))
    store(s, np.log2(left + right) + top)


def _rows_of(indptr: Array) -> list[slice]:
    return [slice(int(a), int(b)) for a, b in pairwise(indptr)]


def _in_pages(
    pages: Array, indptr: Array, indices: Array, lengths: Array, b: int
) -> tuple[Array, Array]:
    """The keys and values of one sequence."""
    size = pages.shape[3]
    mine = indices[indptr[b] : indptr[b + 1]]
    if not len(mine):
        empty = np.zeros((0, pages.shape[2], pages.shape[4]))
        return empty, empty
    rows = pages[mine].transpose(1, 0, 3, 2, 4).reshape(2, -1, pages.shape[2], pages.shape[4])
    last, offset, sinks = (lengths[b], 0, 0) if lengths.ndim == 1 else lengths[:, b]
    end = (len(mine) - 1) * size + last
    places = [*range(sinks), *range(max(offset, sinks), end)]
    return rows[0][places], rows[1][places]


def _ancestors(order: Array, count: int, cached: int) -> Array:
    """Which of all tokens the last `count` may see: old ones, and those above them in the tree."""
    start, visible = cached - len(order), np.zeros((count, cached), bool)
    for row in range(count):
        low, high = order[row + len(order) - count]
        visible[row] = [
            col < start or (order[col - start, 0] <= low and high <= order[col - start, 1])
            for col in range(cached)
        ]
    return visible


def _paged(
    q: Any, indptr: Array, pages: Array, table: Sequence[Array], starts: Array, positions: Array,
    out: Any, lse: Any, inline: int, scale: float, theta: float, sm_scale: float,
    orders: Sequence[Array] | None = None,
) -> None:  # fmt: skip
    result, sums = out.numpy().copy(), lse.numpy().copy()
    for b, rows in enumerate(_rows_of(indptr)):
        k, v = _in_pages(pages, *table, b)
        mine = q[rows]
        if inline:
            mine = rope(mine, positions[rows], theta, scale)
            k = rope(k, starts[b] + np.arange(len(k)), theta, scale)
        visible = np.ones((len(mine), len(k)), bool)
        if orders is not None:
            visible = _ancestors(orders[b], len(mine), len(k))
        result[rows], sums[rows] = attend(mine, k, v, sm_scale, visible)
    store(out, result)
    store(lse, sums)


def prefill(
    q: Any, indptr: Any, pages: Any, page_indptr: Any, indices: Any, lengths: Any, starts: Any,
    positions: Any, out: Any, lse: Any, causal: int, *rest: Any,
) -> None:  # fmt: skip
    """Rows of several sequences attend to pages."""
    assert causal == 0
    table = (page_indptr.numpy(), indices.numpy(), lengths.numpy())
    _paged(q.numpy(), indptr.numpy(), pages.numpy(), table, starts.numpy(), positions.numpy(),
           out, lse, *rest)  # fmt: skip


def decode(
    q: Any, pages: Any, page_indptr: Any, indices: Any, lengths: Any, starts: Any,
    positions: Any, out: Any, lse: Any, *rest: Any,
) -> None:  # fmt: skip
    """One row of each sequence attends to pages."""
    table = (page_indptr.numpy(), indices.numpy(), lengths.numpy())
    _paged(q.numpy(), np.arange(len(q.numpy()) + 1), pages.numpy(), table, starts.numpy(),
           positions.numpy(), out, lse, *rest)  # fmt: skip


def tree_prefill(
    q: Any, indptr: Any, pages: Any, page_indptr: Any, indices: Any, lengths: Any, starts: Any,
    positions: Any, out: Any, lse: Any, inline: int, scale: float, theta: float, sm_scale: float,
    tree_indptr: Any, tree_order: Any,
) -> None:  # fmt: skip
    """Rows attend to pages whose last tokens are trees."""
    orders = [tree_order.numpy()[rows] for rows in _rows_of(tree_indptr.numpy())]
    table = (page_indptr.numpy(), indices.numpy(), lengths.numpy())
    _paged(q.numpy(), indptr.numpy(), pages.numpy(), table, starts.numpy(), positions.numpy(),
           out, lse, inline, scale, theta, sm_scale, orders)  # fmt: skip


def _ragged(
    q: Any, indptr: Any, k: Any, v: Any, kv_indptr: Any, at: Array, k_at: Array, out: Any,
    lse: Any, inline: int, scale: float, theta: float, sm_scale: float,
    visible: Callable[[int, int], Array],
) -> None:  # fmt: skip
    result, sums = out.numpy().copy(), lse.numpy().copy()
    assert (indptr.numpy() == kv_indptr.numpy()).all()
    for b, rows in enumerate(_rows_of(indptr.numpy())):
        mine, keys = q.numpy()[rows], k.numpy()[rows]
        if inline:
            mine, keys = rope(mine, at[rows], theta, scale), rope(keys, k_at[rows], theta, scale)
        seen = visible(b, len(mine))
        result[rows], sums[rows] = attend(mine, keys, v.numpy()[rows], sm_scale, seen)
    store(out, result)
    store(lse, sums)


def ragged(
    q: Any, indptr: Any, k: Any, v: Any, kv_indptr: Any, positions: Any, starts: Any, out: Any,
    lse: Any, causal: int, *rest: Any,
) -> None:  # fmt: skip
    """Rows attend to rows before them."""
    k_at = np.concatenate(
        [s + np.arange(r.stop - r.start) for s, r in zip(starts.numpy(), _rows_of(indptr.numpy()))]
    )
    _ragged(q, indptr, k, v, kv_indptr, positions.numpy(), k_at, out, lse, *rest,
            lambda b, n: np.tri(n, dtype=bool) if causal else np.ones((n, n), bool))  # fmt: skip


def tree_ragged(
    q: Any, indptr: Any, k: Any, v: Any, kv_indptr: Any, positions: Any, tree_indptr: Any,
    tree_order: Any, out: Any, lse: Any, *rest: Any,
) -> None:  # fmt: skip
    """Rows attend to rows above them in a tree."""
    orders = [tree_order.numpy()[rows] for rows in _rows_of(tree_indptr.numpy())]
    at = positions.numpy()
    _ragged(q, indptr, k, v, kv_indptr, at, at, out, lse, *rest,
            lambda b, n: _ancestors(orders[b], n, n))  # fmt: skip
