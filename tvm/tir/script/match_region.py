"""What `T.match_buffer` takes: a buffer that fits the region it stands for."""

from __future__ import annotations

from tvm.arith.analyzer import Analyzer
from tvm.error import ShapeError
from tvm.tir.buffer import Buffer
from tvm.tir.expr import IntImm, Var
from tvm.tir.stmt import BufferRegion, MatchBufferRegion


def matched(buffer: Buffer, source: BufferRegion) -> MatchBufferRegion:
    """The buffer over the region; its scope, type and shape have to be the region's.

    Leading dimensions of one element may be left out, and a variable takes any extent.
    """
    of = source.buffer
    if buffer.scope() != of.scope():
        raise ValueError(
            f"MatchBuffer {buffer.name} scope mismatch: {buffer.scope()} vs. {of.scope()}"
        )
    if buffer.dtype is not of.dtype:
        raise ValueError(
            f"MatchBuffer {buffer.name} data type mismatch: {buffer.dtype} vs. {of.dtype}"
        )
    if of.data_alignment % buffer.data_alignment:
        raise ValueError(
            "Trying to match buffer to another one with lower alignment requirement: required "
            f"alignment={buffer.data_alignment}, provided alignment={of.data_alignment}"
        )
    if buffer.buffer_type or of.buffer_type:
        raise ValueError("AutoBroadcast is not allowed in MatchBuffer")
    _check_shape(buffer, source)
    return MatchBufferRegion(buffer, source)


def _check_shape(buffer: Buffer, source: BufferRegion) -> None:
    analyzer = Analyzer()
    left_out = len(source.region) - len(buffer.shape)
    if left_out < 0:
        raise ShapeError(
            "Dimension of source Region expected to be larger or equal than target buffer shape, "
            f"but got {len(source.region)} vs. {len(buffer.shape)}"
        )
    for part in source.region[:left_out]:
        if not analyzer.can_prove_equal(part.extent, IntImm(part.extent.dtype, 1)):
            raise ShapeError(f"The higher dimension should be 1, but got {part.extent}.")
    for part, extent in zip(source.region[left_out:], buffer.shape):
        if not isinstance(extent, Var) and not analyzer.can_prove_equal(part.extent, extent):
            raise ShapeError(
                "The dimension mismatched between source region and target buffer shape, got "
                f"{part.extent} vs. {extent}."
            )
