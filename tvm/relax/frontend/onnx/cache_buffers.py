"""Caches as long as they will ever be: new keys are written behind those that count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.struct_info import ShapeExpr, ShapeStructInfo

from .node import Node

if TYPE_CHECKING:
    from .attention import Heads


def in_buffers(node: Node, attended: Heads, caches: int, so_far: int, of: int) -> list[RelaxExpr]:
    """Attend to what two caches hold and the new keys and values; the caches with these in place.

    Inputs: the first cache, how many keys count, and for each text of a prompt and key that counts
    which text of the prompt it is of, (prompts, texts, keys).
    """
    number = node.numbers(so_far, "past_sequence_length", 1)[0]
    pairs = ((attended.key, caches), (attended.value, caches + 1))
    present = [_written(node, new, at, number) for new, at in pairs]
    attended.key, attended.value = (_counting(node, one, number, of) for one in present)
    return present


def _written(node: Node, new: RelaxExpr, at: int, number: Any) -> RelaxExpr:
    """A buffer with new rows in their places, which have to be inside."""
    bb, room = node.bb, node.shape(at)[2]
    rows = new.struct_info.shape.values[1]  # type: ignore[attr-defined]
    place = tir.const(number, "int64") if isinstance(number, int) else number
    bb.match_cast(ShapeExpr([tir.max(place + rows, room)]), ShapeStructInfo([room]))

    def compute(fresh: te.Tensor, kept: te.Tensor, place: PrimExpr) -> Any:
        return te.compute(
            kept.shape,
            lambda b, h, t, d: tir.if_then_else(
                tir.all(t >= place, t < place + rows), fresh(b, t - place, h, d), kept(b, h, t, d)
            ),
            name="cache",
        )

    return bb.emit_te(compute, new, node[at], place, primfunc_name_hint="cache")


def _counting(node: Node, cache: RelaxExpr, number: Any, of: int) -> RelaxExpr:
    """The keys that count, (batch, sequence, heads, size)."""
    bb = node.bb
    rows = node.shape(0)[1]
    held = bb.emit(op.strided_slice(cache, [2], [0], [number + rows]))
    if not node.has(of):
        return bb.emit(op.permute_dims(held, [0, 2, 1, 3]))
    texts = node.shape(of)[1]
    place = tir.const(number, "int64") if isinstance(number, int) else number

    def compute(held: te.Tensor, source: te.Tensor, place: PrimExpr) -> Any:
        batch, heads, keys, size = held.shape

        def element(b: Any, t: Any, h: Any, d: Any) -> PrimExpr:
            prompt = tir.floordiv(b, texts)
            text = source(prompt, tir.floormod(b, texts), t).astype("int64")
            other = tir.if_then_else(t < place, prompt * texts + text, b)
            return held(other, h, t, d)

        return te.compute((batch, keys, heads, size), element, name="held")

    return bb.emit_te(compute, held, node[of], place, primfunc_name_hint="held")
