"""Words by their letters: WordConvEmbedding."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.relax import op
from tvm.relax.extents import require_at_least
from tvm.tir.expr import IntImm

from .node import Node
from .registry import Result, convert


@convert("com.microsoft.WordConvEmbedding")
def word_conv_embedding(node: Node) -> Result:
    """The largest, over the windows of a word, of tanh(filter * window + bias).

    (words, letters), filters (f, 1, width, size), biases (f,), vectors (letters known, size)
    -> (words, f). A word has as many letters as are not 0, and one window at least; of no letter,
    or with a 0 in front, it gives zeros.
    """
    letters, width = node.shape(0)[1], node.shape(1)[2]
    if isinstance(width, IntImm):
        require_at_least(node.bb, letters, width.value)

    def compute(words: te.Tensor, filters: te.Tensor, bias: te.Tensor, vectors: te.Tensor) -> Any:
        count, length = words.shape
        zero, one = tir.const(0, "int64"), tir.const(1, "int64")
        letter = te.reduce_axis((0, length), "letter")
        lengths = te.compute(
            (count,),
            lambda w: te.sum(tir.Select(words(w, letter) > 0, one, zero), letter),
            name="lengths",
        )
        _, _, width, size = filters.shape
        k, c = te.reduce_axis((0, width), "k"), te.reduce_axis((0, size), "c")
        # a product with a vector for each place, as one of letters and filters
        sums = te.compute(
            (count, length - width + 1, filters.shape[0]),
            lambda w, t, f: te.sum(vectors(words(w, t + k), c) * filters(f, 0, k, c), [k, c]),
            name="windows",
        )
        t = te.reduce_axis((0, length - width + 1), "t")
        largest = te.compute(
            (count, filters.shape[0]),
            lambda w, f: te.max(
                tir.Select(
                    t < tir.max(lengths(w) - width + 1, one), sums(w, t, f),
                    tir.min_value(vectors.dtype),
                ),
                t,
            ),
            name="largest",
        )  # fmt: skip
        return te.compute(
            largest.shape,
            lambda w, f: tir.Select(
                words(w, 0) > 0, tir.tanh(largest(w, f) + bias(f)), tir.const(0, vectors.dtype)
            ),
            name="word",
        )

    words = node.bb.emit(op.reshape(node[0], [-1, letters])) if node.rank(0) != 2 else node[0]
    given = [words, node[1], node[2], node[3]]
    return node.bb.emit_te(compute, *given, primfunc_name_hint="words")
