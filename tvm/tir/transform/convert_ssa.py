"""Each variable is bound once in the whole module.

    for i in range(4): A[i] = 0               for i in range(4): A[i] = 0
    for i in range(4): B[i] = 0       ->      for i_1 in range(4): B[i_1] = 0

Parameters, loops, lets, allocations, block variables and allocated buffers bind. Code may come to
stand twice in a module when it is copied from one function to another.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator

_THREADS = ("thread_extent", "virtual_thread")


@declare_module_pass("tir.ConvertSSA")
def ConvertSSA(mod: IRModule, ctx: PassContext) -> IRModule:
    """No variable is bound by two definitions."""
    renamer = _Renamer()
    functions = dict(mod.functions.items())
    for var, func in mod.functions.items():
        if isinstance(func, PrimFunc):
            functions[var] = renamer.function(func)
    return mod.with_functions(functions)


def to_ssa(func: PrimFunc) -> PrimFunc:
    """The function without variables that are defined twice, as copies of statements have them."""
    return _Renamer().function(func)


class _Renamer(StmtExprMutator):
    """Renames second definitions; what a name stands for ends with its scope."""

    def __init__(self) -> None:
        super().__init__()
        self._bound: set[e.Var] = set()
        self._values: dict[e.Var, e.Var] = {}
        self._threads: dict[e.Var, e.IterVar] = {}  # those launched in this function

    def function(self, func: PrimFunc) -> PrimFunc:
        """The function with its parameters, and all it binds, renamed where needed."""
        outer = self._enter()
        self._threads.clear()
        params = tuple(self.visit_var_def(param) for param in func.params)
        for param in func.params:
            self._values.setdefault(param, param)
        for buffer in func.buffer_map.values():
            self._define_sizes(buffer)
        buffer_map = {
            self._values.get(param, param): self._new_buffer(buffer)
            for param, buffer in func.buffer_map.items()
        }
        body = self.visit_stmt(func.body)
        self._leave(outer)
        same = body is func.body and all(a is b for a, b in zip(params, func.params))
        if same and all(a is b for a, b in zip(buffer_map.values(), func.buffer_map.values())):
            return func
        return PrimFunc(params, body, func.ret_type, buffer_map, func.attrs, func.span)

    def _enter(self) -> tuple[dict[e.Var, e.Var], dict[Buffer, Buffer]]:
        return dict(self._values), dict(self.buffers)

    def _leave(self, outer: tuple[dict[e.Var, e.Var], dict[Buffer, Buffer]]) -> None:
        self._values, self.buffers = outer

    def _define_sizes(self, buffer: Buffer) -> None:
        """Variables in the shape of a parameter are bound by it, unless they are parameters."""
        for field in (*buffer.shape, *buffer.strides, buffer.elem_offset, buffer.data):
            if isinstance(field, e.Var) and field not in self._values:
                self.visit_var_def(field)
                self._values.setdefault(field, field)

    def visit_var_(self, op: e.Var) -> PrimExpr:
        return self._values.get(op, op)

    def visit_var_def(self, var: e.Var) -> e.Var:
        if var not in self._bound:
            self._bound.add(var)
            self._values.pop(var, None)
            return var
        new = var.copy_with_name(var.name)
        self._bound.add(new)
        self._values[var] = new
        return new

    def _new_buffer(self, buffer: Buffer) -> Buffer:
        """The buffer over what its variables are now called."""
        return super().visit_buffer_def(buffer)

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        known = self.buffers.get(buffer)
        if known is None:
            known = self._new_buffer(buffer)
            self.buffers[buffer] = known
        return known

    def visit_for_(self, op: s.For) -> s.Stmt:
        outer = self._enter()
        stmt = super().visit_for_(op)
        self._leave(outer)
        return stmt

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        """A thread may be launched several times in one function, and is one thread there."""
        thread = op.node
        if op.attr_key not in _THREADS or not isinstance(thread, e.IterVar):
            return super().visit_attr_stmt_(op)
        new = self._threads.get(thread.var)
        if new is None:
            var = self.visit_var_def(thread.var)
            new = thread
            if var is not thread.var:
                new = e.IterVar(
                    thread.dom, var, thread.iter_type, thread.thread_tag, thread.span
                )
            self._threads[thread.var] = new
        outer = self._enter()
        if new.var is not thread.var:
            self._values[thread.var] = new.var
        value, body = self.visit_expr(op.value), self.visit_stmt(op.body)
        self._leave(outer)
        if new is thread and value is op.value and body is op.body:
            return op
        return s.AttrStmt(new, op.attr_key, value, body, op.span)

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        outer = self._enter()
        stmt = super().visit_let_stmt_(op)
        self._leave(outer)
        return stmt

    def visit_let_(self, op: e.Let) -> PrimExpr:
        outer = self._enter()
        expr = super().visit_let_(op)
        self._leave(outer)
        return expr

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        outer = self._enter()
        stmt = super().visit_allocate_(op)
        self._leave(outer)
        return stmt

    def visit_block_(self, op: s.Block) -> s.Stmt:
        outer = self._enter()
        for buffer in op.alloc_buffers:
            self.visit_var_def(buffer.data)
        stmt = super().visit_block_(op)
        self._leave(outer)
        return stmt
