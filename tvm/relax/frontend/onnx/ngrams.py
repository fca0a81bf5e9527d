"""Counts of words in a row: TfIdfVectorizer."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from tvm import te, tir
from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant

from .node import Node
from .registry import Result, convert
from .texts import codes_of


@convert("TfIdfVectorizer")
def tf_idf_vectorizer(node: Node) -> Result:
    """How often each row of words is found, its words apart by up to `max_skip_count` others.

    (words,) -> (columns,), or (batch, words) -> (batch, columns); weighted by frequency (TF),
    by the weights where it is found (IDF), or by both (TFIDF).
    """
    pools = _pools(node)
    columns = max((int(c) for _, columns_of in pools for c in columns_of), default=-1) + 1
    words = node[0] if node.rank(0) == 2 else node.bb.emit(op.expand_dims(node[0], [0]))
    batch = words.struct_info.shape.values[0]  # type: ignore[attr-defined]
    total: RelaxExpr = node.bb.emit(op.zeros([batch, columns], "float32"))
    for rows, columns_of in pools:
        found = _counted(node, words, rows)
        spread = np.zeros((len(rows), columns), np.float32)
        spread[np.arange(len(rows)), columns_of] = 1
        total = node.bb.emit(op.add(total, op.matmul(found, Constant(spread))))
    result = _weighted(node, total, columns)
    return result if node.rank(0) == 2 else op.squeeze(node.bb.emit(result), [0])


def _pools(node: Node) -> list[tuple[Any, Any]]:
    """For each length that is counted: the rows of words, and the columns of their counts."""
    strings = node.attr("pool_strings")
    pool = codes_of(strings) if strings else np.asarray(node.attr("pool_int64s"), np.int64)
    columns_of = np.asarray(node.attr("ngram_indexes"), np.int64)
    starts = [*(int(c) for c in node.attr("ngram_counts")), len(pool)]
    low, high = int(node.attr("min_gram_length")), int(node.attr("max_gram_length"))
    found, done = [], 0
    for n, (start, end) in enumerate(itertools.pairwise(starts), 1):
        rows = pool[start:end].reshape(-1, n)
        if low <= n <= high and len(rows):
            found.append((rows, columns_of[done : done + len(rows)]))
        done += len(rows)
    return found


def _counted(node: Node, words: RelaxExpr, rows: Any) -> RelaxExpr:
    """(batch, words) -> (batch, rows): how often each row is found, over all distances."""
    n = rows.shape[1]
    skips = [0] if n == 1 else range(int(node.attr("max_skip_count")) + 1)

    def compute(words: te.Tensor, wanted: te.Tensor) -> list[te.Tensor]:
        return [_occurrences(words, wanted, rows.shape, skip + 1) for skip in skips]

    wanted = Constant(rows.astype(node.dtype(0)))
    counts = node.bb.emit_te(compute, words, wanted, primfunc_name_hint="occurrences")
    if len(skips) == 1:
        return counts
    parts = [node.bb.emit(counts[i]) for i in range(len(skips))]
    return functools.reduce(lambda a, b: node.bb.emit(op.add(a, b)), parts)


def _occurrences(
    words: te.Tensor, wanted: te.Tensor, rows: tuple[int, int], step: int
) -> te.Tensor:
    """How often each row of `wanted` is found among words that are `step` apart."""
    (batch, length), (count, n) = words.shape, rows
    starts = te.reduce_axis((0, tir.max(length - (n - 1) * step, 0)), "start")

    def found(b: Any, row: Any) -> Any:
        same = [words[b, starts + i * step] == wanted[row, i] for i in range(n)]
        return te.sum(tir.Cast("float32", functools.reduce(tir.And, same)), axis=starts)

    counts: te.Tensor = te.compute((batch, count), found, name="occurrences")
    return counts


def _weighted(node: Node, counts: RelaxExpr, columns: int) -> RelaxExpr:
    mode = str(node.attr("mode"))
    weights = np.ones(columns, np.float32)
    for column, weight in zip(node.attr("ngram_indexes"), node.attr("weights") or []):
        weights[int(column)] = weight
    if mode == "TF":
        return counts
    if mode == "IDF":
        there = op.astype(op.greater(counts, Constant(np.float32(0))), "float32")
        return op.multiply(there, Constant(weights))
    if mode == "TFIDF":
        return op.multiply(counts, Constant(weights))
    raise node.invalid("mode", mode, "TF, IDF, TFIDF")
