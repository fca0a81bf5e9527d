"""Arithmetic that occurs several times is computed once.

    for j in range(4):                        for j in range(4):
        B[i * 16 + j * 4] = 0                     cse_v1 = i * 16 + j * 4
        B[i * 16 + j * 4 + 1] = 1      ->         B[cse_v1] = 0
                                                  B[cse_v1 + 1] = 1

From the outside inwards, and from the largest expression to the smallest, what a statement computes
at least twice gets a name around it. What only one branch of a condition computes, or only the body
of a loop, is named in there: it may never be needed. Parameters, loop variables and lets can be in
what is named; thread axes and the variables of blocks cannot. Nothing is named that reads memory,
calls, or may fail. A let of the program is used wherever its value is computed once more.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator

from .computations import Computations, Counted, Table
from .pass_form import tir_pass


@tir_pass("tir.CommonSubexprElimTIR")
def CommonSubexprElimTIR(
    func: PrimFunc,
    mod: IRModule,
    ctx: PassContext,
    enable_cse_tir: bool = True,
    identify_equiv_terms: bool = False,
) -> PrimFunc:
    """No arithmetic occurs twice where one variable could hold its value.

    With `identify_equiv_terms` that holds for what is equal once simplified, too.
    """
    if not enable_cse_tir:
        return func
    body = _Commoner(func.params, identify_equiv_terms).process(func.body)
    return func if body is func.body else func.with_body(body)


class _Commoner(StmtExprMutator):
    """Names what statements compute several times, then goes on inside of them."""

    def __init__(self, params: Sequence[e.Var], equivalent: bool) -> None:
        super().__init__()
        self._found = Computations(equivalent)
        self._known = set(params)  # variables that can be used here
        self._values: dict[int, e.Var] = {}  # those of lets, by the key of the value
        self._names = 0

    # --- naming ---

    def process(self, stmt: s.Stmt) -> s.Stmt:
        """A statement with names for what it computes, and all that is in it."""
        while True:
            named, using = self._choose(self._found.of_stmt(stmt))
            stmt = _Replacer(self._found, using).visit_stmt(stmt) if using else stmt
            for var, value in named:
                stmt = s.LetStmt(var, self._over_names(value, using), stmt, stmt.span)
            if not named:
                return self.visit_stmt(stmt)

    def process_expr(self, expr: PrimExpr) -> PrimExpr:
        """The same for an expression that is computed apart from others; names are in it."""
        while True:
            named, using = self._choose(self._found.of_expr(expr))
            expr = _Replacer(self._found, using).visit_expr(expr) if using else expr
            for var, value in named:
                expr = e.Let(var, self._over_names(value, using), expr, expr.span)
            if not named:
                return self.visit_expr(expr)

    def _over_names(self, value: PrimExpr, using: Mapping[int, e.Var]) -> PrimExpr:
        own = self._found.key(value)
        others = {key: var for key, var in using.items() if key != own}
        return _Replacer(self._found, others).visit_expr(value)

    def _choose(self, table: Table) -> tuple[list[tuple[e.Var, PrimExpr]], dict[int, e.Var]]:
        """New names, the innermost first; and what is to be replaced by these and known ones."""
        named: list[tuple[e.Var, PrimExpr]] = []
        using: dict[int, e.Var] = {}
        if not self._is_worth_it(table):
            return named, using
        order = self._found.order
        rows = sorted([(order(c.expr), key) for key, c in table.items()])
        counts = dict(table)
        at = 0
        while at < len(rows):
            key = rows[at][1]
            expr, times = counts[key]
            at += 1
            if key in self._values:
                using[key] = self._values[key]
            elif times >= 2 and self._known.issuperset(self._found.facts(expr).vars):
                self._names += 1
                using[key] = e.Var(f"cse_v{self._names}", expr.dtype, expr.span)
                named.append((using[key], expr))
            else:
                for part in self._found.within(expr):
                    inner = self._found.key(part)
                    if inner not in counts:
                        bisect.insort(rows, (order(part), inner))
                        counts[inner] = Counted(part, times)
                    else:
                        counts[inner] = counts[inner]._replace(times=counts[inner].times + times)
        return named, using

    def _is_worth_it(self, table: Table) -> bool:
        """Whether anything at all may be computed twice, or is held by a let."""
        seen: set[int] = set()
        stack = [(c.expr, c.times) for c in table.values()]
        while stack:
            expr, times = stack.pop()
            key = self._found.key(expr)
            usable = self._known.issuperset(self._found.facts(expr).vars)
            if key in self._values or (usable and (times >= 2 or key in seen)):
                return True
            if key in seen:
                continue
            seen.add(key)
            # equal parts of equal expressions stand within one of these: they count once
            stack.extend([(part, 1) for part in self._found.within(expr)])
        return False

    # --- what binds a variable, and what runs apart ---

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        value = self.visit_expr(op.value)
        key = self._found.key(op.value)
        self._known.add(op.var)
        first = key not in self._values
        if first:
            self._values[key] = op.var
        body = self.process(op.body)
        if first:
            del self._values[key]
        self._known.discard(op.var)
        if value is op.value and body is op.body:
            return op
        return s.LetStmt(op.var, value, body, op.span)

    def visit_let_(self, op: e.Let) -> PrimExpr:
        value = self.process_expr(op.value)
        key = self._found.key(op.value)
        self._known.add(op.var)
        first = key not in self._values
        if first:
            self._values[key] = op.var
        body = self.process_expr(op.body)
        if first:
            del self._values[key]
        self._known.discard(op.var)
        if value is op.value and body is op.body:
            return op
        return e.Let(op.var, value, body, op.span)

    def visit_for_(self, op: s.For) -> s.Stmt:
        low, extent = self.process_expr(op.min), self.process_expr(op.extent)
        self._known.add(op.loop_var)
        body = self.process(op.body)
        self._known.discard(op.loop_var)
        if low is op.min and extent is op.extent and body is op.body:
            return op
        return s.For(op.loop_var, low, extent, op.kind, body, op.thread_binding, op.annotations,
                     op.span)  # fmt: skip

    def visit_while_(self, op: s.While) -> s.Stmt:
        condition, body = self.process_expr(op.condition), self.process(op.body)
        if condition is op.condition and body is op.body:
            return op
        return s.While(condition, body, op.span)

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        condition, then = self.process_expr(op.condition), self.process(op.then_case)
        other = None if op.else_case is None else self.process(op.else_case)
        if condition is op.condition and then is op.then_case and other is op.else_case:
            return op
        return s.IfThenElse(condition, then, other, op.span)


class _Replacer(StmtExprMutator):
    """Puts variables in the place of what they hold."""

    def __init__(self, found: Computations, using: Mapping[int, e.Var]) -> None:
        super().__init__()
        self._found = found
        self._using = using

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        if self._found.may_be_named(expr):
            var = self._using.get(self._found.key(expr))
            if var is not None:
                return var
        return super().visit_expr(expr)
