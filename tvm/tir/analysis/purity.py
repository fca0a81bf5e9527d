"""Whether a function changes anything that its caller can see."""

from __future__ import annotations

from tvm.error import CheckError
from tvm.support.arguments import explained
from tvm.support.compiled import mypyc_attr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.effects import effect_of
from tvm.tir.expr import CallEffectKind
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprVisitor


@mypyc_attr(native_class=False)
class ImpureFunctionError(CheckError, AssertionError):
    """A function that should have no effects has one."""


@explained
def is_pure_function(func: PrimFunc) -> bool:
    """True when the function writes only memory of its own and calls nothing with effects."""
    checker = _Checker()
    checker.visit_stmt(func.body)
    return checker.fault is None


@explained
def assert_pure_function(func: PrimFunc) -> bool:
    """True for a pure function; an ImpureFunctionError that names the effect for any other."""
    checker = _Checker()
    checker.visit_stmt(func.body)
    if checker.fault is not None:
        raise ImpureFunctionError(f"AssertionError: the function is not pure: {checker.fault}")
    return True


class _Checker(StmtExprVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.fault: str | None = None
        self._own: set[e.Var] = set()

    def visit_stmt(self, stmt: s.Stmt) -> None:
        """One effect is enough."""
        if self.fault is None:
            super().visit_stmt(stmt)

    def _found(self, fault: str) -> None:
        if self.fault is None:
            self.fault = fault

    def visit_allocate_(self, op: s.Allocate) -> None:
        self._own.add(op.buffer_var)
        self.visit_stmt_default_(op)

    def visit_allocate_const_(self, op: s.AllocateConst) -> None:
        self._own.add(op.buffer_var)
        self.visit_stmt_default_(op)

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        # memory from the runtime's workspace is the function's own
        if isinstance(op.value, e.Call) and op.value.dtype.is_handle:
            self._own.add(op.var)
        self.visit_stmt_default_(op)

    def visit_block_(self, op: s.Block) -> None:
        self._own.update([buffer.data for buffer in op.alloc_buffers])
        super().visit_block_(op)

    def visit_buffer_store_(self, op: s.BufferStore) -> None:
        if op.buffer.data not in self._own:
            self._found(f"it writes to {op.buffer.name}, which it did not allocate")
        self.visit_stmt_default_(op)

    def visit_call_(self, op: e.Call) -> None:
        effect = effect_of(op)
        harmless = effect in (
            CallEffectKind.ControlJump, CallEffectKind.EmbedInfo, CallEffectKind.SpecialCallArg,
        )  # fmt: skip
        if effect > CallEffectKind.ReadState and not harmless:
            name = getattr(op.op, "name", None) or getattr(op.op, "name_hint", "a function")
            self._found(f"it calls {name}, which may change state")
        self.visit_expr_default_(op)
