"""The loops around a store, by what runs them, and the stores of a program with their loops."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from tvm.meta_schedule.structure import extent_of, number, thread_of
from tvm.tir.buffer import Buffer
from tvm.tir.expr import FloatImm, IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprVisitor
from tvm.tir.stmt import Block, BufferStore, For, ForKind

UNROLL_STEPS = "pragma_auto_unroll_max_step"


class LoopNest(NamedTuple):
    """Loops, outermost first; those of unknown extents count as one iteration."""

    loops: tuple[For, ...]

    @property
    def extents(self) -> list[int]:
        """How often each loop runs."""
        return [extent_of(loop) or 1 for loop in self.loops]

    @property
    def iterations(self) -> int:
        """How often what is in the loops runs."""
        return prod(self.extents)

    def of_kind(self, kind: ForKind) -> list[int]:
        """The extents of the loops of a kind."""
        return [extent_of(loop) or 1 for loop in self.loops if loop.kind is kind]

    def of_thread(self, tag: str) -> int:
        """The extent of the outermost loop that is bound to a thread axis, or 1.

        All virtual threads count as one axis.
        """
        for loop in self.loops:
            bound = thread_of(loop)
            if bound == tag or (tag == "vthread" and bound is not None and bound.startswith(tag)):
                return extent_of(loop) or 1
        return 1

    @property
    def unroll_steps(self) -> int:
        """The steps that the innermost mark asks for, or 0."""
        marked = [loop for loop in self.loops if UNROLL_STEPS in loop.annotations]
        return number(marked[-1], UNROLL_STEPS) if marked else 0


class StoreInNest(NamedTuple):
    """A store, the loops around it, and how often its buffer is allocated."""

    store: BufferStore
    nest: LoopNest
    allocations: int


def stores_of(func: PrimFunc) -> list[StoreInNest]:
    """The stores of a function in order; those of literals (inits) are left out."""
    finder = _Finder(list(func.buffer_map.values()))
    finder.visit_stmt(func.body)
    return finder.found


class _Finder(StmtExprVisitor):
    def __init__(self, parameters: Sequence[Buffer]) -> None:
        super().__init__()
        self.found: list[StoreInNest] = []
        self._loops: list[For] = []
        self._allocated = dict.fromkeys(parameters, 1)

    def visit_for_(self, op: For) -> None:
        self._loops.append(op)
        self.visit_stmt(op.body)
        self._loops.pop()

    def visit_block_(self, op: Block) -> None:
        outside = LoopNest(tuple(self._loops)).iterations
        for buffer in op.alloc_buffers:
            self._allocated[buffer] = outside
        super().visit_block_(op)

    def visit_buffer_store_(self, op: BufferStore) -> None:
        if not isinstance(op.value, (IntImm, FloatImm)):
            nest = LoopNest(tuple(self._loops))
            self.found.append(StoreInNest(op, nest, self._allocated.get(op.buffer, 1)))
