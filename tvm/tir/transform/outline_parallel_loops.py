"""Bodies that run elsewhere become functions of their own: parallel loops and compute scopes.

    def f(A, B, n):
        for i in T.parallel(n): B[i] = A[i]
    ->
    def f(A, B, n):
        closure = T.tvm_stack_alloca("arg_value", 4)       # 8 bytes a value
        closure[0], closure[1], closure[2], closure[3] = 0, n, B, A
        if n > 0: T.parallel_launch("__tvm_parallel_lambda", closure, n)

    def __tvm_parallel_lambda(task_id, env, closure):      # task `task_id` of env's number of tasks
        start, extent, B, A = closure
        f_parallel_i(<the task's share of start and extent>, B, A)

    def f_parallel_i(start, extent, B, A):
        for i in range(start, extent): B[i] = A[i]

The body gets its pointers as parameters, since compilers believe only of parameters that nothing
else points into their memory. Loops inside of parallel ones run where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.function import BaseFunc, CallingConv
from tvm.ir.module import IRModule
from tvm.ir.supply import GlobalVarSupply
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.ir.type import PointerType, PrimType
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.undefined_vars import free_variables
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith as ops
from tvm.tir.renew_defs import renew_defs
from tvm.tir.struct_field import StructField

from . import parallel_tasks
from .lower_workspaces import takes_workspace
from .nodes_used import nodes_used

# Attributes of functions that were cut out of others:
OUTLINED_FROM: Final = "tir.outlined_from"  # the name of the function
IS_TASK: Final = "tir.is_parallel_task"  # the pool calls it
MAY_ALIAS: Final = "tir.may_alias"  # the numbers of pointers whose memory others point into, too
# Annotation of a loop: the most iterations that it may have, where its extent is not known.
MAX_ITERATIONS: Final = "tir.most_iterations"

_INT32: Final = DataType("int32")


@declare_module_pass("tir.OutlineParallelLoops")
def OutlineParallelLoops(mod: IRModule, ctx: PassContext) -> IRModule:
    """No function has parallel loops or compute scopes afterwards; what ran there is called."""
    names: GlobalVarSupply | None = None
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if not isinstance(func, PrimFunc) or nodes_used(func.body).isdisjoint(("For", "AttrStmt")):
            functions[var] = func
            continue
        names = names or GlobalVarSupply(mod)
        outliner = _Outliner(names, var.name_hint, func)
        functions[var] = func.with_body(outliner.visit_stmt(func.body))
        functions.update(outliner.made)
    return mod.with_functions(functions)


class _Outliner(StmtExprMutator):
    """Cuts the bodies out of one function."""

    def __init__(
        self, names: GlobalVarSupply, root: str, func: PrimFunc, own: Sequence[e.Var] = ()
    ) -> None:
        super().__init__()
        self._names = names
        self._root = root
        self._func = func
        self._own = set(own)  # pointers that nothing else in scope points into
        self._volatile: list[s.AttrStmt] = []
        self._is_task = False
        self.made: dict[GlobalVar, BaseFunc] = {}
        if func.attrs.get("calling_conv") != int(CallingConv.C_PACKED_FUNC):
            aliased = aliased_params(func)
            self._own.update(p for n, p in enumerate(func.params) if n not in aliased)

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    # --- which memory is whose ---

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        self._own.add(op.buffer_var)
        return super().visit_allocate_(op)

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        if is_own_memory(op.value):
            self._own.add(op.var)
        return super().visit_let_stmt_(op)

    # --- bodies ---

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key == "volatile_scope":
            self._volatile.append(op)
            new = super().visit_attr_stmt_(op)
            self._volatile.pop()
            return new
        if op.attr_key != "compute_scope":
            return super().visit_attr_stmt_(op)
        asked = op.value.value if isinstance(op.value, e.StringImm) else f"{self._root}_compute"
        captured = _Captured(free_variables(op.body))
        var = self._function(asked, [], captured, op.body, op)
        return captured.around(s.Evaluate(e.Call(_INT32, var, captured.given, op.span), op.span))

    def visit_for_(self, op: s.For) -> s.Stmt:
        if op.kind is not s.ForKind.PARALLEL:
            return super().visit_for_(op)
        if self._is_task:
            return _serial(op, super().visit_for_(op))
        if isinstance(op.extent, e.IntImm) and op.extent.value <= 0:
            return s.Evaluate(ops.const(0, "int32"), op.span)
        dtype = op.loop_var.dtype
        start, extent = e.Var("start", dtype), e.Var("extent", dtype)
        captured = _Captured(free_variables(op.body, [op.loop_var]))
        grain = parallel_tasks.GRAIN
        annotations = {key: note for key, note in op.annotations.items() if key != grain}
        if isinstance(op.extent, e.IntImm):
            annotations[MAX_ITERATIONS] = op.extent.value
        share = s.For(op.loop_var, start, extent, s.ForKind.SERIAL, op.body, None, annotations,
                      op.span)  # fmt: skip
        name = f"{self._root}_parallel_{op.loop_var.name}"
        body = self._function(name, [start, extent], captured, share, op)
        task = self._names.fresh_global("__tvm_parallel_lambda", add_prefix=False)
        fields = [start.copy_with_name("start"), extent.copy_with_name("extent"),
                  *[var.copy_with_name(var.name) for var in captured.given]]  # fmt: skip
        self.made[task] = self._cut_out(parallel_tasks.task(body, fields)).with_attr(IS_TASK, True)
        return captured.around(parallel_tasks.launch(op, task.name_hint, captured.given))

    def _function(
        self, name: str, first: list[e.Var], captured: _Captured, body: s.Stmt, op: s.Stmt
    ) -> GlobalVar:
        """A function of a body; its parameters are `first` and what was captured."""
        var = self._names.fresh_global(name, add_prefix=False)
        params = [*first, *captured.given]
        body = captured.unpacked(body)
        for around in reversed(self._volatile):
            if around.node in params:
                body = s.AttrStmt(around.node, around.attr_key, around.value, body, around.span)
        own = [param for param in params if param in self._own]
        inner = _Outliner(self._names, self._root, self._func, own)
        inner._is_task = self._is_task or isinstance(op, s.For)
        aliased = [n for n, v in enumerate(params) if v.dtype.is_handle and v not in inner._own]
        # no variable is shared between two functions
        cut = self._cut_out(renew_defs(PrimFunc(params, inner.visit_stmt(body), span=op.span)))
        self.made[var] = cut.with_attr(MAY_ALIAS, aliased) if aliased else cut
        self.made.update(inner.made)
        return var

    def _cut_out(self, func: PrimFunc) -> PrimFunc:
        attrs = self._func.attrs
        kept = {key: attrs[key] for key in ("target", "tir.noalias") if key in attrs}
        return func.with_attrs({**kept, OUTLINED_FROM: self._root})


class _Captured:
    """What a body uses from around it; `given` is handed over: vectors by their address."""

    def __init__(self, variables: Sequence[e.Var]) -> None:
        self._rooms = {v: _room(v) for v in variables if v.dtype.is_vector}
        self.given = [self._rooms[v].data if v in self._rooms else v for v in variables]

    def around(self, launch: s.Stmt) -> s.Stmt:
        """The launch, with vectors put into memory before it."""
        for var, room in self._rooms.items():
            store = s.BufferStore(room, var, [_lanes(var)])
            launch = s.Allocate(room.data, room.dtype, room.shape, ops.const(True, "bool"),
                                s.DeclBuffer(room, s.SeqStmt.flatten(store, launch)))  # fmt: skip
        return launch

    def unpacked(self, body: s.Stmt) -> s.Stmt:
        """The body, with vectors read from memory before it."""
        for var, room in self._rooms.items():
            held = e.BufferLoad(room, [_lanes(var)])
            body = s.DeclBuffer(room, s.LetStmt(var, held, body))
        return body


def _room(var: e.Var) -> Buffer:
    element = str(var.dtype.element_of())
    data = e.Var(var.name, PointerType(PrimType(element), "global"))
    return Buffer(data, element, [var.dtype.lanes], name=var.name)


def _lanes(var: e.Var) -> PrimExpr:
    return e.Ramp(ops.const(0, "int32"), ops.const(1, "int32"), var.dtype.lanes)


def aliased_params(func: PrimFunc) -> set[int]:
    """The numbers of the parameters whose memory others point into, too."""
    found: Any = func.attrs.get(MAY_ALIAS, ())
    return {int(number) for number in found}


def is_own_memory(value: PrimExpr) -> bool:
    """True for memory that is known to be apart: of tensor arguments, and workspaces."""
    return takes_workspace(value) or is_tensor_data(value)


def is_tensor_data(value: PrimExpr) -> bool:
    """True for the data pointer read from a tensor argument."""
    return (
        e.is_call_of(value, "tir.tvm_struct_get")
        and ops.literal(value.args[2]) == StructField.TENSOR_DATA
    )


def _serial(op: s.For, new: s.Stmt) -> s.Stmt:
    assert isinstance(new, s.For), "a loop stays a loop"
    return s.For(new.loop_var, new.min, new.extent, s.ForKind.SERIAL, new.body, None,
                 new.annotations, op.span)  # fmt: skip
