"""Where conditions and names may stand that do not change in the loops around them.

Each is taken out of all loops (and launches of threads) whose variables it does not use. What reads
memory, has effects or may fail stays, and so does a condition with other statements beside it:
they would have to run in both cases.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.effects import side_effect
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, StmtExprVisitor, uses_any, vars_in, walk
from tvm.tir.op import arith as ops

from .convert_ssa import to_ssa

_MAX_ELSES: Final = 4  # of one loop: each makes two copies of it


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


def hoist(
    func: PrimFunc, conditions: HoistedConditionals, names: HoistedLetBindings
) -> PrimFunc:
    """The function with conditions and names of these kinds as far out as they can stand."""
    collector = _Collector(conditions, names)
    collector.visit_stmt(func.body)
    loops = {loop.stmt: loop for loop in collector.found if loop.conditions or loop.names}
    return to_ssa(func.with_body(_Hoister(loops).visit_stmt(func.body))) if loops else func


@dataclass
class _Loop:
    """A loop or launch, and what is to stand in front of it, outermost first."""

    stmt: s.For | s.AttrStmt
    var: e.Var
    is_launch: bool
    conditions: list[tuple[PrimExpr, bool]] = field(default_factory=list)  # and if there is an else
    names: list[tuple[e.Var, PrimExpr]] = field(default_factory=list)


@dataclass
class _Name:
    """A name bound inside of loops: how many loops are around it, and around where it may stand."""

    value: PrimExpr
    level: int
    outer: int
    wanted: bool  # there, for its own sake


class _Collector(StmtExprVisitor):
    """Finds the destination of each condition and name."""

    def __init__(self, conditions: HoistedConditionals, names: HoistedLetBindings) -> None:
        super().__init__()
        self._conditions: Final = conditions
        self._names: Final = names
        self.found: list[_Loop] = []
        self._loops: list[_Loop] = []  # around
        self._levels: dict[e.Var, int] = {}  # of loops around the definition of a variable
        self._bound: dict[e.Var, _Name] = {}
        self._let: set[e.Var] = set()  # all names of lets
        self._fixed = 0  # conditions do not pass statements that stand at this level
        self._with_else: list[int] = []  # levels of the tests with two branches around

    # --- statements ---

    def visit_for_(self, op: s.For) -> None:
        self.visit_exprs([op.min, op.extent])
        self._within(_Loop(op, op.loop_var, False), op.body)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        self.visit_expr(op.value)
        if isinstance(op.node, e.IterVar) and op.attr_key in ("thread_extent", "virtual_thread"):
            self._within(_Loop(op, op.node.var, True), op.body)
        else:
            self.visit_stmt(op.body)

    def _within(self, loop: _Loop, body: s.Stmt) -> None:
        self.found.append(loop)
        self._loops.append(loop)
        self._levels[loop.var] = len(self._loops)
        self.visit_stmt(body)
        self._loops.pop()

    def visit_seq_stmt_(self, op: s.SeqStmt) -> None:
        around, self._fixed = self._fixed, len(self._loops)
        super().visit_seq_stmt_(op)
        self._fixed = around

    def visit_while_(self, op: s.While) -> None:
        around, self._fixed = self._fixed, len(self._loops)
        super().visit_while_(op)
        self._fixed = around

    def visit_assert_stmt_(self, op: s.AssertStmt) -> None:
        around, self._fixed = self._fixed, len(self._loops)
        super().visit_assert_stmt_(op)
        self._fixed = around

    def visit_block_realize_(self, op: s.BlockRealize) -> None:
        around, self._fixed = self._fixed, len(self._loops)
        super().visit_block_realize_(op)
        self._fixed = around

    def visit_block_(self, op: s.Block) -> None:
        for iv in op.iter_vars:
            self._levels[iv.var] = len(self._loops)
        super().visit_block_(op)

    def visit_allocate_(self, op: s.Allocate) -> None:
        self._levels[op.buffer_var] = len(self._loops)
        super().visit_allocate_(op)

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        around = self._fixed
        if side_effect(op.value) > e.CallEffectKind.ReadState:
            self._fixed = len(self._loops)
        self._bind(op.var, op.value, HoistedLetBindings.LetStmt)
        super().visit_let_stmt_(op)
        self._fixed = around

    def visit_let_(self, op: e.Let) -> None:
        self._bind(op.var, op.value, HoistedLetBindings.LetExpr)
        super().visit_let_(op)

    def visit_if_then_else_(self, op: s.IfThenElse) -> None:
        has_else = op.else_case is not None
        self._take(op.condition, HoistedConditionals.IfElseStmt, has_else)
        if has_else:
            self._with_else.append(len(self._loops))
        super().visit_if_then_else_(op)
        if has_else:
            self._with_else.pop()

    def visit_call_(self, op: e.Call) -> None:
        if e.is_call_of(op, "tir.if_then_else"):
            self._take(op.args[0], HoistedConditionals.IfElseExpr, True)
        super().visit_call_(op)

    def visit_and_(self, op: e.And) -> None:
        self._take_parts(op)

    def visit_or_(self, op: e.Or) -> None:
        self._take_parts(op)

    def _take_parts(self, op: e.And | e.Or) -> None:
        self._take(op.a, HoistedConditionals.BooleanExpression, True)
        self._take(op.b, HoistedConditionals.BooleanExpression, True)
        self.visit_exprs([op.a, op.b])

    # --- what they find ---

    def _bind(self, var: e.Var, value: PrimExpr, kind: HoistedLetBindings) -> None:
        self._let.add(var)
        level = len(self._loops)
        outer = self._outermost(value) if _can_move(value) else level
        self._levels[var] = level
        if outer >= level:
            return
        wanted = kind in self._names
        self._bound[var] = _Name(value, level, outer, wanted)
        if wanted:
            self._move(var)

    def _take(self, condition: PrimExpr, kind: HoistedConditionals, has_else: bool) -> None:
        if kind not in self._conditions or not self._loops or not _can_move(condition):
            return
        outer = max(self._outermost(condition, True), self._fixed)
        if outer >= len(self._loops) or self._uses_launch(condition):
            return
        has_else = has_else or any(level > outer for level in self._with_else)
        if has_else and sum(other for _, other in self._loops[outer].conditions) >= _MAX_ELSES:
            return
        named = [n for n in vars_in(condition) if n in self._let]
        if named and HoistedLetBindings.RequiredByConditional not in self._names:
            return
        for name in [n for n in named if n in self._bound]:
            self._move(name)
        self._loops[outer].conditions.append((condition, has_else))

    def _move(self, var: e.Var) -> None:
        """Bind the variable in its outermost scope, after those that its value uses."""
        name = self._bound[var]
        if self._levels[var] == name.outer:
            return
        for used in [n for n in vars_in(name.value) if n in self._bound]:
            self._move(used)
        self._levels[var] = name.outer
        self._loops[name.outer].names.append((var, name.value))

    def _outermost(self, expr: PrimExpr, for_condition: bool = False) -> int:
        """How many loops have to be around the expression."""
        may_move = HoistedLetBindings.RequiredByConditional in self._names
        outer = 0
        for node in walk(expr):
            if not isinstance(node, e.Var):
                continue
            name = self._bound.get(node)
            if name is not None and (name.wanted or (for_condition and may_move)):
                outer = max(outer, name.outer)
            else:
                outer = max(outer, self._levels.get(node, 0))
        if HoistedConditionals.UsingBlockVar not in self._conditions:
            launches = [i + 1 for i, loop in enumerate(self._loops) if loop.is_launch]
            outer = max([outer, *launches])
        return outer

    def _uses_launch(self, condition: PrimExpr) -> bool:
        if HoistedConditionals.UsingBlockVar in self._conditions:
            return False
        launched = {loop.var for loop in self._loops if loop.is_launch}
        return uses_any(condition, launched)


def _can_move(expr: PrimExpr) -> bool:
    if isinstance(expr, e.IntImm) or side_effect(expr) > e.CallEffectKind.Pure:
        return False
    for node in walk(expr):
        divides = isinstance(node, (e.Div, e.Mod, e.FloorDiv, e.FloorMod))
        if divides and node.dtype.is_integer and ops.literal(node.b) in (None, 0):
            return False  # a condition before it may keep it from failing
    return True


class _Hoister(StmtExprMutator):
    """Puts conditions and names around their loops."""

    def __init__(self, loops: dict[s.For | s.AttrStmt, _Loop]) -> None:
        super().__init__()
        self._loops = loops
        self._moved = {var for loop in loops.values() for var, _ in loop.names}

    def visit_for_(self, op: s.For) -> s.Stmt:
        return self._around(op, super().visit_for_(op))

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        return self._around(op, super().visit_attr_stmt_(op))

    def _around(self, old: s.For | s.AttrStmt, stmt: s.Stmt) -> s.Stmt:
        loop = self._loops.get(old)
        if loop is None:
            return stmt
        for condition, has_else in reversed(loop.conditions):
            stmt = s.IfThenElse(condition, stmt, stmt if has_else else None, old.span)
        for var, value in reversed(loop.names):
            stmt = s.LetStmt(var, value, stmt, old.span)
        return stmt

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        if op.var in self._moved:
            return self.visit_stmt(op.body)
        return super().visit_let_stmt_(op)

    def visit_let_(self, op: e.Let) -> PrimExpr:
        return self.visit_expr(op.body) if op.var in self._moved else super().visit_let_(op)
