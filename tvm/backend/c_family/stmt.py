"""Statements to the text of a language that looks like C.

Statements are worked off from an explicit stack, so neither long sequences nor deep nests need
Python recursion: a visit appends lines and pushes what is to follow (a statement, or a step that
closes what the visit opened).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s

from .expr import ExprWriter, Lane
from .text import Lines

Work = s.Stmt | Callable[[], None]


class StmtWriter(ExprWriter[Lane]):
    """Turns the body of a function into lines."""

    def __init__(self, out: Lines, name: str) -> None:
        super().__init__(out, name)
        self._work: list[Work] = []

    def emit(self, body: s.Stmt) -> None:
        """Append the text of `body` and of all that it contains."""
        self._work.append(body)
        while self._work:
            item = self._work.pop()
            if isinstance(item, s.Stmt):
                self.begin_statement()
                self.visit_stmt(item)
            else:
                item()

    def begin_statement(self) -> None:
        """Called before each statement."""

    @abstractmethod
    def condition(self, expr: PrimExpr) -> str:
        """What stands between the parentheses of a branch."""

    @abstractmethod
    def evaluate(self, value: PrimExpr) -> None:
        """Append what a value does."""

    @abstractmethod
    def jump(self, how: str) -> str:
        """Append a jump out of a loop, or to its next iteration."""

    def visit_seq_stmt_(self, op: s.SeqStmt) -> None:
        self._work.extend(reversed(op.seq))

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> None:
        self._work.append(op.body)

    def visit_evaluate_(self, op: s.Evaluate) -> None:
        if not isinstance(op.value, (e.IntImm, e.Var)):
            self.evaluate(op.value)

    def visit_if_then_else_(self, op: s.IfThenElse) -> None:
        out = self.out
        out.open(f"if ({self.condition(op.condition)}) {{")
        self._work.append(out.close)
        if op.else_case is not None:
            self._work += [op.else_case, lambda: out.turn("} else {")]
        self._work.append(op.then_case)
