"""Rotary positions: halves (or pairs) of each head turned by an angle that the place gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tvm import te
from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
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
    """(batch, sequence, heads, size), at places (batch, sequence), by tables (place, half)."""
    cosine, sine = (bb.emit(op.take(table, positions, 0)) for table in (cosines, sines))
    return turned_by(bb, value, cosine, sine, interleaved=interleaved)


def turned_by(
    bb: BlockBuilder, value: RelaxExpr, cosine: RelaxExpr, sine: RelaxExpr, *, interleaved: bool
) -> RelaxExpr:
    """(batch, sequence, heads, size), by the angles of each place (batch, sequence, half).

    These say how much of a head is turned; the rest stays.
    """
    batch, length, heads, size = extents_of(value)  # type: ignore[misc]
    half = extents_of(cosine)[2]  # type: ignore[index]
    cosine, sine = (
        bb.emit(op.reshape(table, [batch, length, 1, half])) for table in (cosine, sine)
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
    value = _by_heads(node)
    batch, length = extents_of(value)[:2]  # type: ignore[index]
    positions = node[1]
    if node.rank(1) == 1:
        steps = op.reshape(op.arange(0, length, 1, "int64"), [1, length])
        positions = op.add(op.reshape(positions, [1, 1]), steps)
        positions = bb.emit(op.broadcast_to(bb.emit(positions), [batch, length]))
    mixed = bool(node.attr("interleaved", 0))
    return _as_given(node, turned(bb, value, positions, node[2], node[3], interleaved=mixed))


@convert("com.microsoft.MRotaryEmbedding")
def multimodal_rotary_embedding(node: Node) -> Result:
    """Of three places a token has (in time, down, across); each angle follows one of them.

    The angles of each come one behind the other, or (`mrope_layout` 1) in turns as far as they go.
    """
    bb = node.bb
    value = _by_heads(node)
    half = int(node.shape(2)[1])  # type: ignore[call-overload]
    parts = [int(n) for n in node.required("mrope_section")]
    if len(parts) != 3 or min(parts) < 0 or sum(parts) != half:
        raise node.invalid("mrope_section", parts, f"three numbers from 0 on, of the sum {half}")
    layout = int(node.attr("mrope_layout", 0))
    if layout not in (0, 1):
        raise node.invalid("mrope_layout", layout, "0: in sections, 1: in turns")
    stream = np.repeat(np.arange(3), parts) if layout == 0 else np.zeros(half, "int64")
    if layout == 1:
        for which in (1, 2):
            stream[which : 3 * parts[which] : 3] = which

    def compute(table: te.Tensor, place: te.Tensor, stream: te.Tensor) -> Any:
        return te.compute(
            (*place.shape[1:], table.shape[1]),
            lambda b, s, i: table(place(stream(i), b, s), i),
            name="angles",
        )

    own = Constant(stream.astype("int64"))
    cosine, sine = (
        bb.emit_te(compute, node[i], node[1], own, primfunc_name_hint="angles") for i in (2, 3)
    )
    factor = float(node.attr("scale", 1.0))
    if factor != 1:  # of what is turned, not of the rest
        by = Constant(np.asarray(factor, node.dtype(2)))
        cosine, sine = (bb.emit(op.multiply(table, by)) for table in (cosine, sine))
    found = turned_by(bb, value, cosine, sine, interleaved=bool(node.attr("interleaved", 0)))
    return _as_given(node, found)


def _by_heads(node: Node) -> RelaxExpr:
    """(batch, sequence, heads, size) of (batch, sequence, hidden) or of heads in front."""
    bb = node.bb
    if node.attr("is_packed_batching", 0):
        raise node.invalid("is_packed_batching", 1, "0")
    if node.rank(0) == 4:
        return bb.emit(op.permute_dims(node[0], [0, 2, 1, 3]))
    batch, length, hidden = node.shape(0)
    heads = int(node.attr("num_heads", 0))
    if not heads:
        heads = int(hidden) // (2 * int(node.shape(2)[1]))  # type: ignore[call-overload]
    return bb.emit(op.reshape(node[0], [batch, length, heads, -1]))


def _as_given(node: Node, found: RelaxExpr) -> RelaxExpr:
    """Heads as the input has them."""
    if node.rank(0) == 4:
        return op.permute_dims(found, [0, 2, 1, 3])
    batch, length = node.shape(0)[:2]
    return op.reshape(found, [batch, length, -1])
