"""What `T.match_buffer` takes: a buffer that fits the region it stands for."""

from __future__ import annotations

from tvm.arith.analyzer import Analyzer
from tvm.error import ShapeError
from tvm.tir.buffer import Buffer
from tvm.tir.expr import IntImm, Var
from tvm.tir.stmt import BufferRegion, MatchBufferRegion


def matched(buffer: Buffer, source: BufferRegion) -> MatchBufferRegion:
    """The buffer over the region, whose shape has to be the region's.

    Leading dimensions of one element may be left out, and a variable takes any extent.
    """
    match = MatchBufferRegion(buffer, source)
    analyzer = Analyzer()
    left_out = len(source.region) - len(buffer.shape)
    for part in source.region[:left_out]:
        if not analyzer.can_prove_equal(part.extent, IntImm(part.extent.dtype, 1)):
            raise ShapeError(f"The higher dimension should be 1, but got {part.extent}.")
    for part, extent in zip(source.region[left_out:], buffer.shape):
        if not isinstance(extent, Var) and not analyzer.can_prove_equal(part.extent, extent):
            raise ShapeError(
                "The dimension mismatched between source region and target buffer shape, got "
                f"{part.extent} vs. {extent}."
            )
    return match
