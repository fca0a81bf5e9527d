"""Few rows times a packed matrix whose words hold elements of one column.

    C[b, j] = sum over k of X[b, k] * unpacked(W[k // 8, j])        b < n, a handful

Neighbouring threads (x) have neighbouring columns, so that words come along memory; threads in y
share the sum. A thread unpacks a word at a time and uses its elements for a bucket of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from tvm.dlight.base import auto_vectorize, get_extent
from tvm.ir.expr import PrimExpr
from tvm.target.target import Target
from tvm.tir.schedule import BlockRV, LoopRV, Schedule

ELEMENTS: Final = 8  # of a word
WORDS: Final = 4  # that one scale is for, or part of what it is for


@dataclass(frozen=True)
class OuterConfig:
    """Threads over columns and over the sum, elements taken at once, where rows are kept."""

    columns: int = 32
    parts: int = 4
    lanes: int = 1
    shared_rows: bool = False


def outer_config(target: Target) -> OuterConfig:
    """The figures of a target: Apple's GPUs take four elements at once, and share the rows."""
    return OuterConfig(64, 4, 4, shared_rows=True) if target.kind.name == "metal" else OuterConfig()


def _fitted(config: OuterConfig, spatial: Sequence[PrimExpr | int]) -> OuterConfig:
    """No more threads than columns: all steps of the schedule bind the same number."""
    known = [extent for extent in spatial if isinstance(extent, int)]
    if len(known) < len(spatial):
        return config
    return replace(config, columns=min(config.columns, prod(known)))


class OuterSteps:
    """The steps of the schedule, on a product with loops symbolic, spatial, reducing."""

    def __init__(self, sch: Schedule, target: Target, block: BlockRV, bucket: int) -> None:
        self.sch, self.block, self.bucket = sch, block, bucket
        _, *spatial, _ = (get_extent(sch, loop) for loop in sch.get_loops(block))
        self.config = _fitted(outer_config(target), spatial)

    def run(self, unpack: BlockRV, padded: BlockRV | None, epilogue: BlockRV | None) -> None:
        """Do all of them."""
        sch = self.sch
        partial, line = self._two_partial_sums()
        bx, steps, words = self._bind_partial(partial)
        self._unpack(unpack, steps, words)
        if padded is not None:
            self._rows(padded, steps)
        sch.reverse_compute_at(line, bx, preserve_unit_loops=True)
        _, _, parts, part, rows, *columns = sch.get_loops(line)
        column = as_one(sch, columns)
        sch.reorder(column, parts, rows, part)
        self._bind(column, parts)
        sch.reverse_compute_at(self.block, bx, preserve_unit_loops=True)
        _, _, parts, rows, *columns = sch.get_loops(self.block)
        column = as_one(sch, columns)
        sch.reorder(rows, column, parts)
        self._bind(column, parts)
        sch.decompose_reduction(partial, sch.get_loops(partial)[4])
        sch.decompose_reduction(line, sch.get_loops(line)[4])
        for block in (partial, line):
            sch.set_scope(block, 0, "local")
        if epilogue is not None:
            sch.reverse_compute_at(epilogue, bx, preserve_unit_loops=True)
            sch.set_scope(self.block, 0, "local")
            _, _, _, *columns = sch.get_loops(epilogue)
            sch.bind(as_one(sch, columns), "threadIdx.x")

    def _two_partial_sums(self) -> tuple[BlockRV, BlockRV]:
        sch, c = self.sch, self.config
        symbolic, *spatial, steps = sch.get_loops(self.block)
        by, rows = sch.split(symbolic, factors=[None, self.bucket])
        bx, column = sch.split(as_one(sch, spatial), factors=[None, c.columns])
        steps, parts, words, elements = sch.split(steps, factors=[None, c.parts, WORDS, ELEMENTS])
        sch.reorder(by, bx, column, steps, words, rows, parts, elements)
        partial = sch.rfactor(sch.fuse(parts, elements), 0)
        parts, _ = sch.split(sch.get_loops(self.block)[-1], factors=[c.parts, None])
        return partial, sch.rfactor(parts, 0)

    def _bind_partial(self, partial: BlockRV) -> tuple[LoopRV, LoopRV, LoopRV]:
        sch, c = self.sch, self.config
        by, bx, column, steps, words, rows, fused = sch.get_loops(partial)
        parts, elements = sch.split(fused, factors=[c.parts, None])
        elements, lanes = sch.split(elements, factors=[None, c.lanes])
        sch.reorder(by, bx, column, parts, steps, words, rows, elements, lanes)
        sch.bind(by, "blockIdx.y")
        sch.bind(bx, "blockIdx.x")
        self._bind(column, parts)
        sch.vectorize(lanes)
        return bx, steps, words

    def _bind(self, column: LoopRV, parts: LoopRV) -> None:
        self.sch.bind(column, "threadIdx.x")
        self.sch.bind(parts, "threadIdx.y")

    def _unpack(self, unpack: BlockRV, steps: LoopRV, words: LoopRV) -> None:
        """A word's elements in registers, and what they are made of before that."""
        sch = self.sch
        packed = [
            sch.cache_read(unpack, number, "local") for number in range(len(sch.get(unpack).reads))
        ]
        sch.compute_at(unpack, words, preserve_unit_loops=True)
        sch.set_scope(unpack, 0, "local")
        self._vectorize(unpack, 6)
        for copy in packed:
            sch.compute_at(copy, steps, preserve_unit_loops=True)
            self._vectorize(copy, 5)

    def _vectorize(self, block: BlockRV, outside: int) -> None:
        sch = self.sch
        auto_vectorize(sch, sch.fuse(*sch.get_loops(block)[outside:]), self.config.lanes)

    def _rows(self, padded: BlockRV, steps: LoopRV) -> None:
        """The padded rows: in shared memory, or made where they are used."""
        sch, c = self.sch, self.config
        if not c.shared_rows:
            sch.compute_inline(padded)
            return
        sch.set_scope(padded, 0, "shared")
        sch.compute_at(padded, steps)
        fused = sch.fuse(*sch.get_loops(padded)[5:])
        parts, columns, lanes = sch.split(fused, factors=[c.parts, c.columns, None])
        self._bind(columns, parts)
        sch.vectorize(lanes)
        sch.storage_align(padded, 0, axis=-2, factor=8, offset=1)


def as_one(sch: Schedule, loops: list[LoopRV]) -> LoopRV:
    """Loops as one of all their steps."""
    return loops[0] if len(loops) == 1 else sch.fuse(*loops)
