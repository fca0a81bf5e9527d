"""Rotary positions: halves (or pairs) of each head turned by an angle that the place gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.extents import extents_of
from tvm.tir.expr import IntImm

from .node import Node
from .registry import Result, convert

if TYPE_CHECKING:
    from tvm.relax.block_builder import BlockBuilder


def turned(
    bb: BlockBuilder, value: RelaxExpr, positions: RelaxExpr, cosines: RelaxExpr, sines: RelaxExpr,
    *, interleaved: bool,
) -> RelaxExpr:  # fmt: skip
    """(batch, sequence, heads, size), at places (batch, sequence), by tables (place, half).

    The tables say how much of a head is turned; the rest stays.
    """
    batch, length, heads, size = extents_of(value)  # type: ignore[misc]
    half = extents_of(cosines)[1]  # type: ignore[index]
    cosine, sine = (
        bb.emit(op.reshape(bb.emit(op.take(table, positions, 0)), [batch, length, 1, half]))
        for table in (cosines, sines)
    )
    count = int(half)  # type: ignore[arg-type]
    whole = isinstance(size, IntImm) and size.value == 2 * count
    part = value if whole else bb.emit(op.strided_slice(value, [3], [0], [2 * count]))
    if interleaved:
        pairs = bb.emit(op.reshape(part, [batch, length, heads, half, 2]))
        parts = bb.emit(op.split(pairs, 2, 4))
        first, second = (bb.emit(op.squeeze(bb.emit(parts[i]), [4])) for i in (0, 1))
    else:
        parts = bb.emit(op.split(part, 2, 3))
        first, second = (bb.emit(parts[i]) for i in (0, 1))
    real = bb.emit(op.subtract(op.multiply(first, cosine), op.multiply(second, sine)))
    other = bb.emit(op.add(op.multiply(second, cosine), op.multiply(first, sine)))
    if interleaved:
        stacked = bb.emit(op.stack([real, other], 4))
        found = bb.emit(op.reshape(stacked, [batch, length, heads, 2 * count]))
    else:
        found = bb.emit(op.concat([real, other], 3))
    if whole:
        return found
    rest = bb.emit(op.strided_slice(value, [3], [2 * count], [size]))
    return bb.emit(op.concat([found, rest], 3))


@convert("com.microsoft.RotaryEmbedding")
def rotary_embedding(node: Node) -> Result:
    """Of (batch, sequence, hidden) or (batch, heads, sequence, size); places, or the first."""
    bb = node.bb
    if node.attr("is_packed_batching", 0):
        raise node.invalid("is_packed_batching", 1, "0")
    apart = node.rank(0) == 4
    if apart:
        value = bb.emit(op.permute_dims(node[0], [0, 2, 1, 3]))
        batch, length = node.shape(0)[0], node.shape(0)[2]
    else:
        batch, length, hidden = node.shape(0)
        heads = int(node.attr("num_heads", 0))
        if not heads:
            heads = int(hidden) // (2 * int(node.shape(2)[1]))  # type: ignore[call-overload]
        value = bb.emit(op.reshape(node[0], [batch, length, heads, -1]))
    positions = node[1]
    if node.rank(1) == 1:
        steps = op.reshape(op.arange(0, length, 1, "int64"), [1, length])
        positions = op.add(op.reshape(positions, [1, 1]), steps)
        positions = bb.emit(op.broadcast_to(bb.emit(positions), [batch, length]))
    mixed = bool(node.attr("interleaved", 0))
    found = turned(bb, value, positions, node[2], node[3], interleaved=mixed)
    if apart:
        return op.permute_dims(found, [0, 2, 1, 3])
    return op.reshape(found, [batch, length, -1])
