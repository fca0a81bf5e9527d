"""Sequences of different lengths in one tensor: in reverse, and with their rest masked."""

from __future__ import annotations

from tvm.ir.type import Type
from tvm.relay.expr import Call

from .declare import INJECTIVE, Expr, Relate, relay_op, te, topi
from .relations import axis_of, extents, is_any, same_extent, tensor


def _sequences(ctx: Relate) -> Type | None:
    x, lengths = tensor(ctx, 0), tensor(ctx, 1)
    if x is None or lengths is None:
        return None
    dims = extents(x)
    axis_of(ctx, int(ctx.attrs.seq_axis), len(dims))
    batch = dims[axis_of(ctx, int(ctx.attrs.batch_axis), len(dims))]
    if len(lengths.shape) != 1 or not lengths.dtype.startswith(("int", "uint")):
        raise ctx.fail("the lengths are no vector of integers", f"Tensor[({batch}), int32]")
    if not (is_any(batch, *extents(lengths)) or same_extent(batch, extents(lengths)[0])):
        raise ctx.fail(f"{lengths.shape[0]} lengths of {batch} sequences", "equal numbers")
    return x


@relay_op("reverse_sequence", "ReverseSequenceAttrs", operands=("data", "seq_lengths"),
          relation=_sequences, pattern=INJECTIVE, level=3,
          lower=te(topi.reverse_sequence))  # fmt: skip
def reverse_sequence(
    data: Expr, seq_lengths: Expr, seq_axis: int = 1, batch_axis: int = 0
) -> Call:
    """Sequences of different lengths in reverse."""
    return reverse_sequence.call(data, seq_lengths, seq_axis=seq_axis, batch_axis=batch_axis)


def _masked(ctx: Relate) -> Type | None:
    x, lengths = tensor(ctx, 0), tensor(ctx, 1)
    if x is None or lengths is None:
        return None
    axis = int(ctx.attrs.axis)
    if axis not in (0, 1) or len(x.shape) < 2:
        raise ctx.fail(f"axis {axis} of {len(x.shape)} dimensions", "axis 0 or 1, of two or more")
    count, batch = extents(lengths), extents(x)[1 - axis]
    if len(count) != 1 or not (is_any(batch, *count) or same_extent(batch, count[0])):
        raise ctx.fail(f"lengths of shape {count} for {batch} sequences", "one for each")
    return x


@relay_op("sequence_mask", "SequenceMaskAttrs", operands=("data", "valid_length"), level=10,
          relation=_masked, pattern=INJECTIVE,
          lower=te(topi.sequence_mask))  # fmt: skip
def sequence_mask(
    data: Expr, valid_length: Expr, mask_value: float = 0.0, axis: int = 0
) -> Call:
    """Sequences with a value written behind their lengths."""
    return sequence_mask.call(data, valid_length, mask_value=float(mask_value), axis=axis)
