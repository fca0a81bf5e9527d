"""Runs of tokens as numbers of rows in a table: NGramHashMapping."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.relax import op

from .agreement import exactly
from .node import Node
from .registry import Result, convert


@convert("com.microsoft.NGramHashMapping")
def ngram_hash_mapping(node: Node) -> Result:
    """(batch, tokens) -> (batch, tokens, runs * heads), and the tokens to hand to the next call.

    Of the last n tokens, n from 2 on, each times its multiplier, all bits combined by exclusive or;
    each head takes the rest by its own number of rows. Before the first token stands padding, or
    the end of a text where that is given; before an end, or another segment, nothing is looked at.
    """
    longest, heads = int(node.required("max_ngram_size")), int(node.required("n_head_per_ngram"))
    if longest < 2 or heads < 1:
        raise node.invalid("max_ngram_size, n_head_per_ngram", (longest, heads), "from 2, from 1")
    bb, (batch, length) = node.bb, node.shape(0)
    kind, reach = node.dtype(0), longest - 1
    ends = bool(node.attr("reset_on_eos", 0)) and node.has(5)
    exactly(node, 2, [reach * heads])
    exactly(node, 3, [batch, reach])
    exactly(node, 4, [reach * heads])
    exactly(node, 6, [batch, length])
    given = [node[i] for i in range(3)] + [node[i] for i in (3, 4, 5, 6) if node.has(i)]
    places = dict(zip([i for i in range(7) if node.has(i)], range(7)))

    def compute(*tensors: te.Tensor) -> Any:
        def of(i: int) -> te.Tensor | None:
            return tensors[places[i]] if i in places else None

        tokens, multipliers, rows = tensors[:3]
        past, offsets, end, segments = (of(i) for i in (3, 4, 5, 6))
        pad = tir.const(int(node.required("pad_id")), kind)
        nothing: PrimExpr = end(*[0] * end.ndim) if end is not None else pad

        def token(b: Any, t: Any) -> PrimExpr:
            """One that may lie before the first."""
            before = nothing if past is None else past(b, tir.max(t + reach, 0))
            return tir.if_then_else(t >= 0, tokens(b, tir.max(t, 0)), before)

        def seen(b: Any, t: Any, back: int) -> PrimExpr:
            """The token so far back, if nothing stands between."""
            cut: list[PrimExpr] = []
            for d in range(1, back + 1):
                if ends:
                    cut.append(tir.EQ(token(b, t - d), nothing))
                if segments is not None:
                    at = [tir.max(t - d + i, 0) for i in (0, 1)]
                    cut.append(tir.NE(segments(b, at[0]), segments(b, at[1])))
            found = token(b, t - back)
            return tir.if_then_else(tir.any(*cut), nothing, found) if cut else found

        def element(b: Any, t: Any, h: Any) -> PrimExpr:
            mixed = tokens(b, t) * multipliers(0)
            runs: list[PrimExpr] = []
            for back in range(1, longest):
                mixed = tir.bitwise_xor(mixed, seen(b, t, back) * multipliers(back))
                runs.append(mixed)
            chosen = runs[-1]
            for i, run in enumerate(runs[:-1][::-1]):
                chosen = tir.if_then_else(h < (reach - 1 - i) * heads, run, chosen)
            number = tir.floormod(chosen, rows(h))
            return number if offsets is None else number + offsets(h)

        return te.compute((*tokens.shape, reach * heads), element, name="hashes")

    found = bb.emit_te(compute, *given, primfunc_name_hint="hashes")
    if not node.wants(1):
        return found

    def last(tokens: te.Tensor, *others: te.Tensor) -> Any:
        rest = dict(zip([i for i in (3, 5) if node.has(i)], others))
        pad = tir.const(int(node.required("pad_id")), kind)
        nothing = rest[5](*[0] * rest[5].ndim) if 5 in rest else pad

        def element(b: Any, i: Any) -> PrimExpr:
            t = tokens.shape[1] - reach + i
            before = rest[3](b, tir.max(t + reach, 0)) if 3 in rest else nothing
            return tir.if_then_else(t >= 0, tokens(b, tir.max(t, 0)), before)

        return te.compute((tokens.shape[0], reach), element, name="present")

    kept = [node[i] for i in (3, 5) if node.has(i)]
    return [found, op.astype(bb.emit_te(last, node[0], *kept, primfunc_name_hint="present"), kind)]
