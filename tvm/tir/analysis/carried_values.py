"""Whether a loop without block variables takes a buffer's value from one iteration to the next.

    for k in range(16):
        with T.block():
            if k == 0:
                B[0] = 0.0
            B[0] = B[0] + A[k]      # what the iteration before has written

Blocks that bind variables say so themselves: those of a reduction.
"""

from __future__ import annotations

from enum import Enum

from tvm.arith.analyzer import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.functor import substitute, walk

_READ_ONLY, _READ_WRITE = 1, 3  # what tvm_access_ptr says of a pointer


class _First(Enum):
    NONE = "no use for sure"
    READ = "read"
    WRITTEN = "written, or left to a block that tells of itself"


def carries_values(loop: s.For, buffer: Buffer) -> bool:
    """An iteration reads the buffer before it has written it, so far as can be seen.

    An inner loop is seen in its first iteration, where `if k == 0` is decided. A write under a
    condition that stays open does not count. Memory that is written through a pointer counts as
    written.
    """
    return _Use(buffer).first(loop.body) is _First.READ


class _Use:
    """Follows one iteration up to the first use of a buffer."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer
        self._values: dict[e.Var, PrimExpr] = {}
        self._analyzer = Analyzer()

    def first(self, stmt: s.Stmt) -> _First:
        """What happens to the buffer first, in the order of evaluation."""
        while True:  # chains may be long
            if isinstance(stmt, s.SeqStmt):
                return self._of_parts(stmt)
            found = self._of_exprs(stmt)
            if found is not _First.NONE:
                return found
            if isinstance(stmt, s.For):
                self._values[stmt.loop_var] = substitute(stmt.min, self._values)
                stmt = stmt.body
            elif isinstance(stmt, s.BlockRealize):
                if stmt.iter_values or stmt.block.match_buffers:
                    return _First.WRITTEN
                if not self._is_true(stmt.predicate):
                    return self._perhaps(stmt.block.body)
                stmt = stmt.block.body
            elif isinstance(stmt, s.IfThenElse):
                return self._of_branches(stmt)
            elif isinstance(stmt, s.While):
                return self._perhaps(stmt.body)
            elif isinstance(stmt, s.BufferStore):
                return _First.WRITTEN if stmt.buffer is self._buffer else _First.NONE
            elif isinstance(stmt, _AROUND):
                stmt = stmt.body
            else:
                return _First.NONE

    def _of_parts(self, stmt: s.SeqStmt) -> _First:
        for part in stmt.seq:
            found = self.first(part)
            if found is not _First.NONE:
                return found
        return _First.NONE

    def _of_branches(self, stmt: s.IfThenElse) -> _First:
        condition = substitute(stmt.condition, self._values)
        if self._analyzer.can_prove(condition):
            return self.first(stmt.then_case)
        branches = [stmt.then_case] if stmt.else_case is None else [stmt.then_case, stmt.else_case]
        found = [self.first(branch) for branch in branches]
        if _First.READ in found:
            return _First.READ
        every = len(found) == 2 and found[0] is found[1]
        return found[0] if every else _First.NONE

    def _perhaps(self, stmt: s.Stmt) -> _First:
        """The use by a statement that may not run at all."""
        return _First.READ if self.first(stmt) is _First.READ else _First.NONE

    def _is_true(self, condition: PrimExpr) -> bool:
        return self._analyzer.can_prove(substitute(condition, self._values))

    def _of_exprs(self, stmt: s.Stmt) -> _First:
        for expr in _own_exprs(stmt):
            for node in walk(expr):
                if isinstance(node, e.BufferLoad) and node.buffer is self._buffer:
                    return _First.READ
                if e.is_call_of(node, "tir.tvm_access_ptr"):
                    assert isinstance(node, e.Call), "it has an operator"
                    if node.args[1] is self._buffer.data:
                        mask = node.args[4]
                        reads = isinstance(mask, e.IntImm) and mask.value in (
                            _READ_ONLY, _READ_WRITE
                        )
                        return _First.READ if reads else _First.WRITTEN
                if node is self._buffer.data:
                    return _First.WRITTEN
        return _First.NONE


_AROUND = (s.LetStmt, s.AttrStmt, s.AssertStmt, s.DeclBuffer, s.Allocate, s.AllocateConst)


def _own_exprs(stmt: s.Stmt) -> tuple[PrimExpr, ...]:
    """What a statement evaluates before the statements in it."""
    if isinstance(stmt, s.BufferStore):
        mask = () if stmt.predicate is None else (stmt.predicate,)
        return (stmt.value, *stmt.indices, *mask)
    if isinstance(stmt, s.For):
        return (stmt.min, stmt.extent)
    if isinstance(stmt, s.BlockRealize):
        return (*stmt.iter_values, stmt.predicate)
    if isinstance(stmt, (s.IfThenElse, s.While, s.AssertStmt)):
        return (stmt.condition,)
    if isinstance(stmt, (s.LetStmt, s.Evaluate, s.AttrStmt)):
        return (stmt.value,)
    return ()
