"""Attention of one row and head by a block of threads: each has some keys, then some dimensions.

    for keys in tiles of THREADS:
        scores[thread] = q . k[keys[thread]]                 # shared memory; hidden keys: lowest
        high = max(top, scores);  weights[thread] = 2 ** (scores[thread] - high)
        acc = acc * 2 ** (top - high) + weights . v[keys]     # each thread for its dimensions
        total, top = total * 2 ** (top - high) + sum(weights), high
    out = acc / total,  lse = top + log2(total)

Nothing as long as the keys is kept, so that their number is open. Threads wait for each other
twice a tile: for all scores, and for all weights; the next tile's scores go where these have been
read by all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from tvm import tir
from tvm.topi.kernel import BLOCK
from tvm.topi.loops import let, load, local, loop, sequence, store, wait_for_block, when

from .attention import NOTHING, Row, dot

_HIDDEN: Final = -3e38  # a score whose weight is zero beside any other


def attend_in_block(
    row: Row, out: Callable[[Any, Any], tir.Stmt], lse: Callable[[Any], tir.Stmt], thread: Any
) -> tir.Stmt:
    """`attend`, by the threads of a block; all of them are here."""
    zero, log2_e = tir.const(0, "float32"), tir.const(math.log2(math.e), "float32")
    place = thread.astype("int64")

    def own(extent: int, body: Callable[[Any, Any], tir.Stmt]) -> tir.Stmt:
        """`body(i, d)` for each dimension d of this thread, its i-th."""

        def one(i: Any) -> tir.Stmt:
            d = i * BLOCK + place
            return body(i, d) if extent % BLOCK == 0 else when(d < extent, body(i, d))

        return loop(tir.const(-(-extent // BLOCK), "int64"), one, "i")

    def whole(
        query: tir.Buffer, scores: tir.Buffer, weights: tir.Buffer, acc: tir.Buffer,
        top: tir.Buffer, total: tir.Buffer, high: tir.Buffer,
    ) -> tir.Stmt:  # fmt: skip
        def score(j: Any) -> tir.Stmt:
            def of(key: Callable[[Any, Any], Any]) -> tir.Stmt:
                return dot(
                    row.dim, 1, lambda d: query[d] * key(j, d),
                    lambda x: store(scores, x * row.scale * log2_e, place),
                )  # fmt: skip

            if row.turned_key is None:
                return of(row.key)
            turns, key = row.turned_key
            return when(turns, of(key), of(row.key))

        def add(first: Any, t: Any) -> tir.Stmt:
            return let(weights[t], lambda share: when(share > zero, sequence(
                store(total, load(total, 0) + share, 0),
                own(row.value_dim,
                    lambda i, d: store(acc, acc[i] + share * row.value(first + t, d), i)),
            )), "share")  # fmt: skip

        def tile(first: Any) -> tir.Stmt:
            key = first + place
            return sequence(
                store(scores, _HIDDEN, place),
                when(key < row.keys, when(row.visible(key), score(key))),
                wait_for_block(),
                store(high, load(top, 0), 0),
                loop(tir.const(BLOCK, "int64"),
                     lambda t: store(high, tir.max(load(high, 0), scores[t]), 0), "t"),
                store(weights, tir.exp2(scores[place] - load(high, 0)), place),
                let(tir.exp2(load(top, 0) - load(high, 0)), lambda old: sequence(
                    store(total, load(total, 0) * old, 0),
                    own(row.value_dim, lambda i, _: store(acc, acc[i] * old, i)),
                ), "old"),
                store(top, load(high, 0), 0),
                wait_for_block(),
                loop(tir.min(tir.const(BLOCK, "int64"), row.keys - first),
                     lambda t: add(first, t), "t"),
            )  # fmt: skip

        some = load(total, 0) > zero
        return sequence(
            own(row.dim, lambda _, d: store(query, row.query(d), d)),
            own(row.value_dim, lambda i, _: store(acc, 0.0, i)),
            store(top, NOTHING, 0),
            store(total, 0.0, 0),
            wait_for_block(),
            loop(tir.floordiv(row.keys + (BLOCK - 1), BLOCK), lambda k: tile(k * BLOCK), "tile"),
            own(row.value_dim, lambda i, d: out(
                d, tir.if_then_else(some, tir.div(acc[i], load(total, 0)), zero)
            )),
            when(thread == 0, lse(
                load(top, 0) + tir.if_then_else(some, tir.log2(load(total, 0)), zero)
            )),
        )  # fmt: skip

    memory = [
        ("query", row.dim, "shared"), ("scores", BLOCK, "shared"), ("weights", BLOCK, "shared"),
        ("acc", -(-row.value_dim // BLOCK), "local"), ("top", 1, "local"), ("total", 1, "local"),
        ("high", 1, "local"),
    ]  # fmt: skip

    def allocated(known: tuple[tir.Buffer, ...]) -> tir.Stmt:
        if len(known) == len(memory):
            return whole(*known)
        name, size, scope = memory[len(known)]
        return local("float32", lambda b: allocated((*known, b)), size, name, scope)

    return allocated(())
