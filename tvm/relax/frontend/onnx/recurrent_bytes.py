"""Products of a layer's state, quantised anew for each step, with weights of 8 bits.

    low, high = the smallest and largest of all rows, and 0
    q[b, k] = round(h[b, k] / scale) + zero                           scale = (high - low) / 255
    gates[b, j] = bias[j] + scale * weight_scale[j] * sum over k of
                  (q[b, k] - zero) * (R[k, j] - point[j])

The sum is one of products of bytes, exact in 32 bits, less what the zero points are in it:

    sum of q[b, k] * R[k, j]  -  point[j] * sum of q[b, k]  -  zero * sum of (R[k, j] - point[j])

A word has the inputs k, k + n, k + 2 n, k + 3 n of n words: so they are made of vectors. Words of
weights lie in tiles of 64 columns, which one row goes through from their first byte to the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.tir.op.byte_dots import dot_bytes
from tvm.topi.loops import let, load, local, loop, sequence, store
from tvm.topi.nn.few_bits import LANES, serial, unrolled, vector
from tvm.topi.utils import get_const_int

from .lanes import lanes, numbered_lanes, width_of

TILE: Final = 64  # columns that one row goes through together: as many sums under way


def in_words(weight: te.Tensor) -> te.Tensor:
    """Weights (hidden, columns) of 8 bits as words (columns / 64, hidden / 4, 64), with signs."""
    hidden, columns = (get_const_int(extent) for extent in weight.shape)
    words = -(-hidden // 4)
    turn = 0x80 if str(weight.dtype) == "uint8" else 0

    def word(tile: Any, w: Any, lane: Any) -> PrimExpr:
        j = tile * TILE + lane
        total: PrimExpr = tir.const(0, "int32")
        for i in range(4):
            k = w + i * words
            number = tir.bitwise_and(weight[k, j].astype("int32"), tir.const(255, "int32"))
            number = tir.bitwise_xor(number, tir.const(turn, "int32"))
            inside = tir.all(k < hidden, j < columns)
            number = tir.if_then_else(inside, number, tir.const(0, "int32"))
            total = tir.bitwise_or(total, tir.shift_left(number, tir.const(8 * i, "int32")))
        return total

    made: te.Tensor = te.compute((-(-columns // TILE), words, TILE), word, "words")
    return made


def rounded(
    state: Any, words: Any, sums: Any, numbers: Any, batch: Any, hidden: int
) -> tir.Stmt:
    """The state in bytes: words, what the bytes of a row sum to; their scale and zero point."""
    dtype = state.dtype
    zero, most = tir.const(0, dtype), tir.const(255, dtype)
    count = -(-hidden // 4)
    across, along = width_of(hidden), width_of(count)

    def tree(buffer: Any, size: int, join: Callable[[Any, Any], Any]) -> Any:
        values = [load(buffer, i) for i in range(size)]
        while len(values) > 1:
            values = [join(*pair) for pair in zip(values[::2], values[1::2])]
        return values[0]

    def range_of(low: Any, high: Any) -> tir.Stmt:
        def widen(b: PrimExpr) -> tir.Stmt:
            def one(j: PrimExpr, lane: PrimExpr) -> tir.Stmt:
                value = load(state, b, j)
                return sequence(
                    store(low, tir.min(load(low, lane), value), lane),
                    store(high, tir.max(load(high, lane), value), lane),
                )

            return numbered_lanes(hidden, one)

        def kept(least: Any, largest: Any) -> tir.Stmt:
            scale = tir.Select(least < largest, (largest - least) / most, tir.const(1, dtype))
            point = tir.nearbyint(-least / load(numbers, 0))
            return sequence(
                store(numbers, scale, 0), store(numbers, tir.max(zero, tir.min(most, point)), 1)
            )

        return sequence(
            lanes(across, lambda i: sequence(store(low, zero, i), store(high, zero, i))),
            loop(batch, widen, "b"),
            let(tree(low, across, tir.min), lambda least: let(
                tree(high, across, tir.max), lambda largest: kept(least, largest), "high"
            ), "low"),
        )  # fmt: skip

    def byte(b: PrimExpr, k: Any, scale: Any, point: Any) -> Any:
        whole = tir.nearbyint(load(state, b, k) / scale) + point
        return tir.max(zero, tir.min(most, whole)).astype("int32")

    def quantise(b: PrimExpr, total: Any, scale: Any, point: Any) -> tir.Stmt:
        def one(w: PrimExpr, lane: PrimExpr) -> tir.Stmt:
            found = [byte(b, w + i * count, scale, point) for i in range(4)]
            for i in range(4):
                if (i + 1) * count > hidden:  # the last words are not full
                    inside = w + i * count < hidden
                    found[i] = tir.if_then_else(inside, found[i], tir.const(0, "int32"))
            word = found[0]
            for i in range(1, 4):
                word = tir.bitwise_or(word, tir.shift_left(found[i], tir.const(8 * i, "int32")))
            more = found[0] + found[1] + found[2] + found[3]
            return sequence(
                store(words, word, b, w), store(total, load(total, lane) + more, lane)
            )

        return sequence(
            lanes(along, lambda i: store(total, 0, i)),
            numbered_lanes(count, one),
            store(sums, tree(total, along, lambda x, y: x + y), b),
        )

    def row(b: PrimExpr) -> tir.Stmt:
        return let(load(numbers, 0), lambda scale: let(load(numbers, 1), lambda point: local(
            "int32", lambda total: quantise(b, total, scale, point), along, "total"
        ), "point"), "scale")  # fmt: skip

    return sequence(
        local(dtype, lambda low: local(
            dtype, lambda high: range_of(low, high), across, "high"
        ), across, "low"),
        loop(batch, row, "b"),
    )  # fmt: skip


def product_of_bytes(
    gates: Any, weights: Any, bias: Any, rows: Sequence[Any], of_columns: Sequence[Any],
    state: Sequence[Any], columns: int,
) -> tir.Stmt:  # fmt: skip
    """All gates of some rows: bias + state @ weights.

    `of_columns`: scales, zero points, sums; `state`: words, sums, and their numbers.
    """
    scales, points, column_sums = of_columns
    words, sums, numbers = state
    high, per_tile = len(rows), TILE // LANES
    wide = per_tile if high == 1 else 1
    zero, scale = load(numbers, 1).astype("int32"), load(numbers, 0)

    def together(tile: Any, first: Any, many: int, last: int = LANES) -> tir.Stmt:
        """So many vectors of a tile, the last of which may have fewer columns."""

        def result(total: Any, r: int, v: int) -> tir.Stmt:
            b = rows[r]

            def lane(i: PrimExpr) -> tir.Stmt:
                j = tile * TILE + (first + v) * LANES + i
                value: PrimExpr = load(total, (r * many + v) * LANES + i)
                value = value - load(points, j) * load(sums, b) - load(column_sums, j) * zero
                share = value.astype("float32") * (scale * load(scales, j))
                return store(gates, load(bias, j) + share, b, j)

            return vector(lane) if v < many - 1 or last == LANES else serial(last, lane, "i")

        def add(total: Any, w: PrimExpr) -> tir.Stmt:
            def one(r: int, v: int) -> Callable[[Any], tir.Stmt]:
                at, column = (r * many + v) * LANES, (first + v) * LANES
                return lambda i: store(total, dot_bytes(
                    load(total, at + i), load(words, rows[r], w), load(weights, tile, w, column + i)
                ), at + i)  # fmt: skip

            return unrolled(many, lambda v: unrolled(high, lambda r: vector(one(r, v))))

        def body(total: Any) -> tir.Stmt:
            return sequence(
                unrolled(high * many, lambda n: vector(lambda i: store(total, 0, n * LANES + i))),
                loop(words.shape[1], lambda w: add(total, w), "w"),
                unrolled(many, lambda v: unrolled(high, lambda r: result(total, r, v))),
            )

        return local("int32", body, high * many * LANES, "total")

    full, left = columns // TILE, columns % TILE
    vectors, last = -(-left // LANES), left % LANES or LANES
    end = [
        together(tir.const(full, "int64"), first, min(wide, vectors - first),
                 last if first + wide >= vectors else LANES)
        for first in range(0, vectors, wide)
    ]  # fmt: skip
    return sequence(
        serial(full, lambda tile: serial(
            per_tile // wide, lambda v: together(tile, v * wide, wide), "vectors"
        ), "tile"),
        *end,
    )  # fmt: skip
