"""Counts of words in a row: TfIdfVectorizer."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.tir.expr import IntImm

from .node import Node
from .registry import Result, convert


@convert("TfIdfVectorizer")
def tf_idf_vectorizer(node: Node) -> Result:
    """How often each row of words is found, its words apart by up to `max_skip_count` others.

    (words,) -> (columns,), or (batch, words) -> (batch, columns); weighted by frequency (TF),
    by the weights where it is found (IDF), or by both (TFIDF).
    """
    pools = _pools(node)
    columns = max((int(c) for _, columns_of in pools for c in columns_of), default=-1) + 1
    words = node[0] if node.rank(0) == 2 else node.bb.emit(op.expand_dims(node[0], [0]))
    length = node.shape(0)[-1]
    if not isinstance(length, IntImm):
        raise node.invalid("the words", str(length), "rows of a known length")
    batch = words.struct_info.shape.values[0]  # type: ignore[attr-defined]
    total: RelaxExpr = node.bb.emit(op.zeros([batch, columns], "float32"))
    for rows, columns_of in pools:
        found = _counted(node, words, length.value, rows)
        if found is not None:
            spread = np.zeros((len(rows), columns), np.float32)
            spread[np.arange(len(rows)), columns_of] = 1
            total = node.bb.emit(op.add(total, op.matmul(found, Constant(spread))))
    result = _weighted(node, total, columns)
    return result if node.rank(0) == 2 else op.squeeze(node.bb.emit(result), [0])


def _pools(node: Node) -> list[tuple[Any, Any]]:
    """For each length that is counted: the rows of words, and the columns of their counts."""
    if node.attr("pool_strings"):
        raise node.invalid("pool_strings", "strings", "pool_int64s; strings are no tensors here")
    pool = np.asarray(node.attr("pool_int64s"), np.int64)
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


def _counted(node: Node, words: RelaxExpr, length: int, rows: Any) -> RelaxExpr | None:
    """(batch, words) -> (batch, rows): how often each row is found, over all distances."""
    n = rows.shape[1]
    skips = [0] if n == 1 else range(int(node.attr("max_skip_count")) + 1)
    windows = [
        start + np.arange(n) * (skip + 1)
        for skip in skips
        for start in range(length - (n - 1) * (skip + 1))
    ]
    if not windows:
        return None
    taken = node.bb.emit(op.take(words, Constant(np.array(windows, np.int64)), 1))
    wanted = Constant(rows.astype(node.dtype(0)).reshape(1, 1, len(rows), n))
    same = op.astype(op.equal(op.expand_dims(taken, [2]), wanted), "int32")
    every = op.equal(op.sum(node.bb.emit(same), [3]), Constant(np.asarray(n, np.int32)))
    return node.bb.emit(op.sum(op.astype(every, "float32"), [1]))


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
