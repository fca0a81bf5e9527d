"""Runs of tokens as numbers of rows, of several texts behind each other: VarlenNGramHashMapping."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr

from .agreement import exactly
from .node import Node
from .registry import Result, convert

_PAST, _OFFSETS, _END, _SEGMENTS, _PAST_SEGMENTS, _CAPTURED = range(4, 10)


class _Texts:
    """Tokens of texts, which may stand before the first one of theirs, in the past."""

    def __init__(self, tensors: dict[int, te.Tensor], reach: int, pad: PrimExpr) -> None:
        self.tensors, self.reach = tensors, reach
        end = tensors.get(_END)
        self.nothing = pad if end is None else end(*[0] * end.ndim)

    def start(self, text: Any) -> PrimExpr:
        return self.tensors[3](text).astype("int64")

    def token(self, text: Any, place: Any) -> PrimExpr:
        """The token at a place, counted from the first of the text; `-reach` is the least."""
        return self._at(0, _PAST, text, place, self.nothing)

    def segment(self, text: Any, place: Any) -> PrimExpr:
        """Of the past it is the first one's where nothing is known."""
        first = self.tensors[_SEGMENTS](self.start(text))
        return self._at(_SEGMENTS, _PAST_SEGMENTS, text, place, first)

    def _at(self, now: int, past: int, text: Any, place: Any, none: PrimExpr) -> PrimExpr:
        here = self.tensors[now](self.start(text) + tir.max(place, 0))
        if past in self.tensors:
            none = self.tensors[past](text, tir.max(tir.min(place, -1) + self.reach, 0))
        return tir.if_then_else(place >= 0, here, none)


@convert("com.microsoft.VarlenNGramHashMapping")
def varlen_ngram_hash_mapping(node: Node) -> Result:
    """(tokens,) -> (tokens, runs * heads); what the next call is given, and states between.

    Texts end where `cumulative_sequence_length` says; each is looked at for itself.
    """
    longest, heads = int(node.required("max_ngram_size")), int(node.required("n_head_per_ngram"))
    capacity = int(node.attr("state_update_capacity", 0))
    if longest < 2 or heads < 1:
        raise node.invalid("max_ngram_size, n_head_per_ngram", (longest, heads), "from 2, from 1")
    if not 0 <= capacity <= 8 or (capacity > 0) != node.has(_CAPTURED):
        raise node.invalid("state_update_capacity", capacity,
                           "0 to 8; above 0 with capture_count, else without")  # fmt: skip
    kind, reach = node.dtype(0), longest - 1
    (total,), texts = node.shape(0), node.shape(3)[0] - 1
    for i in (2, _OFFSETS):
        exactly(node, i, [reach * heads])
    for i in (_PAST, _PAST_SEGMENTS):
        exactly(node, i, [texts, reach])
    exactly(node, _SEGMENTS, [total])
    exactly(node, _CAPTURED, [texts])
    pad = tir.const(int(node.required("pad_id")), kind)
    ends = bool(node.attr("reset_on_eos", 0)) and node.has(_END)
    numbers = [i for i in range(10) if node.has(i)]

    def emit(what: Any, hint: str) -> RelaxExpr:
        def compute(*tensors: te.Tensor) -> Any:
            return what(_Texts(dict(zip(numbers, tensors)), reach, pad))

        return node.bb.emit_te(compute, *(node[i] for i in numbers), primfunc_name_hint=hint)

    def hashes(of: _Texts) -> te.Tensor:
        tokens, multipliers, rows, limits = (of.tensors[i] for i in range(4))
        behind = te.reduce_axis((1, texts), "text")
        owner = te.compute(
            (total,), lambda t: te.sum(tir.Cast("int64", limits(behind) <= t), axis=behind)
        )

        def seen(text: Any, place: Any, back: int) -> PrimExpr:
            cut: list[PrimExpr] = []
            for d in range(1, back + 1):
                if ends:
                    cut.append(tir.EQ(of.token(text, place - d), of.nothing))
                if _SEGMENTS in of.tensors:
                    before, after = (of.segment(text, place - d + i) for i in (0, 1))
                    cut.append(tir.NE(before, after))
            found = of.token(text, place - back)
            return tir.if_then_else(tir.any(*cut), of.nothing, found) if cut else found

        def element(t: Any, h: Any) -> PrimExpr:
            text = owner(t)
            place = t - of.start(text)
            runs = [tokens(t) * multipliers(0)]
            for back in range(1, longest):
                new = seen(text, place, back) * multipliers(back)
                runs.append(tir.bitwise_xor(runs[-1], new))
            chosen = runs[-1]
            for i in range(reach - 1, 0, -1):
                chosen = tir.if_then_else(h < i * heads, runs[i], chosen)
            number = tir.floormod(chosen, rows(h))
            return number + of.tensors[_OFFSETS](h) if _OFFSETS in of.tensors else number

        made: te.Tensor = te.compute((total, reach * heads), element, name="hashes")
        return made

    def last(read: Any) -> Any:
        return lambda of: te.compute(
            (texts, reach),
            lambda b, i: read(of)(b, of.start(b + 1) - of.start(b) - reach + i), name="present",
        )  # fmt: skip

    def states(of: _Texts) -> te.Tensor:
        def element(b: Any, j: Any, i: Any) -> PrimExpr:
            length = of.start(b + 1) - of.start(b)
            there = tir.all(j < of.tensors[_CAPTURED](b).astype("int64"), j < length)
            inside = tir.min(j, length - 1)
            return tir.if_then_else(there, of.token(b, inside + 1 - reach + i), pad)

        made: te.Tensor = te.compute((texts, capacity, reach), element, name="states")
        return made

    found = [emit(hashes, "hashes")]
    ways = [(1, last(lambda of: of.token), "present"), (3, states, "states")]
    if node.has(_SEGMENTS):
        ways.insert(1, (2, last(lambda of: of.segment), "segments"))
    made = {i: emit(way, hint) for i, way, hint in ways if node.wants(i)}
    for i in (2, 3):
        if node.wants(i) and (i not in made or (i == 3 and not capacity)):
            raise node.invalid(f"output {i}", "read", "left out without segments, or a capacity")
    return found + [made.get(i, found[0]) for i in range(1, node.output_count)]
