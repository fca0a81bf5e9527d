"""Rows of shared memory get gaps behind them, so that threads that run together meet other banks.

    A_shared = T.alloc_buffer((16, 128), scope="shared")
    ->
    A_shared = T.alloc_buffer((16, 128), strides=(130, 1), scope="shared")

A bank serves one word of 4 bytes at a time: what is counted is how many words the busiest of 32
banks has to serve when one warp accesses the buffer once (CUDA C++ Programming Guide, shared
memory). The least gap with the fewest words is taken, of at most a quarter of the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm.tir import expr as e
from tvm.tir.buffer import Buffer
from tvm.tir.functor import StmtExprMutator

BANKS = 32
_WORD_BITS = 32
_MAX_GAP_SHARE = 4  # a gap is at most this part of a row

Points = list[tuple[int, ...]]  # indices that one warp accesses at once


def padded(buffer: Buffer, accesses: Sequence[Points], least: int) -> Buffer:
    """The buffer with strides; gaps are multiples of `least`. Itself if extents are not known."""
    shape = [extent.value for extent in buffer.shape if isinstance(extent, e.IntImm)]
    if len(shape) != len(buffer.shape) or buffer.strides:
        return buffer
    strides = [1]
    for dim in range(len(shape) - 1, 0, -1):
        row = strides[0] * shape[dim]
        served = [
            max([_busiest(points, [stride, *strides], buffer.dtype.bits) for points in accesses])
            for stride in range(row, row + row // _MAX_GAP_SHARE + 1, least)
        ]
        strides.insert(0, row + served.index(min(served)) * least)
    dtype = str(buffer.shape[0].dtype)
    return buffer.with_changes(strides=tuple([e.IntImm(dtype, stride) for stride in strides]))


def _busiest(points: Points, strides: Sequence[int], bits: int) -> int:
    """How many words the busiest bank serves, by the innermost dimensions that have strides."""
    inner = len(strides)
    words = {
        sum([i * stride for i, stride in zip(point[-inner:], strides)]) * bits // _WORD_BITS
        for point in points
    }
    served = [0] * BANKS
    for word in words:
        served[word % BANKS] += 1
    return max(served)


class Replacer(StmtExprMutator):
    """Replaces some buffers by others on the same memory."""

    def __init__(self, buffers: Mapping[Buffer, Buffer]) -> None:
        super().__init__()
        self.buffers.update(buffers)

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        return self.buffers.get(buffer, buffer)
