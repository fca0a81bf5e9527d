"""Copies of functions and statements in which every definition is fresh."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from tvm.ir.expr import PrimExpr

from .buffer import Buffer
from .expr import IterVar, Let, Var
from .function import PrimFunc
from .functor import StmtExprMutator, rewrite
from .stmt import AttrStmt, DeclBuffer, Stmt

N = TypeVar("N")


class DefRenewer(StmtExprMutator):
    """Gives every bound variable and every defined buffer a new identity.

    `values` replaces variables, and `buffers` replaces buffers, that are defined outside.
    """

    def __init__(
        self,
        values: Mapping[Var, PrimExpr] | None = None,
        buffers: Mapping[Buffer, Buffer] | None = None,
    ) -> None:
        super().__init__()
        self.values: dict[Var, PrimExpr] = dict(values or {})
        self.buffers = dict(buffers or {})
        self._threads: dict[Var, IterVar] = {}

    def visit_var_(self, op: Var) -> PrimExpr:
        return self.values.get(op, op)

    def visit_var_def(self, var: Var) -> Var:
        known = self.values.get(var)
        if isinstance(known, Var):
            return known
        fresh = var.copy_with_name(var.name)
        self.values[var] = fresh
        return fresh

    def visit_let_(self, op: Let) -> PrimExpr:
        value = self.visit_expr(op.value)
        return Let(self.visit_var_def(op.var), value, self.visit_expr(op.body), op.span)

    def visit_attr_stmt_(self, op: AttrStmt) -> Stmt:
        """A thread is defined where it is launched; further launches of it are of the same."""
        if isinstance(op.node, Var):  # of memory that may be allocated further in
            value, body = self.visit_expr(op.value), self.visit_stmt(op.body)
            return AttrStmt(self.visit_expr(op.node), op.attr_key, value, body, op.span)
        if not isinstance(op.node, IterVar):
            return super().visit_attr_stmt_(op)
        node = self._threads.get(op.node.var)
        if node is None:
            dom = None if op.node.dom is None else self.visit_range(op.node.dom)
            var = self.visit_var_def(op.node.var)
            node = IterVar(dom, var, op.node.iter_type, op.node.thread_tag, op.node.span)
            self._threads[op.node.var] = node
        value, body = self.visit_expr(op.value), self.visit_stmt(op.body)
        return AttrStmt(node, op.attr_key, value, body, op.span)

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        known = self.buffers.get(buffer)
        if known is not None:
            return known
        # what the definition itself introduces: the pointer, symbolic strides and offset
        data = self.visit_var_def(buffer.data)
        strides = tuple(self._own(stride) for stride in buffer.strides)
        fresh = buffer.with_changes(
            data=data,
            shape=self.visit_exprs(buffer.shape),
            strides=strides,
            elem_offset=self._own(buffer.elem_offset),
        )
        self.buffers[buffer] = fresh
        return fresh

    def _own(self, expr: PrimExpr) -> PrimExpr:
        """A variable that nothing else defined belongs to the buffer."""
        if isinstance(expr, Var) and expr not in self.values:
            return self.visit_var_def(expr)
        return self.visit_expr(expr)

    def visit_decl_buffer_(self, op: DeclBuffer) -> Stmt:
        # the memory exists already: only the view is new
        buffer = op.buffer
        data = self.values.get(buffer.data, buffer.data)
        fresh = buffer.with_changes(
            data=data,
            shape=self.visit_exprs(buffer.shape),
            strides=self.visit_exprs(buffer.strides),
            elem_offset=self.visit_expr(buffer.elem_offset),
        )
        self.buffers[buffer] = fresh
        return DeclBuffer(fresh, self.visit_stmt(op.body), op.span)

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        known = self.buffers.get(buffer)
        if known is None:
            known = self._undefined_use(buffer)
            self.buffers[buffer] = known
        return known

    def _undefined_use(self, buffer: Buffer) -> Buffer:
        """A buffer without a definition in sight follows its pointer, if that is renewed."""
        data = self.values.get(buffer.data, buffer.data)
        shape = self.visit_exprs(buffer.shape)
        strides, offset = self.visit_exprs(buffer.strides), self.visit_expr(buffer.elem_offset)
        same = data is buffer.data and shape is buffer.shape
        if same and strides is buffer.strides and offset is buffer.elem_offset:
            return buffer
        return buffer.with_changes(data=data, shape=shape, strides=strides, elem_offset=offset)


def renew_defs(func: N) -> N:
    """`func` with all its definitions fresh: parameters, loops, blocks, lets, buffers."""
    renewer = DefRenewer()
    if not isinstance(func, PrimFunc):
        return rewrite(renewer, func)
    params = [renewer.visit_var_def(param) for param in func.params]
    shapes = {
        var: None
        for buffer in func.buffer_map.values()
        for var in (*buffer.shape, *buffer.strides)
        if isinstance(var, Var)
    }
    for var in shapes:
        renewer.visit_var_def(var)
    buffer_map = {
        renewer.visit_var_def(param): renewer.visit_buffer_def(buffer)
        for param, buffer in func.buffer_map.items()
    }
    body = renewer.visit_stmt(func.body)
    return PrimFunc(params, body, func.ret_type, buffer_map, func.attrs, func.span)  # type: ignore[return-value]


