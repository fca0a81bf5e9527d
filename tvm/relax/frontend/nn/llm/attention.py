"""Attention of one row and head, in one pass over its keys; and kernels of it over any keys.

    top, total, acc = -inf, 0, 0
    for j in keys:  s = q . k[j];  acc, total = acc * 2 ** (old - top) + 2 ** (s - top) * v[j], ...
    out = acc / total,  lse = top + log2(total)

Scores are in base two. The logarithm `lse` is what merges attentions over different keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import tir
from tvm.tir.stmt import ForKind
from tvm.topi.kernel import Kernel, number
from tvm.topi.loops import let, load, local, loop, repeat_while, sequence, store, when

from .position_embedding import turned

# lower than any score: what a row without keys has as its logarithm
NOTHING = -5e4


@dataclass(frozen=True)
class Row:
    """What one row of one head attends with, and to."""

    query: Callable[[Any], Any]  # (dimension), float32
    key: Callable[[Any, Any], Any]  # (number of the key, dimension), float32
    value: Callable[[Any, Any], Any]
    turned_key: tuple[Any, Callable[[Any, Any], Any]] | None  # a condition, and the key then
    visible: Callable[[Any], Any]  # (number of the key)
    keys: Any  # how many
    dim: int
    value_dim: int
    scale: Any


def attend(
    row: Row, out: Callable[[Any, Any], tir.Stmt], lse: Callable[[Any], tir.Stmt], lanes: int = 1
) -> tir.Stmt:
    """Attend; `out(dimension, value)` and `lse(value)` store the results.

    Products of queries and keys are summed in so many lanes, where they divide the dimension.
    """
    log2_e = tir.const(math.log2(math.e), "float32")

    def whole(query: tir.Buffer, acc: tir.Buffer, top: tir.Buffer, total: tir.Buffer) -> tir.Stmt:
        def step(j: Any, score: tir.Buffer) -> tir.Stmt:
            def product(key: Callable[[Any, Any], Any]) -> tir.Stmt:
                return dot(
                    row.dim, lanes, lambda d: query[d] * key(j, d), lambda x: store(score, x, 0)
                )

            plain = product(row.key)
            if row.turned_key is not None:
                turns, key = row.turned_key
                plain = when(turns, product(key), plain)
            return sequence(
                plain,
                let(load(score, 0) * row.scale * log2_e, lambda s: add(j, s), "s"),
            )

        def add(j: Any, s: Any) -> tir.Stmt:
            def grown(new: Any, old: Any, share: Any) -> tir.Stmt:
                return sequence(
                    store(total, load(total, 0) * old + share, 0),
                    loop(row.value_dim,
                         lambda d: store(acc, acc[d] * old + share * row.value(j, d), d), "d"),
                    store(top, new, 0),
                )  # fmt: skip

            return let(
                tir.max(load(top, 0), s),
                lambda new: let(
                    tir.exp2(load(top, 0) - new),
                    lambda old: let(tir.exp2(s - new), lambda p: grown(new, old, p), "share"),
                    "old",
                ),
                "new",
            )

        some = load(total, 0) > tir.const(0, "float32")
        zero = tir.const(0, "float32")
        return sequence(
            loop(row.dim, lambda d: store(query, row.query(d), d), "d"),
            loop(row.value_dim, lambda d: store(acc, 0.0, d), "d"),
            store(top, NOTHING, 0),
            store(total, 0.0, 0),
            loop(row.keys, lambda j: when(
                row.visible(j), local("float32", lambda score: step(j, score), name="score")
            ), "j"),
            loop(row.value_dim, lambda d: out(
                d, tir.if_then_else(some, tir.div(acc[d], load(total, 0)), zero)
            ), "d"),
            lse(load(top, 0) + tir.if_then_else(some, tir.log2(load(total, 0)), zero)),
        )  # fmt: skip

    return local("float32", lambda query: local(
        "float32", lambda acc: local(
            "float32", lambda top: local(
                "float32", lambda total: whole(query, acc, top, total), name="total"
            ), name="top",
        ), row.value_dim, "acc",
    ), row.dim, "query")  # fmt: skip


def dot(
    dim: int, lanes: int, element: Callable[[Any], Any], take: Callable[[Any], tir.Stmt]
) -> tir.Stmt:
    """`take` the sum of the elements, which is made in lanes."""
    width = math.gcd(dim, lanes)

    def sums(part: tir.Buffer) -> tir.Stmt:
        def each(body: Callable[[Any], tir.Stmt]) -> tir.Stmt:
            kind = ForKind.VECTORIZED if width > 1 else ForKind.SERIAL
            return loop(width, body, "lane", kind)

        total: Any = load(part, 0)
        for lane in range(1, width):
            total = total + load(part, lane)
        return sequence(
            each(lambda lane: store(part, 0.0, lane)),
            loop(dim // width, lambda d: each(
                lambda lane: store(part, part[lane] + element(d * width + lane), lane)
            ), "d"),
            take(total),
        )  # fmt: skip

    return local("float32", sums, width, "lanes")


def with_sequence_of(indptr: tir.Buffer, row: Any, body: Callable[[Any], tir.Stmt]) -> tir.Stmt:
    """`body(b)` for the sequence b with indptr[b] <= row < indptr[b + 1]."""

    def search(found: tir.Buffer) -> tir.Stmt:
        b = load(found, 0)
        return sequence(
            store(found, 0, 0),
            repeat_while(number(indptr, b + 1) <= row, store(found, b + 1, 0)),
            let(b, body, "b"),
        )

    return local("int64", search, name="sequence")


@dataclass(frozen=True)
class Heads:
    """The shape of an attention, and how its rows are turned."""

    query_heads: int
    kv_heads: int
    dim: int
    value_dim: int
    dtype: str
    rope_scaling: dict[str, Any]

    def kv(self, head: Any) -> Any:
        """The key and value head of a query head."""
        return tir.floordiv(head, self.query_heads // self.kv_heads)


class Rope:
    """The parameters rotary_mode, rope_scale and rope_theta of a kernel; turns what it reads."""

    def __init__(self, kernel: Kernel, heads: Heads) -> None:
        self._heads = heads
        self._mode = kernel.scalar("rotary_mode", "int32")
        self._scale = kernel.scalar("rope_scale", "float32")
        self._theta = kernel.scalar("rope_theta", "float32")

    @property
    def turns(self) -> Any:
        """Whether the mode asks for turning."""
        return self._mode > 0

    def turned(self, element: Callable[[Any], Any], d: Any, position: Any) -> Any:
        """Element d, turned; in float32."""
        at = position.astype("float32") * self._scale
        heads = self._heads
        return turned(element, d, at, heads.dim, self._theta, heads.rope_scaling)

    def read(self, element: Callable[[Any], Any], d: Any, position: Any) -> Any:
        """Element d, turned where the mode asks for it; in float32."""
        value = self.turned(element, d, position)
        return tir.if_then_else(self.turns, value, element(d).astype("float32"))


class Pages:
    """The keys and values of sequences, in pages that a table lists."""

    def __init__(self, kernel: Kernel, heads: Heads, sliding: bool, page_size: int) -> None:
        self._page_size, self._sliding = page_size, sliding
        shape: tuple[Any, ...] = (page_size, heads.dim)
        if heads.kv_heads:
            shape = (2, heads.kv_heads, *shape)
        self.buffer = kernel.buffer("pages", (kernel.size("num_pages"), *shape), heads.dtype)
        batch = kernel.size("batch_size")
        self._indptr = kernel.indices("page_indptr", kernel.size("page_indptr_size"))
        self._values = kernel.indices("page_values", kernel.size("nnz_pages"))
        self._lengths = kernel.indices("length_info", *((3,) if sliding else ()), batch)

    def length(self, b: Any) -> Any:
        """How many keys a sequence has."""
        count = number(self._indptr, b + 1) - number(self._indptr, b)
        before = (count - 1) * self._page_size
        if self._sliding:
            last, offset, sinks = (number(self._lengths, k, b) for k in range(3))
            total = before + last - offset + sinks
        else:
            total = before + number(self._lengths, b)
        return tir.if_then_else(count > 0, total, tir.const(0, "int64"))

    def page_and_slot(self, b: Any, j: Any) -> tuple[Any, Any]:
        """Page and slot of key j: the sinks come first, then the window."""
        if self._sliding:
            offset, sinks = (number(self._lengths, k, b) for k in (1, 2))
            j = tir.if_then_else(j < sinks, j, j - sinks + offset)
        page = number(self._values, number(self._indptr, b) + tir.floordiv(j, self._page_size))
        return page, tir.floormod(j, self._page_size)


class Trees:
    """Tokens of a sequence as a tree: the numbers of a descendant lie between an ancestor's."""

    def __init__(self, kernel: Kernel, indptr: str, order: str) -> None:
        self._indptr = kernel.indices(indptr, kernel.size(f"{indptr}_size"))
        self._order = kernel.indices(order, kernel.size("tree_size"), 2)

    def visible(self, b: Any, row: Any, rows: Any, j: Any, keys: Any) -> Any:
        """Whether a row (one of the last of the tree) may see key j (the tree comes last)."""
        start = number(self._indptr, b)
        nodes = number(self._indptr, b + 1) - start
        own, other = start + nodes - rows + row, start + j - (keys - nodes)
        inside = tir.all(
            number(self._order, other, 0) <= number(self._order, own, 0),
            number(self._order, own, 1) <= number(self._order, other, 1),
        )
        return tir.if_then_else(j < keys - nodes, tir.const(True), inside)
