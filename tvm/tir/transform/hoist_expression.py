"""Conditions and names that a loop does not change stand before the loop.

    for i in range(n):                        x = m * 2
        x = m * 2                             if x > 4:
        if x > 4:                      ->         for i in range(n):
            B[i] = A[i]                               B[i] = A[i]
        C[i] = x                                      C[i] = x
                                              else: for i in range(n): C[i] = x

The flags in the config `tir.HoistExpression` say which conditions and which names. A condition
splits the loop into two versions, in each of which it is known. What reads memory or has effects
stays.
"""

from __future__ import annotations

import enum

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext, Sequential
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin

from .analyzed_mutator import bare_condition
from .folding import FoldingSubstituter
from .pass_form import tir_pass
from .remove_no_op import RemoveNoOp
from .simplify import Simplify


class HoistedConditionals(enum.Flag):
    """Which conditions are hoisted."""

    Never = 0
    IfElseStmt = 1
    IfElseExpr = 2
    BooleanExpression = 4
    UsingBlockVar = 8
    All = IfElseStmt | IfElseExpr | BooleanExpression | UsingBlockVar


class HoistedLetBindings(enum.Flag):
    """Which names are hoisted."""

    Never = 0
    RequiredByConditional = 1
    LetStmt = 2
    LetExpr = 4
    All = RequiredByConditional | LetStmt | LetExpr


@tir_pass("tir.InsertHoistedExpression")
def _InsertHoistedExpression(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    config = ctx.option("tir.HoistExpression")
    conditions = HoistedConditionals(int(config.hoisted_conditionals))
    names = HoistedLetBindings(int(config.hoisted_let_bindings))
    return func.with_body(_Hoister(conditions, names).visit_stmt(func.body))


def HoistExpression() -> Sequential:
    """No loop computes a condition that is the same for all of its iterations."""
    passes = [_InsertHoistedExpression(), Simplify(), RemoveNoOp()]
    return Sequential(passes, name="tir.HoistExpression")


class _Hoister(StmtExprMutator):
    def __init__(self, conditions: HoistedConditionals, names: HoistedLetBindings) -> None:
        super().__init__()
        self._conditions = conditions
        self._names = names
        self._block_vars: set[e.Var] = set()

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key == "thread_extent" and isinstance(op.node, e.IterVar):
            self._block_vars.add(op.node.var)
        return super().visit_attr_stmt_(op)

    def visit_for_(self, op: s.For) -> s.Stmt:
        let = self._let_to_hoist(op)
        if let is not None:
            rest = _LetRemover(let).visit_stmt(op)
            return s.LetStmt(let.var, let.value, self.visit_stmt(rest), let.span)
        condition = self._condition_to_hoist(op)
        if condition is None:
            return super().visit_for_(op)
        known = [_Decider(condition, holds).visit_stmt(op) for holds in (True, False)]
        other = FoldingSubstituter({}, rename=True).visit_stmt(known[1])
        return s.IfThenElse(condition, self.visit_stmt(known[0]), self.visit_stmt(other), op.span)

    def _condition_to_hoist(self, op: s.For) -> PrimExpr | None:
        bound = _bound_in(op)
        for node in walk(op.body):
            for condition in self._conditions_of(node):
                bare = bare_condition(condition)
                if _can_move(bare, bound) and self._block_vars_allow(bare):
                    return bare
        return None

    def _conditions_of(self, node: object) -> list[PrimExpr]:
        flags = self._conditions
        if isinstance(node, s.IfThenElse) and HoistedConditionals.IfElseStmt in flags:
            return [node.condition]
        choice = e.is_call_of(node, "tir.if_then_else")
        if choice and HoistedConditionals.IfElseExpr in flags:
            assert isinstance(node, e.Call), "it was looked at"
            return [node.args[0]]
        if isinstance(node, (e.And, e.Or)) and HoistedConditionals.BooleanExpression in flags:
            return [node.a, node.b]
        return []

    def _block_vars_allow(self, condition: PrimExpr) -> bool:
        if HoistedConditionals.UsingBlockVar in self._conditions:
            return True
        return not any(node in self._block_vars for node in walk(condition))

    def _let_to_hoist(self, op: s.For) -> s.LetStmt | None:
        """A name whose value is known before the loop, and which is wanted there."""
        bound = _bound_in(op)
        for node in walk(op.body):
            if isinstance(node, s.LetStmt) and _can_move(node.value, bound):
                wanted = HoistedLetBindings.LetStmt in self._names
                if wanted or self._is_required(node, op, bound):
                    return node
        return None

    def _is_required(self, let: s.LetStmt, op: s.For, bound: set[e.Var]) -> bool:
        if HoistedLetBindings.RequiredByConditional not in self._names:
            return False
        others = bound - {let.var}
        return any(
            _can_move(bare_condition(c), others) and any(n is let.var for n in walk(c))
            for node in walk(let.body)
            for c in self._conditions_of(node)
        )


def _bound_in(op: s.For) -> set[e.Var]:
    """The variables that are known only inside of the loop."""
    found = {op.loop_var}
    for node in walk(op.body):
        if isinstance(node, s.For):
            found.add(node.loop_var)
        elif isinstance(node, (s.LetStmt, e.Let)):
            found.add(node.var)
        elif isinstance(node, s.Allocate):
            found.add(node.buffer_var)
        elif isinstance(node, s.AttrStmt) and isinstance(node.node, e.IterVar):
            found.add(node.node.var)
    return found


def _can_move(expr: PrimExpr, bound: set[e.Var]) -> bool:
    if isinstance(expr, e.IntImm):
        return False
    for node in walk(expr):
        if isinstance(node, e.BufferLoad) or node in bound:
            return False
        if isinstance(node, e.Call) and builtin.effect_of(node) > e.CallEffectKind.Pure:
            return False
        divides = isinstance(node, (e.Div, e.Mod, e.FloorDiv, e.FloorMod))
        if divides and node.dtype.is_integer and ops.literal(node.b) in (None, 0):
            return False  # a condition before it may keep it from failing
    return True


class _Decider(StmtExprMutator):
    """Replaces a condition, wherever it stands, by what it is known to be."""

    def __init__(self, condition: PrimExpr, holds: bool) -> None:
        super().__init__()
        self._condition = condition
        self._value = ops.const(holds, "bool")

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        same_kind = type(expr) is type(self._condition) and expr.dtype is self._condition.dtype
        if same_kind and structural_equal(expr, self._condition):
            return self._value
        return super().visit_expr(expr)


class _LetRemover(StmtExprMutator):
    def __init__(self, let: s.LetStmt) -> None:
        super().__init__()
        self._let = let

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        return op.body if op is self._let else super().visit_let_stmt_(op)
