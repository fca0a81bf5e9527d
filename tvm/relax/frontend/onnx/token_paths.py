"""Paths through tables of costs, and places where a text goes on as another: speech and drafts."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.relax import op
from tvm.relax.expr import TupleGetItem
from tvm.relax.extents import require_equal
from tvm.topi.loops import load, local, loop, repeat_while, sequence, store, when

from .node import Node
from .registry import Result, convert

_ASIDE, _DOWN, _ALONG = 0, 1, 2  # where the best path to a place comes from: both, row, column


@convert("com.microsoft.DynamicTimeWarping")
def dynamic_time_warping(node: Node) -> Result:
    """Rows and columns of the cheapest path from the first place to the last: (m, n) -> (2, x)."""
    if node.rank(0) not in (2, 3):
        raise node.invalid("the rank of the input", node.rank(0), "2, or 3 with one table")
    rows, columns = node.shape(0)[-2:]
    costs = node.bb.emit(op.reshape(node[0], (rows, columns)))
    found = node.bb.emit_te(_path, costs, primfunc_name_hint="cheapest_path")
    path, begin = (node.bb.emit(TupleGetItem(found, i)) for i in (0, 1))
    (first,) = node.run_time_sizes(begin)
    return op.strided_slice(path, [1], [first], [rows + columns])


def _path(costs: te.Tensor) -> list[te.Tensor]:
    """The path at the end of (2, m + n), and where it begins."""
    rows, columns = costs.shape

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        cost, (path, begin, best, come) = ins[0], outs

        def visit(i: PrimExpr, j: PrimExpr) -> tir.Stmt:
            aside, down, along = load(best, i, j), load(best, i, j + 1), load(best, i + 1, j)
            both, above = tir.all(aside < down, aside < along), tir.all(down < aside, down < along)
            least = tir.Select(both, aside, tir.Select(above, down, along))
            way = tir.Select(both, _ASIDE, tir.Select(above, _DOWN, _ALONG))
            return sequence(
                store(come, way, i, j), store(best, load(cost, i, j) + least, i + 1, j + 1)
            )

        def back(at: tir.Buffer) -> tir.Stmt:
            """From the last place on, until a way would leave the table."""
            i, j, n = load(at, 0), load(at, 1), load(at, 2)
            way = load(come, i, j)

            def less(place: int, ways: tuple[int, int]) -> tir.Stmt:
                step = tir.Select(tir.any(*(load(at, 3).equal(w) for w in ways)), 1, 0)
                return store(at, load(at, place) - step, place)

            step = sequence(
                store(at, way, 3), store(at, n - 1, 2),
                store(path, i, 0, load(at, 2)), store(path, j, 1, load(at, 2)),
                less(0, (_ASIDE, _DOWN)), less(1, (_ASIDE, _ALONG)),
            )  # fmt: skip
            return sequence(
                store(at, rows - 1, 0), store(at, columns - 1, 1), store(at, rows + columns, 2),
                repeat_while(tir.all(i >= 0, j >= 0), step), store(begin, n, 0),
            )  # fmt: skip

        infinite = tir.infinity("float32")
        return sequence(
            loop(rows + 1, lambda i: store(best, infinite, i, 0), "i"),
            loop(columns + 1, lambda j: store(best, infinite, 0, j), "j"),
            store(best, 0.0, 0, 0),
            loop(rows, lambda i: loop(columns, lambda j: visit(i, j), "j"), "i"),
            local("int64", back, 4, "at"),
        )

    shapes = [(2, rows + columns), (1,), (rows + 1, columns + 1), (rows, columns)]
    made: list[te.Tensor] = te.extern(
        shapes, [costs], run, dtype=["int32", "int64", "float32", "int32"], name="cheapest_path"
    )
    return made


@convert("com.microsoft.BifurcationDetector")
def bifurcation_detector(node: Node) -> Result:
    """The text with what was predicted as far as it is the source's, and one token more.

    Then where in the source the last tokens stand, if they do so once: behind them, or -1.
    """
    bb = node.bb
    source, tokens = node[0], node[1]
    if node.has(3):
        count = node.shape(0)[0]
        (before,) = node.numbers(2, "prev_suffix_match_idx", 1)
        behind = bb.emit_te(_agreeing, source, node[3], before, primfunc_name_hint="agreeing")
        (same,) = node.run_time_sizes(behind)
        require_equal(bb, node.shape(3)[0], count + 1 - before)
        tokens = bb.emit(op.concat([tokens, op.strided_slice(node[3], [0], [0], [same + 1])], 0))
    sizes = int(node.attr("min_ngram_size", 1)), int(node.attr("max_ngram_size", 3))
    if not 0 < sizes[0] <= sizes[1]:
        raise node.invalid("min_ngram_size, max_ngram_size", sizes, "0 < least <= most")
    place = bb.emit_te(
        lambda s, t: _last_run(s, t, *sizes), source, tokens, primfunc_name_hint="last_run"
    )
    return [tokens, place]


def _agreeing(source: te.Tensor, predicted: te.Tensor, before: Any) -> te.Tensor:
    """How many of the predicted tokens are the source's from a place on, (1,)."""

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        given, told, count = ins[0], ins[1], outs[0]
        n = load(count, 0)
        within = tir.all(n < predicted.shape[0], n + before < source.shape[0])
        same = tir.if_then_else(within, tir.EQ(load(told, n), load(given, n + before)), False)
        return sequence(store(count, 0, 0), repeat_while(same, store(count, n + 1, 0)))

    made: te.Tensor = te.extern(
        [(1,)], [source, predicted], run, dtype=["int64"], name="agreeing"
    )
    return made


def _last_run(source: te.Tensor, tokens: te.Tensor, least: int, most: int) -> te.Tensor:
    """Behind the one place where the last tokens stand in the source; of longer runs if of many."""
    long, count = source.shape[0], tokens.shape[0]

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        given, told, found = ins[0], ins[1], outs[0]

        def search(state: tir.Buffer) -> tir.Stmt:
            hits, place, alike, going = (load(state, i) for i in range(4))

            def of_size(i: PrimExpr) -> tir.Stmt:
                size = i + least

                def at(start: PrimExpr) -> tir.Stmt:
                    def compare(j: PrimExpr) -> tir.Stmt:
                        other = tir.NE(load(given, start + j), load(told, count - size + j))
                        return when(other, store(state, 0, 2))

                    hit = sequence(store(state, hits + 1, 0), store(state, start + size, 1))
                    return sequence(
                        store(state, 1, 2), loop(size, compare, "j"), when(alike > 0, hit)
                    )

                once = hits.equal(1)
                seek = sequence(
                    store(state, 0, 0), loop(tir.max(long - size + 1, 0), at, "start"),
                    when(once, store(found, place, 0)),
                    when(hits < 2, store(state, 0, 3)),
                )  # fmt: skip
                return when(tir.all(going > 0, size <= count), seek)

            return sequence(
                store(found, -1, 0), store(state, 1, 3), loop(most - least + 1, of_size, "i")
            )

        return local("int64", search, 4, "state")

    made: te.Tensor = te.extern([(1,)], [source, tokens], run, dtype=["int64"], name="last_run")
    return made
