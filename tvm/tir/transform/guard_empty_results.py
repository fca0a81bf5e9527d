"""Blocks that walk their buffers by themselves do nothing where all they write is empty.

    with T.block("scan"):                       with T.block("scan"):
        for i in range(m):               ->         if m > 0 and n > 0:
            B[i, 0] = A[i, 0]                           for i in range(m):
            ...                                             B[i, 0] = A[i, 0]
                                                            ...

A block with iterators runs once for each element. One without may store a first element before it
looks at how many there are, as running sums do, which an axis of symbolic length may not have.
"""

from __future__ import annotations

from functools import reduce

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op import arith as ops

from .pass_form import tir_pass


@tir_pass("tir.GuardEmptyResults")
def GuardEmptyResults(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No block without iterators stores into buffers of the caller that have no elements."""
    given = set(func.buffer_map.values())
    if all(_has_elements(buffer) is None for buffer in given):
        return func
    return func.with_body(_Guard(given).visit_stmt(func.body))


class _Guard(StmtExprMutator):
    def __init__(self, given: set[Buffer]) -> None:
        super().__init__()
        self._given = given

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr  # blocks hide in no expression

    def visit_block_(self, op: s.Block) -> s.Stmt:
        if op.iter_vars:
            return op
        stored = _stored(op)
        if stored is None:
            body = self.visit_stmt(op.body)
            return op if body is op.body else with_fields(op, body=body)
        filled = [_has_elements(buffer) for buffer in stored & self._given]
        conditions = [one for one in filled if one is not None]
        if stored - self._given or not filled or len(conditions) < len(filled):
            return op
        condition = reduce(ops.logical_or, sorted(conditions, key=str))
        return with_fields(op, body=s.IfThenElse(condition, op.body, None, op.span))


def _stored(block: s.Block) -> set[Buffer] | None:
    """What a block stores into, beside memory of its own; None if it does anything else."""
    stored: set[Buffer] = set()
    made = set(block.alloc_buffers)
    for node in walk(block.body):
        if isinstance(node, s.Block | s.AssertStmt | s.While):
            return None
        if isinstance(node, s.Evaluate) and not isinstance(node.value, e.IntImm):
            return None
        if isinstance(node, s.BufferStore):
            stored.add(node.buffer)
        elif isinstance(node, s.DeclBuffer):
            made.add(node.buffer)
    return stored - made


def _has_elements(buffer: Buffer) -> PrimExpr | None:
    """Whether each symbolic extent is above 0; None where no extent is a symbol."""
    unknown = [n for n in buffer.shape if not isinstance(n, e.IntImm)]
    if not unknown:
        return None
    return reduce(ops.logical_and, [ops.greater(n, 0) for n in unknown])
