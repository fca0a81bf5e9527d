"""Attention of ONNX Runtime's own set: over heads, with masks, caches and rotary positions.

Tensors of heads are (batch, sequence, heads, size); caches are (batch, heads, sequence, size).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.extents import agreeing, broadcast, extents_of, repeated
from tvm.tir.expr import IntImm

from .cache_buffers import in_buffers
from .node import Node
from .quantized import along_axis, centred
from .registry import Result, convert
from .rotary import turned

_DOMAIN = "com.microsoft."
# What is added to scores that do not count; those that cannot count get the least number.
FILTER = -10000.0


class Heads:
    """Queries, keys and values as they come to the product of scores."""

    def __init__(self, node: Node, query: RelaxExpr, key: RelaxExpr, value: RelaxExpr) -> None:
        self.node, self.bb = node, node.bb
        self.query: RelaxExpr = node.bb.emit(query)
        self.key: RelaxExpr = node.bb.emit(key)
        self.value: RelaxExpr = node.bb.emit(value)
        self.dtype = str(self.query.struct_info.dtype)  # type: ignore[attr-defined]

    def extents(self) -> tuple[PrimExpr, PrimExpr, PrimExpr, PrimExpr]:
        """Batch, queries, heads of queries, keys."""
        query, key = extents_of(self.query), extents_of(self.key)
        assert query is not None and key is not None, "the ranks are known"
        return query[0], query[1], query[2], key[1]

    def behind(self, past_key: RelaxExpr, past_value: RelaxExpr) -> None:
        """Put the keys and values of a cache before the own ones."""
        for name, past in (("key", past_key), ("value", past_value)):
            own = self.bb.emit(op.permute_dims(getattr(self, name), [0, 2, 1, 3]))
            extents: Any = extents_of(own)
            past = agreeing(self.bb, past, [*extents[:2], None, extents[3]])
            whole = self.bb.emit(op.concat([past, own], 2))
            setattr(self, name, self.bb.emit(op.permute_dims(whole, [0, 2, 1, 3])))

    def present(self) -> list[RelaxExpr]:
        """Keys and values as a cache."""
        return [self.bb.emit(op.permute_dims(x, [0, 2, 1, 3])) for x in (self.key, self.value)]

    def mask(
        self, allowed: Callable[..., PrimExpr], tensors: Sequence[RelaxExpr], low: float
    ) -> RelaxExpr:
        """What is added to scores: `low` where allowed(batch, query, key, *tensors) is not so."""
        batch, queries, _, keys = self.extents()

        def compute(_: Sequence[PrimExpr], *given: te.Tensor) -> Any:
            def element(b: Any, _: Any, i: Any, j: Any) -> Any:
                zero, less = tir.const(0, self.dtype), tir.const(low, self.dtype)
                return tir.Select(allowed(b, i, j, *given), zero, less)

            return te.compute((batch, 1, queries, keys), element, name="mask")

        sizes = [batch, queries, keys]  # symbols that the kernel uses have to be handed to it
        return self.bb.emit_te(compute, sizes, *tensors, primfunc_name_hint="mask")

    def attend(
        self, biases: Sequence[RelaxExpr], *, scale: float | None = None, causal: bool = False,
        softcap: float = 0.0, sink: RelaxExpr | None = None,
    ) -> RelaxExpr:  # fmt: skip
        """(batch, queries, heads * size); `causal`: the last query sees the last key."""
        batch, queries, heads, keys = self.extents()
        key, value = (self._for_each_head(x, heads) for x in (self.key, self.value))
        bias: RelaxExpr | None = None
        for one in biases:
            if bias is not None:
                one = self.bb.emit(op.add(*broadcast(self.bb, [bias, one])))
            bias = one
        if softcap > 0 or sink is not None:
            assert not causal, "a mask says so"
            out = self._by_steps(key, value, bias, scale, softcap, sink)
        else:
            if bias is not None:
                bias = repeated(self.bb, bias, [batch, heads, queries, keys])
                bias = self.bb.emit(op.broadcast_to(bias, [batch, heads, queries, keys]))
            way = "BottomRight" if causal else None
            out = op.nn.attention(self.query, key, value, bias, scale=scale, causal_mask=way)
        return op.reshape(self.bb.emit(out), [batch, queries, -1])

    def scores(
        self, biases: Sequence[RelaxExpr], scale: float | None, *, causal: bool = False
    ) -> RelaxExpr:
        """Queries by keys with all that is added, (batch, heads, queries, keys).

        What a query does not see because it comes later is the least number there is.
        """
        _, queries, heads, keys = self.extents()
        if causal:
            least = float(np.finfo(self.dtype).min)
            biases = [*biases, self.mask(lambda b, i, j: j <= i + keys - queries, [], least)]
        total = self._scores(self._for_each_head(self.key, heads), scale)
        for one in biases:
            total = op.add(*broadcast(self.bb, [self.bb.emit(total), one]))
        return total

    def _scores(self, key: RelaxExpr, scale: float | None) -> RelaxExpr:
        size = extents_of(self.query)[3]  # type: ignore[index]
        factor = scale or 1 / math.sqrt(int(size))  # type: ignore[arg-type]
        rows = self.bb.emit(op.permute_dims(self.query, [0, 2, 1, 3]))
        columns = self.bb.emit(op.permute_dims(key, [0, 2, 3, 1]))
        product = self.bb.emit(op.matmul(rows, columns))
        return self.bb.emit(op.multiply(product, Constant(np.asarray(factor, self.dtype))))

    def _by_steps(
        self, key: RelaxExpr, value: RelaxExpr, bias: RelaxExpr | None, scale: float | None,
        softcap: float, sink: RelaxExpr | None,
    ) -> RelaxExpr:  # fmt: skip
        """With scores that are bent towards a largest, or one more that no value belongs to."""
        bb, (batch, queries, heads, keys) = self.bb, self.extents()
        scores = self._scores(key, scale)
        if softcap > 0:
            cap = Constant(np.asarray(softcap, self.dtype))
            scores = bb.emit(op.multiply(op.tanh(op.divide(scores, cap)), cap))
        if bias is not None:
            scores = bb.emit(op.add(scores, bias))
        if sink is not None:
            last = bb.emit(op.reshape(sink, [1, -1, 1, 1]))
            last = bb.emit(op.broadcast_to(last, [batch, heads, queries, 1]))
            scores = bb.emit(op.concat([scores, last], 3))
        shares = bb.emit(op.nn.softmax(scores, -1))
        if sink is not None:
            shares = bb.emit(op.strided_slice(shares, [3], [0], [keys]))
        out = op.matmul(shares, bb.emit(op.permute_dims(value, [0, 2, 1, 3])))
        return op.permute_dims(bb.emit(out), [0, 2, 1, 3])

    def _for_each_head(self, value: RelaxExpr, heads: PrimExpr) -> RelaxExpr:
        own = extents_of(value)[2]  # type: ignore[index]
        if not isinstance(own, IntImm) or not isinstance(heads, IntImm) or own.value == heads.value:
            return value
        return self.bb.emit(op.repeat(value, heads.value // own.value, 2))


def split_heads(node: Node, value: RelaxExpr, heads: int) -> RelaxExpr:
    """(batch, sequence, heads * size) -> (batch, sequence, heads, size)."""
    batch, length, _ = extents_of(node.bb.emit(value))  # type: ignore[misc]
    return node.bb.emit(op.reshape(value, [batch, length, heads, -1]))


def scale_of(node: Node) -> float | None:
    return float(node.attr("scale", 0.0)) or None


# --- queries, keys and values by one product ---


@convert(_DOMAIN + "Attention")
def attention(node: Node) -> Result:
    """Queries, keys and values by one product, then attention over (batch, sequence, hidden)."""
    product = node.bb.emit(op.matmul(node[0], node[1]))
    return _packed_attention(node, product, 2, mask=3, past=4, bias=5)


@convert(_DOMAIN + "QAttention")
def quantised_attention(node: Node) -> Result:
    """The same, with integers for the first product."""
    a, b = centred(node, 0, 6), centred(node, 1, 7, 1)
    sums = op.astype(node.bb.emit(op.matmul(a, b)), node.dtype(3))
    scale = op.multiply(node[3], along_axis(node, node[4], 1, 2))
    product = node.bb.emit(op.multiply(sums, scale))
    return _packed_attention(node, product, 2, mask=5, past=8, bias=None)


def _packed_attention(
    node: Node, product: RelaxExpr, added: int, *, mask: int, past: int, bias: int | None
) -> Result:
    if node.attr("past_present_share_buffer", 0):
        raise node.invalid("past_present_share_buffer", 1, "0: caches that grow")
    if node.attr("do_rotary", 0):
        raise node.invalid("do_rotary", 1, "0: RotaryEmbedding turns before")
    heads, bb = int(node.required("num_heads")), node.bb
    if node.has(added):
        product = bb.emit(op.add(product, node[added]))
    sizes = [int(s) for s in node.attr("qkv_hidden_sizes", [])]
    ends = [sizes[0], sizes[0] + sizes[1]] if sizes else 3
    parts = bb.emit(op.split(product, ends, 2))
    attended = Heads(node, *(split_heads(node, bb.emit(parts[i]), heads) for i in range(3)))
    if node.has(past):
        before = [bb.emit(op.squeeze(x, [0])) for x in
                  (bb.emit(op.strided_slice(node[past], [0], [i], [i + 1])) for i in (0, 1))]
        attended.behind(*before)
    biases = counted(node, attended, mask)
    if bias is not None and node.has(bias):
        biases.append(node[bias])
    causal = bool(node.attr("unidirectional", 0))
    out = attended.attend(biases, scale=scale_of(node), causal=causal)
    if not node.wants(1):
        return out
    return [out, op.stack(attended.present(), 0)]


def counted(node: Node, attended: Heads, at: int) -> list[RelaxExpr]:
    """What input `at` adds to scores: lengths, marks of keys, or of pairs of query and key."""
    if not node.has(at):
        return []
    low = float(node.attr("mask_filter_value", FILTER))
    rank, (batch, queries, _, keys) = node.rank(at), attended.extents()
    marks = node[at]
    if rank in (2, 3):
        marks = agreeing(node.bb, marks, [batch, *[queries] * (rank - 2), keys])

    def has(value: PrimExpr) -> PrimExpr:
        return value if str(value.dtype) == "bool" else tir.NE(value, tir.const(0, value.dtype))

    rules: dict[int, Callable[..., PrimExpr]] = {
        2: lambda b, i, j, m: has(m(b, j)), 3: lambda b, i, j, m: has(m(b, i, j)),
    }  # fmt: skip
    if rank == 1:
        rule = _lengths(node, at, batch)
    elif rank in rules:
        rule = rules[rank]
    elif rank == 4:  # (batch, 1, longest, longest), of which the last rows are looked at
        rule = lambda b, i, j, m: has(m(b, 0, keys - queries + i, j))  # noqa: E731
    else:
        raise node.invalid(f"input {at}", f"{rank} dimensions", "one to four")
    return [attended.mask(rule, [marks], low)]


def _lengths(node: Node, at: int, batch: PrimExpr) -> Callable[..., PrimExpr]:
    """A key counts up to its row's length; with as many starts behind, also from there on."""
    length = node.shape(at)[0]
    if isinstance(length, IntImm) and isinstance(batch, IntImm) and length.value != batch.value:
        if length.value != 2 * batch.value:
            raise node.invalid(f"input {at}", f"{length} elements", f"{batch}, or twice that")
        return lambda b, i, j, m: tir.all(j < m(b), j >= m(batch + b))
    return lambda b, i, j, m: j < m(b)


# --- queries, keys and values apart ---


@convert(_DOMAIN + "MultiHeadAttention")
def multi_head_attention(node: Node) -> Result:
    """Of three tensors, or packed ones; the caches that come out are those that go on."""
    heads, bb = int(node.required("num_heads")), node.bb
    parts = three_parts(node, heads)
    if node.has(3):
        parts = with_bias(node, parts, node[3], heads)
    attended, present = Heads(node, *parts), None
    if node.has(6) and node.has(8):
        present = in_buffers(node, attended, 6, 8, 9)
    elif node.has(6):
        attended.behind(node[6], node[7])
    biases = counted(node, attended, 4)
    if node.has(5):
        biases.append(node[5])
    causal = bool(node.attr("unidirectional", 0))
    out = attended.attend(biases, scale=scale_of(node), causal=causal)
    results = [out, *(present or (attended.present() if node.wants(1) or node.wants(2)
                                  else [out, out]))]  # fmt: skip
    if node.wants(3):
        results.append(attended.scores(biases, scale_of(node), causal=causal))
    return [bb.emit(result) for result in results]


def three_parts(node: Node, heads: int) -> list[RelaxExpr]:
    """Queries, keys and values by heads, however they are packed."""
    bb = node.bb
    if node.rank(0) == 5:  # (batch, sequence, heads, 3, size)
        return [bb.emit(op.squeeze(x, [3])) for x in _pieces(node, node[0], 3, 3)]
    if not node.has(1):
        if node.rank(0) != 3 or node.op_type == "MultiHeadAttention":
            raise node.invalid("key", "none", "one, unless the queries are packed with it")
        return [split_heads(node, part, heads) for part in _pieces(node, node[0], 3, 2)]
    query = split_heads(node, node[0], heads)
    if node.rank(1) == 5:  # (batch, sequence, heads, 2, size)
        return [query, *(bb.emit(op.squeeze(x, [3])) for x in _pieces(node, node[1], 2, 3))]
    if node.rank(1) == 4:  # as caches lie
        return [query, *(bb.emit(op.permute_dims(node[i], [0, 2, 1, 3])) for i in (1, 2))]
    return [query, *(split_heads(node, node[i], heads) for i in (1, 2))]


def _pieces(node: Node, value: RelaxExpr, count: int, axis: int) -> list[RelaxExpr]:
    parts = node.bb.emit(op.split(value, count, axis))
    return [node.bb.emit(parts[i]) for i in range(count)]


def with_bias(
    node: Node, parts: Sequence[RelaxExpr], bias: RelaxExpr, heads: int
) -> list[RelaxExpr]:
    """One vector for all three, one behind the other; a cross cache of keys has its own."""
    found, start = [], 0
    crossed = node.has(1) and node.rank(1) == 4
    for i, part in enumerate(parts):
        size = extents_of(part)[3]  # type: ignore[index]
        width = heads * int(size)  # type: ignore[arg-type]
        piece = node.bb.emit(op.strided_slice(bias, [0], [start], [start + width]))
        row = node.bb.emit(op.reshape(piece, [1, 1, heads, size]))
        found.append(part if crossed and i else node.bb.emit(op.add(part, row)))
        start += width
    return found


# --- groups of heads with one key, and a cache of a fixed length ---


@convert(_DOMAIN + "GroupQueryAttention")
def group_query_attention(node: Node) -> Result:
    """Causal; row b of a batch has seqlens_k[b] + 1 keys, of which the last are new.

    The caches that come out have the old keys in front, the new ones directly behind them.
    """
    bb = node.bb
    heads, groups = int(node.required("num_heads")), int(node.required("kv_num_heads"))
    for at, what in ((12, "k_scale"), (13, "v_scale"), (16, "query_seqlens")):
        if node.has(at):
            raise node.invalid(what, "given", "left out: caches of floating-point numbers")
    query, key, value = grouped_parts(node, heads, groups)
    batch, length = extents_of(query)[:2]  # type: ignore[index]
    total = node.numbers(6, "total_sequence_length", 1)[0]
    before = _old_keys(node, length, total)
    for at, name in ((14, "q"), (15, "k")):
        if node.has(at):
            epsilon = node.attr(f"{name}_norm_epsilon", node.attr("qk_norm_epsilon", 1e-6))
            part = query if name == "q" else key
            normed = bb.emit(op.nn.rms_norm(part, node[at], axes=[-1], epsilon=float(epsilon)))
            query, key = (normed, key) if name == "q" else (query, normed)
    if node.attr("do_rotary", 0):
        places = node[9] if node.has(9) else places_behind(node, before, batch, length)
        mixed = bool(node.attr("rotary_interleaved", 0))
        query, key = (
            turned(bb, part, places, node[7], node[8], interleaved=mixed) for part in (query, key)
        )
    caches = [cache_of(node, new, at, before, total) for new, at in ((key, 3), (value, 4))]
    # buffers may be longer than what is in them
    looked = [bb.emit(op.permute_dims(cache, [0, 2, 1, 3])) for cache in caches]
    attended = Heads(node, query, *looked)
    window = int(node.attr("local_window_size", -1))
    causal = bool(node.attr("causal", 1))

    def allowed(b: Any, i: Any, j: Any, old: te.Tensor) -> PrimExpr:
        last = i + old(b)
        seen = j <= last if causal else j < old(b) + length
        return tir.all(seen, j > last - window) if window >= 0 else seen

    low = float(np.finfo(np.float16 if attended.dtype == "float16" else np.float32).min)
    biases = [attended.mask(allowed, [before], low)]
    if node.has(10):
        biases.append(_as_wide(node, node[10], attended.extents()[3]))
    sink = node.optional(11)
    if sink is None and int(node.attr("smooth_softmax", -1)) > 0:
        sink = Constant(np.zeros(heads, attended.dtype))
    softcap = float(node.attr("softcap", 0.0))
    out = attended.attend(biases, scale=scale_of(node), softcap=softcap, sink=sink)
    return [bb.emit(out), *caches]


def grouped_parts(node: Node, heads: int, groups: int) -> list[RelaxExpr]:
    """Queries, and keys and values of fewer heads, apart or packed with them."""
    if node.has(1):
        return [split_heads(node, node[i], n) for i, n in enumerate((heads, groups, groups))]
    whole = split_heads(node, node[0], heads + 2 * groups)
    parts = node.bb.emit(op.split(whole, [heads, heads + groups], 2))
    return [node.bb.emit(parts[i]) for i in range(3)]


def _old_keys(node: Node, length: PrimExpr, total: Any) -> RelaxExpr:
    """(batch,): how many keys a row has of old; none where all that there is, is new."""

    def compute(last: te.Tensor, length: PrimExpr, total: PrimExpr) -> Any:
        first = tir.EQ(total, length)
        zero = tir.const(0, "int64")
        return te.compute(
            last.shape,
            lambda b: tir.Select(first, zero, last(b).astype("int64") + 1 - length),
            name="old_keys",
        )

    lengths = node[5]
    if node.rank(5) != 1:
        lengths = node.bb.emit(op.reshape(lengths, [-1]))
    total = tir.const(total, "int64") if isinstance(total, int) else total
    return node.bb.emit_te(compute, lengths, length, total, primfunc_name_hint="old_keys")


def places_behind(node: Node, before: RelaxExpr, batch: PrimExpr, length: PrimExpr) -> RelaxExpr:
    """(batch, length): the positions of the new keys."""
    starts = op.reshape(before, [batch, 1])
    steps = op.reshape(op.arange(0, length, 1, "int64"), [1, length])
    return node.bb.emit(op.add(starts, steps))


def cache_of(node: Node, new: RelaxExpr, at: int, before: RelaxExpr, total: Any) -> RelaxExpr:
    """The keys of old, and the new ones behind them; zeros up to the buffer's length."""
    old = [node[at]] if node.has(at) else []
    extent = tir.const(total, "int64") if isinstance(total, int) else total
    if old:
        extent = tir.max(node.shape(at)[2], extent)

    def compute(fresh: te.Tensor, count: te.Tensor, extent: PrimExpr, *kept: te.Tensor) -> Any:
        def element(b: Any, g: Any, t: Any, h: Any) -> Any:
            nothing = tir.const(0, fresh.dtype)
            inside = tir.all(t >= count(b), t - count(b) < fresh.shape[1])
            value = tir.if_then_else(inside, fresh(b, t - count(b), g, h), nothing)
            if not kept:
                return value
            held = tir.if_then_else(t < kept[0].shape[2], kept[0](b, g, t, h), nothing)
            return tir.if_then_else(inside, value, held)

        rows, _, groups, size = fresh.shape
        return te.compute((rows, groups, extent, size), element, name="cache")

    return node.bb.emit_te(compute, new, before, extent, *old, primfunc_name_hint="cache")


def _as_wide(node: Node, bias: RelaxExpr, keys: PrimExpr) -> RelaxExpr:
    """A bias for fewer keys than the buffer has, with zeros for the rest."""

    def compute(x: te.Tensor, keys: PrimExpr) -> Any:
        zero = tir.const(0, x.dtype)
        return te.compute(
            (*x.shape[:3], keys),
            lambda b, h, i, j: tir.if_then_else(j < x.shape[3], x(b, h, i, j), zero),
            name="wide",
        )

    return node.bb.emit_te(compute, bias, keys, primfunc_name_hint="wide")
