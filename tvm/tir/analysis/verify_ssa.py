"""Whether each variable is defined once."""

from __future__ import annotations

from tvm.support.arguments import explained
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprVisitor


@explained
def verify_ssa(func: PrimFunc) -> bool:
    """True when no variable of the function is defined twice."""
    verifier = _Verifier()
    for param in func.params:
        verifier.define(param)
    for buffer in func.buffer_map.values():
        # several buffers may lie behind one pointer, and share symbolic extents
        verifier.defined.add(buffer.data)
    verifier.visit_stmt(func.body)
    return verifier.is_ssa


class _Verifier(StmtExprVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.defined: set[e.Var] = set()
        self.is_ssa = True

    def define(self, var: e.Var) -> None:
        """Note a definition."""
        if var in self.defined:
            self.is_ssa = False
        self.defined.add(var)

    def visit_let_(self, op: e.Let) -> None:
        self.define(op.var)
        self.visit_expr_default_(op)

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        self.define(op.var)
        self.visit_stmt_default_(op)

    def visit_for_(self, op: s.For) -> None:
        self.define(op.loop_var)
        self.visit_stmt_default_(op)

    def visit_allocate_(self, op: s.Allocate) -> None:
        self.define(op.buffer_var)
        self.visit_stmt_default_(op)

    def visit_allocate_const_(self, op: s.AllocateConst) -> None:
        self.define(op.buffer_var)
        self.visit_stmt_default_(op)

    def visit_block_(self, op: s.Block) -> None:
        for axis in op.iter_vars:
            self.define(axis.var)
        for buffer in op.alloc_buffers:
            self.define(buffer.data)
        super().visit_block_(op)
