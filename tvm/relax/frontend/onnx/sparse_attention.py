"""Attention to blocks of keys that a layout names, as Phi-3-small has it (Abdin et al. 2024)."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.extents import extents_of

from .attention import Heads, cache_of, grouped_parts, places_behind, scale_of
from .node import Node
from .registry import Result, convert
from .rotary import turned


@convert("com.microsoft.SparseAttention")
def sparse_attention(node: Node) -> Result:
    """Causal, by blocks: which blocks of keys a block of queries sees says a matrix for each head.

    The matrices are rows of the numbers of blocks, one behind the other: where each row starts
    (layouts, blocks + 1), and the numbers (layouts, most); heads take the layouts in turns. Caches
    are buffers with the old keys in front, the new ones behind those of their row.
    """
    bb = node.bb
    heads, groups = int(node.required("num_heads")), int(node.required("kv_num_heads"))
    block = int(node.required("sparse_block_size"))
    query, key, value = grouped_parts(node, heads, groups)
    batch, length = extents_of(query)[:2]  # type: ignore[index]
    total = node.numbers(7, "total_sequence_length", 1)[0]
    total = tir.const(total, "int64") if isinstance(total, int) else total
    before = _old_keys(node, length, total)
    if node.attr("do_rotary", 0):
        places = places_behind(node, before, batch, length)
        mixed = bool(node.attr("rotary_interleaved", 0))
        query, key = (
            turned(bb, part, places, node[9], node[10], interleaved=mixed) for part in (query, key)
        )
    caches = [cache_of(node, new, at, before, total) for new, at in ((key, 3), (value, 4))]
    looked = []
    for cache in caches:
        filled = bb.emit(op.strided_slice(cache, [2], [0], [total]))
        looked.append(bb.emit(op.permute_dims(filled, [0, 2, 1, 3])))
    attended = Heads(node, query, *looked)
    bias = _blocks_apart(node, attended, before, heads, block)
    return [bb.emit(attended.attend([bias], scale=scale_of(node))), *caches]


def _old_keys(node: Node, length: PrimExpr, total: PrimExpr) -> RelaxExpr:
    """(batch,): how many keys a row has of old; none where all that there is, is new."""

    def compute(counts: te.Tensor, length: PrimExpr, total: PrimExpr) -> Any:
        first, zero = tir.EQ(total, length), tir.const(0, "int64")
        return te.compute(
            counts.shape,
            lambda b: tir.Select(first, zero, counts(b).astype("int64") - length),
            name="old_keys",
        )

    return node.bb.emit_te(compute, node[8], length, total, primfunc_name_hint="old_keys")


def _blocks_apart(
    node: Node, attended: Heads, before: RelaxExpr, heads: int, block: int
) -> RelaxExpr:
    """(batch, heads, queries, keys): the least number where a query does not see a key."""
    batch, queries, _, keys = attended.extents()
    dtype = attended.dtype

    def compute(
        starts: te.Tensor, numbers: te.Tensor, old: te.Tensor, batch: Any, queries: Any, keys: Any
    ) -> Any:
        layouts, rows = starts.shape[0], starts.shape[1] - 1
        one, zero = tir.const(1, "int32"), tir.const(0, "int32")
        n = te.reduce_axis((0, numbers.shape[1]), "n")

        def listed(at: Any, row: Any, column: Any) -> Any:
            own = tir.all(n >= starts(at, row), n < starts(at, row + 1))
            found = tir.all(own, numbers(at, n) == column.astype(numbers.dtype))
            return te.max(tir.Select(found, one, zero), n)

        seen = te.compute((layouts, rows, rows), listed, name="seen")

        def element(b: Any, h: Any, i: Any, j: Any) -> Any:
            place = old(b) + i
            last = tir.const(0, "int64")
            row, column = (
                tir.max(tir.min(tir.indexdiv(v, block), rows - 1), last) for v in (place, j)
            )
            sees = tir.all(j <= place, seen(tir.indexmod(h, layouts), row, column) > 0)
            return tir.Select(sees, tir.const(0, dtype), tir.min_value(dtype))

        return te.compute((batch, heads, queries, keys), element, name="blocks")

    given = [node[5], node[6], before, batch, queries, keys]
    return node.bb.emit_te(compute, *given, primfunc_name_hint="blocks")
