"""Padding is computed like all else where what is assumed of the inputs gives the same there.

    T.assume(i < 14 or A[i] == 0)               T.assume(i < 14 or A[i] == 0)
    ...                                  ->     ...
    B[i] = T.if_then_else(14 <= i,              B[i] = A[i] * 2
                          0, A[i] * 2)

Without the choice the loop is one for vectors. Functions whose attribute `op_pattern` says that
they work element by element (0) or broadcast (1) are meant.
"""

from __future__ import annotations

from typing import Any, Final

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, substitute, walk
from tvm.tir.op import arith as ops

from .flow_simplifier import FlowSimplifier
from .folding import FOLDS
from .pass_form import tir_pass

ELEMENTWISE, BROADCAST = 0, 1  # of relax.op.OpPatternKind
_PATTERNS: Final = (ELEMENTWISE, BROADCAST)


@tir_pass("tir.UseAssumeToReduceBranches")
def UseAssumeToReduceBranches(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No store chooses between a literal and a value that is the same where it is chosen."""
    pattern: Any = func.attrs.get("op_pattern")
    if pattern is None or int(pattern) not in _PATTERNS or not _assumes(func):
        return func
    finder = _Finder(func)
    finder.visit_stmt(func.body)
    return func.with_body(_Replacer(finder.found).visit_stmt(func.body))


def _assumes(func: PrimFunc) -> bool:
    return any(e.is_call_of(n, "tir.assume") for n in walk(func.body))


class _Finder(FlowSimplifier):
    """`found` has the value that each store may always have; block variables mean their values."""

    def __init__(self, func: PrimFunc) -> None:
        super().__init__(func, True)
        self.found: dict[s.BufferStore, PrimExpr] = {}
        self._values: dict[e.Var, PrimExpr] = {}

    def visit_block_realize_(self, op: s.BlockRealize) -> s.Stmt:
        for iv, value in zip(op.block.iter_vars, op.iter_values):
            self._values[iv.var] = substitute(value, self._values)
        with self.analyzer.constraint_scope(substitute(op.predicate, self._values)):
            self.visit_stmt(op.block.body)
        return op

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        return super().visit_evaluate_(substitute(op, self._values))

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        condition = substitute(op.condition, self._values)
        return super().visit_if_then_else_(
            s.IfThenElse(condition, op.then_case, op.else_case, op.span)
        )

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        here = substitute(op, self._values)
        choice = here.value
        if e.is_call_of(choice, "tir.if_then_else"):
            condition, first, second = choice.args
            assert isinstance(op.value, e.Call), "variables stand for numbers"
            if self._is_same(condition, first, second):
                self.found[op] = op.value.args[2]
            elif self._is_same(ops.logical_not(condition), second, first):
                self.found[op] = op.value.args[1]
        return super().visit_buffer_store_(here)

    def _is_same(self, condition: PrimExpr, literal: PrimExpr, value: PrimExpr) -> bool:
        """The value is the literal where the condition holds."""
        if not isinstance(literal, (e.IntImm, e.FloatImm)):
            return False
        before = self.facts.now
        condition = self.analyzer.simplify(condition)
        self.facts.assume(condition)
        with self.analyzer.constraint_scope(condition):
            known = _Folder().visit_expr(self.facts.put_in(value))
        self.facts.now = before
        return structural_equal(known, literal)


class _Folder(StmtExprMutator):
    """Computes what is made of literals, floats too: the padding is a literal itself."""

    def visit_binary_(self, op: e.BinaryOpExpr) -> PrimExpr:
        return FOLDS[type(op)](self.visit_expr(op.a), self.visit_expr(op.b))

    def visit_cmp_(self, op: e.CmpExpr) -> PrimExpr:
        return FOLDS[type(op)](self.visit_expr(op.a), self.visit_expr(op.b))

    def visit_cast_(self, op: e.Cast) -> PrimExpr:
        return ops.cast(self.visit_expr(op.value), op.dtype)


class _Replacer(StmtExprMutator):
    def __init__(self, values: dict[s.BufferStore, PrimExpr]) -> None:
        super().__init__()
        self._values = values

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        value = self._values.get(op)
        return op if value is None else s.BufferStore(
            op.buffer, value, op.indices, op.predicate, op.span
        )  # fmt: skip
