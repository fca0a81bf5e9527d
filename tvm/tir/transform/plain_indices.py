"""What data picks from is indexed without remainders that do nothing within its own block.

    for i in range(12):                              for i in range(12):
        R[i] = X[i % 12 // 4, i % 4]                     R[i] = X[i // 4, i % 4]
    for i in range(2):                         ->    for i in range(2):
        Y[i] = R[I[i]]                                   Y[i] = R[I[i]]

When R is inlined, `i` becomes `I[i]`. An index beyond R then lies beyond X as well, and
is refused; with the remainder it would have wrapped to another element.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk

from .analyzed_mutator import AnalyzedMutator
from .pass_form import tir_pass


@tir_pass("tir.PlainIndices")
def PlainIndices(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Blocks that make what an index from data reads have simplified indices."""
    params = set(func.buffer_map.values())
    picked = {
        node.buffer
        for node in walk(func.body)
        if isinstance(node, e.BufferLoad) and node.buffer not in params and _is_data(node.indices)
    }
    if not picked:
        return func
    return func.with_body(_Plain(func, picked).visit_stmt(func.body))


def _is_data(indices: tuple[PrimExpr, ...]) -> bool:
    return any(isinstance(part, e.BufferLoad) for index in indices for part in walk(index))


class _Plain(AnalyzedMutator):
    """Simplifies the indices of loads in stores to some buffers."""

    def __init__(self, func: PrimFunc, picked: set[Buffer]) -> None:
        super().__init__(func)
        self._picked = picked
        self._within = False

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        self._within = op.buffer in self._picked
        new = super().visit_buffer_store_(op)
        self._within = False
        return new

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        new = super().visit_buffer_load_(op)
        if not self._within or not isinstance(new, e.BufferLoad):
            return new
        indices = [self.analyzer.simplify(index) for index in new.indices]
        if all(a is b for a, b in zip(indices, new.indices)):
            return new
        return e.BufferLoad(new.buffer, indices, new.predicate, new.span)
