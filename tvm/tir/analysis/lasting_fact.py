"""What of a condition stays true within a statement: what it says of memory may change there.

    if A[0] == n and n > 2:       within the branch n > 2 lasts, and A[0] == n does not
        A[0] = A[0] + 1
"""

from __future__ import annotations

from tvm.arith.constraint import facts_in
from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.effects import is_acting_call, is_read, reads_memory
from tvm.tir.functor import walk
from tvm.tir.op import arith as ops


def lasting_fact(fact: PrimExpr, *scope: s.Stmt) -> PrimExpr:
    """The part of the condition that nothing in the scope can make untrue."""
    if not reads_memory(fact):
        return fact
    written = _Written(scope)
    kept = [one for one in facts_in(fact) if written.leaves(one)]
    return ops.all(*kept) if kept else e.IntImm(e.BOOL, 1)


class _Written:
    """What statements may write."""

    def __init__(self, scope: tuple[s.Stmt, ...]) -> None:
        self._data: set[e.Var] = set()
        self._anything = False
        for stmt in scope:
            for node in walk(stmt):
                if isinstance(node, s.BufferStore):
                    self._data.add(node.buffer.data)
                elif is_acting_call(node):
                    self._anything = True
                elif isinstance(node, s.Block) and node.match_buffers:
                    self._anything = True  # another name for memory that is read

    def leaves(self, fact: PrimExpr) -> bool:
        """The condition reads nothing that is written."""
        for node in walk(fact):
            if not is_read(node):
                continue
            if not isinstance(node, e.BufferLoad):
                if self._anything or self._data:
                    return False
            elif self._anything or node.buffer.data in self._data:
                return False
        return True
