"""Scratch memory that the stack has no room for is taken from the pool, and given back.

    temp = T.allocate([n], "float32")
    body
    ->
    temp: T.handle("float32") = T.TVMBackendAllocWorkspace(1, 0, n * 4, 2, 32)
    if T.isnullptr(temp): T.tvm_throw_last_error()
    with T.attr(0, "tir.on_failure", T.tvm_tuple(T.TVMBackendFreeWorkspace(1, 0, temp))):
        body
    T.TVMBackendFreeWorkspace(1, 0, temp)

Memory of a size that is known before a loop is taken before it, once for all rounds. Jumps out of
the body give it back first. Where something in a body fails, what stands in `tir.on_failure` is
done, from the inside to the outside: by whoever writes the code, as a failure has no statement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.runtime import debug_memory
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, children, statements, walk
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.op.extent import allocated_bytes

from .nodes_used import nodes_used
from .pass_form import tir_pass
from .stack_memory import StackMemory, lane_bytes, stack_bytes

# On an AttrStmt whose value is a tuple of calls: a failure in the body does them.
ON_FAILURE: Final = "tir.on_failure"
_CPU: Final = 1
_RETURNS: Final = frozenset({"tir.ret", "tir.thread_return"})
_JUMPS: Final = frozenset({"tir.break_loop", "tir.continue_loop"})


@tir_pass("tir.LowerWorkspaces")
def LowerWorkspaces(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """What a function allocates is small, and of known size."""
    if "Allocate" not in nodes_used(func.body):
        return func
    counts = Counter(n.buffer_var for n in statements(func.body, s.Allocate))
    lowerer = _Lowerer({var for var, count in counts.items() if count > 1})
    lowerer.known.update(func.params)
    return func.with_body(lowerer.visit_stmt(func.body))


def takes_workspace(value: PrimExpr) -> bool:
    """Whether a value is memory from the pool."""
    return e.is_call_of(value, "tir.TVMBackendAllocWorkspace")


class _Held(NamedTuple):
    """Memory that is to be given back, and the number of loops around it."""

    var: e.Var
    loops: int


class _Lowerer(StmtExprMutator):
    def __init__(self, shared: set[e.Var]) -> None:
        super().__init__()
        self.known: set[e.Var] = set()  # variables that have a value here
        self._shared = shared  # of several allocations: these stay where they are
        self._stack = StackMemory()
        self._guarded = debug_memory.enabled()  # then all memory comes from outside
        self._ahead: set[e.Var] = set()  # memory that was taken before the loops around it
        self._held: list[_Held] = []
        self._loops = 0

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        self.known.add(op.var)
        return super().visit_let_stmt_(op)

    # --- memory ---

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        if op.buffer_var in self._ahead:
            return self.visit_stmt(op.body)
        if not self._guarded and self._stack.take(op) is not None:
            return super().visit_allocate_(op)
        self._held.append(_Held(op.buffer_var, self._loops))
        body = self.visit_stmt(op.body)
        self._held.pop()
        return _with_workspace(op, op.extents, body)

    def visit_for_(self, op: s.For) -> s.Stmt:
        ahead = [] if self._loops else self._workspaces_in(op.body)
        self._ahead.update(taken.buffer_var for taken in ahead)
        self._held += [_Held(taken.buffer_var, 0) for taken in ahead]
        self.known.add(op.loop_var)
        self._loops += 1
        made = super().visit_for_(op)
        self._loops -= 1
        del self._held[len(self._held) - len(ahead) :]
        for taken in reversed(ahead):
            # a loop that has no round may have sizes below zero
            extents = [
                x if isinstance(x, e.IntImm) else ops.max_of(x, ops.const(0, x.dtype))
                for x in taken.extents
            ]
            made = _with_workspace(taken, extents, made)
        return made

    def visit_while_(self, op: s.While) -> s.Stmt:
        self._loops += 1
        made = super().visit_while_(op)
        self._loops -= 1
        return made

    def _workspaces_in(self, body: s.Stmt) -> list[s.Allocate]:
        """The allocations of the pool in a body whose sizes are known before it runs."""
        found: list[s.Allocate] = []
        stack: list[object] = [body]
        while stack:
            node = stack.pop()
            if not isinstance(node, s.Stmt):
                continue
            if isinstance(node, s.Allocate) and stack_bytes(node) is None:
                sizes = [*node.extents, node.condition]
                if node.buffer_var not in self._shared and all(map(self._is_known, sizes)):
                    found.append(node)
            stack += reversed(children(node))
        return found

    def _is_known(self, size: PrimExpr) -> bool:
        """Whether a size can be computed ahead: sums, products and quotients by numbers."""
        for node in walk(size):
            if isinstance(node, e.Var):
                if node not in self.known:
                    return False
            elif isinstance(node, (e.Div, e.Mod, e.FloorDiv, e.FloorMod)):
                if not isinstance(node.b, e.IntImm) or node.b.value <= 0:
                    return False
            elif not isinstance(node, (e.IntImm, e.BinaryOpExpr, e.Cast)):
                return False
        return True

    # --- jumps ---

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        name = e.op_name(op.value)
        if name in _JUMPS:
            return _after(self._frees(self._loops), op)
        if name not in _RETURNS or not self._held:
            return op
        assert isinstance(op.value, e.Call), "only calls have operators"
        frees = self._frees(0)
        if not op.value.args or isinstance(op.value.args[0], (e.Var, e.IntImm, e.FloatImm)):
            return _after(frees, op)
        held = e.Var("result", op.value.args[0].dtype)
        leave = s.Evaluate(e.Call(op.value.dtype, op.value.op, [held], op.value.span), op.span)
        return s.LetStmt(held, op.value.args[0], _after(frees, leave), op.span)

    def _frees(self, loops: int) -> list[s.Stmt]:
        """Give back what is held within so many loops, from the inside to the outside."""
        return [_free(held.var) for held in reversed(self._held) if held.loops >= loops]


def _after(first: list[s.Stmt], last: s.Stmt) -> s.Stmt:
    return s.SeqStmt.flatten(*first, last)


def _free_call(var: e.Var) -> PrimExpr:
    return builtin.TVMBackendFreeWorkspace(_CPU, 0, var)


def _free(var: e.Var) -> s.Stmt:
    return s.Evaluate(_free_call(var))


def _with_workspace(op: s.Allocate, extents: Sequence[PrimExpr], body: s.Stmt) -> s.Stmt:
    var, dtype = op.buffer_var, op.dtype
    size = allocated_bytes(lane_bytes(dtype) * dtype.lanes, extents)
    taken = builtin.TVMBackendAllocWorkspace(_CPU, 0, size, dtype.type_code, dtype.bits)
    missing = s.IfThenElse(builtin.isnullptr(var), s.Evaluate(builtin.tvm_throw_last_error()))
    given_back = builtin.tvm_tuple(_free_call(var))
    within = s.AttrStmt(ops.const(0, "int32"), ON_FAILURE, given_back, body, op.span)
    last = [] if _leaves(body) else [_free(var)]
    return s.LetStmt(var, taken, s.SeqStmt.flatten(missing, within, *last), op.span)


def _leaves(body: s.Stmt) -> bool:
    """Whether a body ends with a jump out of it."""
    node: object = body
    while isinstance(node, (s.SeqStmt, s.LetStmt, s.Allocate, s.AttrStmt, s.DeclBuffer)):
        node = node.seq[-1] if isinstance(node, s.SeqStmt) else node.body
    value = node.value if isinstance(node, s.Evaluate) else None
    return e.op_name(value) in _RETURNS | _JUMPS
