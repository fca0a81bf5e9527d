"""A mutator that knows what holds at each statement: loop ranges, conditions, asserts."""

from __future__ import annotations

from tvm.arith.analyzer import Analyzer
from tvm.arith.const_int_bound import ConstIntBound
from tvm.ir.expr import PrimExpr, Range
from tvm.support.compiled import mypyc_attr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.buffer_facts import assumed
from tvm.tir.analysis.lasting_fact import lasting_fact
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith as ops


@mypyc_attr(allow_interpreted_subclasses=True)
class AnalyzedMutator(StmtExprMutator):
    """Keeps `self.analyzer` in step with the statement being visited."""

    def __init__(self, func: PrimFunc | None = None) -> None:
        super().__init__()
        self.analyzer = Analyzer()
        self.analyzer.rewriter.keeps_nan = True
        if func is not None:
            assume_sizes(self.analyzer, func)
        self.values: dict[e.Var, PrimExpr] = {}

    def bind_value(self, var: e.Var, value: PrimExpr) -> None:
        """From here on `var` is replaced by a literal or another variable."""
        self.values[var] = value
        if not var.dtype.is_handle:
            self.analyzer.bind(var, value, allow_override=True)

    def condition(self, expr: PrimExpr) -> PrimExpr:
        """A rewritten condition, in the form in which it becomes a fact."""
        return self.visit_expr(expr)

    def bind_range(self, op: s.For) -> None:
        """The variable of a loop runs over its range."""
        dom = Range.from_min_extent(op.min, op.extent)
        self.analyzer.bind(op.loop_var, dom, allow_override=True)

    def visit_for_(self, op: s.For) -> s.Stmt:
        self.bind_range(op)
        return super().visit_for_(op)

    def visit_block_(self, op: s.Block) -> s.Stmt:
        for iter_var in op.iter_vars:
            if iter_var.dom is not None:
                self.analyzer.bind(iter_var.var, iter_var.dom, allow_override=True)
        return super().visit_block_(op)

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        value = self.visit_expr(op.value)
        if value.dtype.is_int and value.dtype.is_scalar:
            # bounds only: binding the value would undo what the name is for
            self.analyzer.update(op.var, self.analyzer.const_int_bound(value), True)
        body = self.visit_stmt(op.body)
        if value is op.value and body is op.body:
            return op
        return s.LetStmt(op.var, value, body, op.span)

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        condition = self.condition(op.condition)
        fact = as_fact(condition)
        with self.analyzer.constraint_scope(lasting_fact(fact, op.then_case)):
            then_case = self.visit_stmt(op.then_case)
        else_case = op.else_case
        if else_case is not None:
            opposite = lasting_fact(ops.logical_not(fact), else_case)
            with self.analyzer.constraint_scope(opposite):
                else_case = self.visit_stmt(else_case)
        same = condition is op.condition and then_case is op.then_case
        if same and else_case is op.else_case:
            return op
        return s.IfThenElse(condition, then_case, else_case, op.span)

    def visit_seq_stmt_(self, op: s.SeqStmt) -> s.Stmt:
        """Parts in their order; what is assumed is a fact for the parts behind it."""
        parts: list[s.Stmt] = []
        entered = []
        for position, part in enumerate(op.seq):
            parts.append(self.visit_stmt(part))
            condition = assumed(part)
            if condition is not None:
                fact = lasting_fact(condition, *op.seq[position + 1 :])
                entered.append(self.analyzer.enter(fact))
        for one in reversed(entered):
            self.analyzer.leave(one)
        if all(old is new for old, new in zip(op.seq, parts)):
            return op
        flat = s.SeqStmt.flatten(parts)
        return s.SeqStmt(flat.seq, op.span) if isinstance(flat, s.SeqStmt) else flat

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key in ("thread_extent", "virtual_thread") and isinstance(op.node, e.IterVar):
            zero = ops.const(0, op.value.dtype)
            self.analyzer.bind(
                op.node.var, Range.from_min_extent(zero, op.value), allow_override=True
            )
        return super().visit_attr_stmt_(op)

    def visit_assert_stmt_(self, op: s.AssertStmt) -> s.Stmt:
        condition, message = self.condition(op.condition), self.visit_expr(op.message)
        if s.is_no_op(op.body):
            body = op.body  # nobody is there to learn the fact
        else:
            with self.analyzer.constraint_scope(lasting_fact(condition, op.body)):
                body = self.visit_stmt(op.body)
        if condition is op.condition and message is op.message and body is op.body:
            return op
        return s.AssertStmt(condition, message, body, op.span)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        if not e.is_call_of(op, "tir.if_then_else"):
            return super().visit_call_(op)
        # of a Select both sides are evaluated, whatever the condition: it is no fact for them
        condition = self.condition(op.args[0])
        a, b = self._sides(condition, op.args[1], op.args[2])
        if condition is op.args[0] and a is op.args[1] and b is op.args[2]:
            return op
        return e.Call(op.dtype, op.op, (condition, a, b), op.span)

    def _sides(self, condition: PrimExpr, x: PrimExpr, y: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        if condition.dtype.is_vector:
            return self.visit_expr(x), self.visit_expr(y)
        fact = as_fact(condition)
        with self.analyzer.constraint_scope(fact):
            a = self.visit_expr(x)
        with self.analyzer.constraint_scope(ops.logical_not(fact)):
            b = self.visit_expr(y)
        return a, b


def assume_sizes(analyzer: Analyzer, func: PrimFunc) -> None:
    """The sizes of parameters are not negative."""
    for buffer in func.buffer_map.values():
        for extent in buffer.shape:
            if isinstance(extent, e.IntImm):
                continue
            if not isinstance(extent, e.Var):
                analyzer.enter(ops.greater_equal(extent, 0))
            elif not analyzer.const_int_bound_is_bound(extent):
                analyzer.update(extent, ConstIntBound(0, ConstIntBound.POS_INF), True)


def bare_condition(condition: PrimExpr) -> PrimExpr:
    """The condition without the mark that it is likely."""
    while e.is_call_of(condition, "tir.likely"):
        condition = condition.args[0]
    return condition


def as_fact(condition: PrimExpr) -> PrimExpr:
    """The condition as a truth value: of a number, that it is not zero."""
    bare = bare_condition(condition)
    return ops.not_equal(bare, 0) if bare.dtype.is_integer else bare
