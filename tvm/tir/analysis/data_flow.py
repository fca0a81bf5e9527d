"""Which values of a function come from the contents of its tensors.

    for i in range(8):
        B[i] = A[I[i]]          the index of A does, that of B does not
        C[0] = C[0] + 1         nor does an index C[0] that only counts

A comparison of data is a choice between what the program says; what is chosen is not data.
"""

from __future__ import annotations

from collections.abc import Iterable

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import expr_children, walk


class DataFlow:
    """Answers for the expressions of one function."""

    def __init__(self, func: PrimFunc) -> None:
        self._counts: set[e.Var] = set()  # memory whose contents do not come from data
        self._vars: set[e.Var] = set()  # names for values that do
        stores: list[s.BufferStore] = []
        names: list[tuple[e.Var, tuple[PrimExpr, ...]]] = []
        accesses: list[tuple[PrimExpr, ...]] = []
        for node in walk(func.body):
            if isinstance(node, PrimExpr):  # most nodes are
                if isinstance(node, e.BufferLoad):
                    accesses.append(node.indices)
                elif isinstance(node, e.Let):
                    names.append((node.var, (node.value,)))
            elif isinstance(node, s.Block):
                self._counts.update(buffer.data for buffer in node.alloc_buffers)
            elif isinstance(node, s.Allocate):
                self._counts.add(node.buffer_var)
            elif isinstance(node, s.BufferStore):
                stores.append(node)
                accesses.append(node.indices)
            elif isinstance(node, s.LetStmt):
                names.append((node.var, (node.value,)))
            elif isinstance(node, s.For):
                names.append((node.loop_var, (node.min, node.extent)))
        self.reaches_an_index = False
        if not any(_reads(index) for index in accesses) and not any(_reads(v) for _, v in names):
            return
        self._spread(stores, names)
        self.reaches_an_index = any(self.decides(indices) for indices in accesses)

    def _spread(
        self,
        stores: list[s.BufferStore],
        names: list[tuple[e.Var, tuple[PrimExpr, ...]]],
    ) -> None:
        """Until nothing new is found: memory and names that get a value from data."""
        changed = True
        while changed:
            changed = False
            for var, values in names:
                if var not in self._vars and self.decides(values):
                    self._vars.add(var)
                    changed = True
            for store in stores:
                data = store.buffer.data
                if data in self._counts and self.from_data(store.value):
                    self._counts.discard(data)
                    changed = True

    def decides(self, exprs: Iterable[PrimExpr]) -> bool:
        """Data decides about one of the values."""
        return any(self.from_data(expr) for expr in exprs)

    def from_data(self, expr: PrimExpr) -> bool:
        """The value is computed from data."""
        stack: list[PrimExpr] = [expr]
        while stack:
            node = stack.pop()
            if isinstance(node, (e.Var, e.IntImm)):
                if node in self._vars:
                    return True
            elif isinstance(node, e.BufferLoad):
                if node.buffer.data not in self._counts:
                    return True
            elif isinstance(node, e.Select):
                stack += [node.true_value, node.false_value]
            elif e.is_call_of(node, "tir.if_then_else"):
                stack += expr_children(node)[1:]
            elif not isinstance(node, (e.CmpExpr, e.And, e.Or, e.Not)):
                stack += expr_children(node)
        return False


def _reads(exprs: Iterable[PrimExpr]) -> bool:
    return any(isinstance(node, e.BufferLoad) for expr in exprs for node in walk(expr))
