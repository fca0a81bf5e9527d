"""Attention of one new token, as decoders write it: against a cache that grows, or a buffer."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.struct_info import ShapeExpr, ShapeStructInfo

from .attention import Heads, counted, scale_of, three_parts, with_bias
from .node import Node
from .registry import Result, convert


@convert("com.microsoft.DecoderMaskedMultiHeadAttention")
def decoder_masked_multi_head_attention(node: Node) -> Result:
    """Of packed or separate tensors; keys (batch, heads, sequence, size) are those of an encoder.

    With `past_present_share_buffer` the caches are as long as they will ever be, and the new key
    is written behind those that count.
    """
    heads, bb = int(node.required("num_heads")), node.bb
    if node.has(8) or node.has(9):
        raise node.invalid("beam_width, cache_indirection", "given", "left out")
    if node.wants(3):
        raise node.invalid("output 3", "the scores", "left out")
    parts = three_parts(node, heads)
    if node.has(10):
        parts = with_bias(node, parts, node[10], heads)
    attended = Heads(node, *parts)
    present: list[RelaxExpr] | None = None
    if node.has(5) and node.attr("past_present_share_buffer", 0):
        number = node.numbers(7, "past_sequence_length", 1)[0]
        pairs = ((attended.key, 5), (attended.value, 6))
        present = [_written(node, new, at, number) for new, at in pairs]
        attended = Heads(node, attended.query, *(_so_far(node, one, number) for one in present))
    elif node.has(5):
        attended.behind(node[5], node[6])
    biases = counted(node, attended, 3)
    if node.has(4):
        biases.append(node[4])
    out = bb.emit(attended.attend(biases, scale=scale_of(node)))
    if not (node.wants(1) or node.wants(2)):
        return [out, *[out] * (node.output_count - 1)]
    return [out, *(present or attended.present())]


def _written(node: Node, new: RelaxExpr, at: int, number: Any) -> RelaxExpr:
    """A buffer with the new row in its place, which has to be inside."""
    bb, room = node.bb, node.shape(at)[2]
    place = tir.const(number, "int64") if isinstance(number, int) else number
    bb.match_cast(ShapeExpr([tir.max(place + 1, room)]), ShapeStructInfo([room]))

    def compute(fresh: te.Tensor, kept: te.Tensor, place: PrimExpr) -> Any:
        return te.compute(
            kept.shape,
            lambda b, h, t, d: tir.if_then_else(
                tir.EQ(t, place), fresh(b, tir.const(0, "int64"), h, d), kept(b, h, t, d)
            ),
            name="cache",
        )

    return bb.emit_te(compute, new, node[at], place, primfunc_name_hint="cache")


def _so_far(node: Node, cache: RelaxExpr, number: Any) -> RelaxExpr:
    """The keys that count, (batch, sequence, heads, size)."""
    held = node.bb.emit(op.strided_slice(cache, [2], [0], [number + 1]))
    return op.permute_dims(held, [0, 2, 1, 3])
