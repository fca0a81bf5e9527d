"""The variables that a piece of a program uses and does not define.

`undefined_vars` asks for programs in which each variable is defined once, before its uses;
`free_variables` goes by the scopes, whatever is defined twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.error import CheckError
from tvm.ir.expr import PrimExpr, Range
from tvm.support.arguments import explained
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprVisitor


@explained
def undefined_vars(
    node: s.Stmt | PrimExpr | PrimFunc, defs: Sequence[e.Var] | None = None
) -> list[e.Var]:
    """The variables used in `node`, in the order of their first use, but for those it defines.

    `defs` are variables that count as defined outside. Raises CheckError where a variable is
    defined twice, or used before.
    """
    return _found(_DefinedOnce(defs or ()), node)


def free_variables(
    node: s.Stmt | PrimExpr | PrimFunc, defs: Sequence[e.Var] | None = None
) -> list[e.Var]:
    """The variables used in `node` out of the scope of what defines them."""
    return _found(_Finder(defs or ()), node)


def _found(finder: _Finder, node: s.Stmt | PrimExpr | PrimFunc) -> list[e.Var]:
    if isinstance(node, PrimFunc):
        finder.visit_func(node)
    elif isinstance(node, s.Stmt):
        finder.visit_stmt(node)
    else:
        finder.visit_expr(node)
    return list(finder.free)


class _Finder(StmtExprVisitor):
    """Keeps the variables in scope while it walks."""

    def __init__(self, defs: Sequence[e.Var]) -> None:
        super().__init__()
        self._scope: set[e.Var] = set(defs)
        self.free: dict[e.Var, None] = {}

    def visit_func(self, func: PrimFunc) -> None:
        """A function defines its parameters, and the variables of its buffers."""
        self._scope.update(func.params)
        for buffer in func.buffer_map.values():
            self._define_buffer(buffer)
        self.visit_stmt(func.body)

    def _use(self, var: e.Var) -> None:
        if var not in self._scope:
            self.free[var] = None

    def _within(self, variables: Sequence[e.Var], *parts: s.Stmt | PrimExpr) -> None:
        """Visit the parts with the variables in scope, and only there."""
        new = [var for var in variables if var not in self._scope]
        self._scope.update(new)
        for part in parts:
            if isinstance(part, s.Stmt):
                self.visit_stmt(part)
            else:
                self.visit_expr(part)
        self._scope.difference_update(new)

    def _bind(self, variables: Sequence[e.Var], *parts: s.Stmt | PrimExpr) -> None:
        """Visit the parts, for which the variables are defined."""
        self._within(variables, *parts)

    def _define_buffer(self, buffer: Buffer) -> None:
        for part in (buffer.data, *buffer.shape, *buffer.strides, buffer.elem_offset):
            if isinstance(part, e.Var):
                self._scope.add(part)

    def visit_var_(self, op: e.Var) -> None:
        self._use(op)

    def visit_buffer_use(self, buffer: Buffer) -> None:
        self._use(buffer.data)
        for part in (*buffer.shape, *buffer.strides, buffer.elem_offset):
            self.visit_expr(part)

    def visit_let_(self, op: e.Let) -> None:
        self.visit_expr(op.value)
        self._bind([op.var], op.body)

    def visit_reduce_(self, op: e.Reduce) -> None:
        for axis in op.axis:
            if isinstance(axis.dom, Range):
                self.visit_range(axis.dom)
        combiner = op.combiner
        self._within([*combiner.lhs, *combiner.rhs], *combiner.result)
        self.visit_exprs(op.init)
        self._within([axis.var for axis in op.axis], *op.source, op.condition)

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        self.visit_expr(op.value)
        self._bind([op.var], op.body)

    def visit_for_(self, op: s.For) -> None:
        self.visit_expr(op.min)
        self.visit_expr(op.extent)
        self._bind([op.loop_var], op.body)

    def visit_allocate_(self, op: s.Allocate) -> None:
        self.visit_exprs(op.extents)
        self.visit_expr(op.condition)
        self._bind([op.buffer_var], op.body)

    def visit_allocate_const_(self, op: s.AllocateConst) -> None:
        self.visit_exprs(op.extents)
        self._bind([op.buffer_var], op.body)

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> None:
        self.visit_buffer_use(op.buffer)
        self.visit_stmt(op.body)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        self.visit_expr(op.value)
        if isinstance(op.node, e.IterVar) and op.attr_key in ("thread_extent", "virtual_thread"):
            self._bind_thread(op.node.var, op.body)
        else:
            # what is said of a fragment or a loop stands before these
            told_before = op.attr_key.startswith(("fragment_", "pragma_"))
            if isinstance(op.node, PrimExpr) and not told_before:
                self.visit_expr(op.node)
            self.visit_stmt(op.body)

    def _bind_thread(self, var: e.Var, body: s.Stmt) -> None:
        self._within([var], body)

    def visit_block_(self, op: s.Block) -> None:
        for axis in op.iter_vars:
            if isinstance(axis.dom, Range):
                self.visit_range(axis.dom)
        outer = set(self._scope)
        self._scope.update([axis.var for axis in op.iter_vars])
        for buffer in op.alloc_buffers:
            self.visit_exprs(buffer.shape)
            self._scope.add(buffer.data)
        for match in op.match_buffers:
            self.visit_region(match.source)
            self._define_buffer(match.buffer)
        for region in (*op.reads, *op.writes):
            self.visit_region(region)
        if op.init is not None:
            self.visit_stmt(op.init)
        self.visit_stmt(op.body)
        self._scope = outer


class _DefinedOnce(_Finder):
    """What is defined stays so, and is never defined again."""

    def _define(self, var: e.Var) -> None:
        for known, what in ((self._scope, "already been defined"), (self.free, "been used before")):
            if var in known:
                raise CheckError(
                    f"undefined_vars: variable {var.name} has {what}; legal: programs that define "
                    "each variable once, before its uses (ConvertSSA makes them)"
                )
        self._scope.add(var)

    def _bind(self, variables: Sequence[e.Var], *parts: s.Stmt | PrimExpr) -> None:
        for var in variables:
            self._define(var)
        for part in parts:
            if isinstance(part, s.Stmt):
                self.visit_stmt(part)
            else:
                self.visit_expr(part)

    def _bind_thread(self, var: e.Var, body: s.Stmt) -> None:
        self._scope.add(var)  # several launches may share an axis
        self.visit_stmt(body)

    def visit_let_(self, op: e.Let) -> None:
        self._bind([op.var], op.value, op.body)

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        self._bind([op.var], op.value, op.body)

    def visit_for_(self, op: s.For) -> None:
        self._bind([op.loop_var], op.min, op.extent, op.body)
