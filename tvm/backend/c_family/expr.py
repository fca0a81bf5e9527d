"""Expressions to the text of a language that looks like C: what all of them say alike.

A visit gives the text of a value, or, while `lane` is set, of that lane of a vector. What needs a
statement of its own is put before the statement at hand, or within the branch that asks for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final, Generic, NoReturn, TypeVar

from tvm.error import CheckError, InternalError, message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.functor import TirFunctor
from tvm.tir.op.forms import terms_of

from .code import AND, ATOM, BITS, CHOICE, COMPARE, LONGEST, OR, UNARY, Code, code
from .text import Lines

Lane = TypeVar("Lane")  # how a language counts lanes: numbers, or the variable of a loop
Rule = Callable[[Any, e.Call], str]

_COMPARE: Final = {e.EQ: "==", e.NE: "!=", e.LT: "<", e.LE: "<=", e.GT: ">", e.GE: ">="}


class ExprWriter(TirFunctor[Code, None], ABC, Generic[Lane]):
    """Writes expressions of one function; a language overrides what it says differently.

    Methods that languages override give texts; one that is no `Code` is whole by itself.
    """

    LANGUAGE: ClassVar[str] = ""
    RULES: ClassVar[Mapping[str, Rule]] = {}
    LAZY_CHOICE: ClassVar[bool] = False  # `choose` computes only the side that is taken

    def __init__(self, out: Lines, name: str) -> None:
        self.out = out
        self.name = name
        self.values: dict[e.Var, Code] = {}
        self.lane: Lane | None = None

    def refuse(self, asked: object, found: str, legal: str) -> NoReturn:
        """The program cannot be said in this language."""
        raise CheckError(
            message(
                f"{self.LANGUAGE} code for {asked}",
                found=found,
                where=f"function {self.name}",
                legal=legal,
            )
        )

    # --- what languages say in words of their own ---

    def loose(self, text: str, level: int) -> Code:
        """A text whose outermost operator binds at a level."""
        return Code(text, level)

    @abstractmethod
    def int_literal(self, dtype: DataType, value: int) -> str:
        """An integer or bool literal."""

    @abstractmethod
    def float_literal(self, dtype: DataType, value: float) -> str:
        """A literal of a floating type."""

    @abstractmethod
    def temp(self, dtype: DataType, value: str) -> Code:
        """A value kept in a variable."""

    @abstractmethod
    def declare_later(self, dtype: DataType, hint: str) -> str:
        """A variable whose value is assigned afterwards; its name."""

    @abstractmethod
    def binary(self, op: e.BinaryOpExpr, dtype: DataType, a: Code, b: Code) -> str:
        """One operation on two values."""

    @abstractmethod
    def compare(self, dtype: DataType, sign: str, a: Code, b: Code) -> str:
        """A comparison of two values of a type."""

    @abstractmethod
    def fit(self, dtype: DataType, value: Code) -> str:
        """The result of arithmetic that may have been done in a wider type."""

    def choose(self, dtype: DataType, condition: Code, a: Code, b: Code) -> str:
        """One of two values."""
        return self.loose(f"{condition.at(COMPARE)} ? {a.at(BITS)} : {b.at(BITS)}", CHOICE)

    @abstractmethod
    def convert(self, source: DataType, target: DataType, value: Code) -> str:
        """One value converted from one type to another."""

    def discard(self, value: PrimExpr, text: Code) -> str:
        """A statement of an expression."""
        return f"{text};"

    @abstractmethod
    def call_function(self, name: str, op: e.Call) -> str:
        """A call of another function of the file."""

    # --- values ---

    def short(self, dtype: DataType, text: str) -> Code:
        """The text; a variable if it is long."""
        return code(text) if len(text) < LONGEST else self.temp(dtype.element_of(), text)

    def lane_of(self, expr: PrimExpr, lane: Lane | None) -> Code:
        """One lane of a vector expression; of a scalar one, its value."""
        before, self.lane = self.lane, lane if expr.dtype.is_vector else None
        try:
            return self.visit_expr(expr)
        finally:
            self.lane = before

    @contextmanager
    def branch(self) -> Iterator[None]:
        """What is found out inside is known only there."""
        yield

    def in_branch(self, expr: PrimExpr) -> tuple[list[str], Code]:
        """A value, with the lines that it needs, which stay in the branch at hand."""
        with self.branch(), self.out.apart() as lines:
            text = self.visit_expr(expr)
        return lines, text

    def known(self, op: e.Var) -> Code:
        """The text of a variable."""
        value = self.values.get(op)
        if value is None:
            raise InternalError(
                message(
                    f"use of variable {op.name}",
                    found="it is not defined here",
                    where=f"function {self.name}",
                    legal="parameters, and variables of enclosing loops and lets",
                )
            )
        return value

    # --- arithmetic ---

    def visit_int_imm_(self, op: e.IntImm) -> Code:
        return code(self.int_literal(op.dtype, op.value))

    def visit_float_imm_(self, op: e.FloatImm) -> Code:
        return code(self.float_literal(op.dtype, op.value))

    def visit_binary_(self, op: e.BinaryOpExpr) -> Code:
        """Trees of arithmetic are walked with a stack: a sum may have thousands of terms."""
        todo: list[tuple[PrimExpr, bool]] = [(op, False)]
        done: list[Code] = []
        while todo:
            node, ready = todo.pop()
            if not isinstance(node, e.BinaryOpExpr):
                done.append(self.visit_expr(node))
            elif ready:
                b = done.pop()
                text = self.binary(node, node.dtype.element_of(), done.pop(), b)
                done.append(self.short(node.dtype, text))
            else:
                todo += [(node, True), (node.b, False), (node.a, False)]
        return done[0]

    def bool_arithmetic(self, op: e.BinaryOpExpr, a: Code, b: Code) -> Code:
        """Arithmetic of numbers of one bit."""
        if isinstance(op, (e.Add, e.Sub)):
            return self.loose(f"{a.at(UNARY)} != {b.at(UNARY)}", COMPARE)
        if isinstance(op, (e.Mul, e.Min)):
            return self.loose(f"{a.at(UNARY)} && {b.at(UNARY)}", AND)
        if isinstance(op, e.Max):
            return self.loose(f"{a.at(UNARY)} || {b.at(UNARY)}", OR)
        return a if isinstance(op, (e.Div, e.FloorDiv)) else Code("false")

    def by_power(self, dtype: DataType, a: Code, power: int, remainder: bool) -> str:
        """Division by a power of two: shift and mask round toward minus infinity."""
        digit = self.int_literal(dtype, (1 << power) - 1 if remainder else power)
        return self.loose(f"{a.at(UNARY)} {'&' if remainder else '>>'} {digit}", BITS)

    def visit_cmp_(self, op: e.CmpExpr) -> Code:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        return self.short(
            op.dtype, self.compare(op.a.dtype.element_of(), _COMPARE[type(op)], a, b)
        )

    def visit_cast_(self, op: e.Cast) -> Code:
        source, target = op.value.dtype.element_of(), op.dtype.element_of()
        return code(self.convert(source, target, self.visit_expr(op.value)))

    # --- logic ---

    def visit_and_(self, op: e.And) -> Code:
        return self._logic(op, e.And, "&&", AND)

    def visit_or_(self, op: e.Or) -> Code:
        return self._logic(op, e.Or, "||", OR)

    def _logic(self, op: e.And | e.Or, kind: type[e.And | e.Or], sign: str, level: int) -> Code:
        """A term is computed only where those before it do not decide."""
        terms = terms_of(op, kind)
        text = self.visit_expr(terms[0])
        for term in terms[1:]:
            lines, second = self.in_branch(term)
            if not lines:
                left = text if text.level == level else text.at(COMPARE)
                text = self.short(
                    op.dtype, self.loose(f"{left} {sign} {second.at(COMPARE)}", level)
                )
                continue
            held = self.declare_later(DataType("bool"), "holds")
            self.out.line(f"{held} = {text};")
            self.out.open(f"if ({held if sign == '&&' else '!' + held}) {{")
            self._indented(lines)
            self.out.line(f"{held} = {second};")
            self.out.close()
            text = Code(held)
        return text

    def _indented(self, lines: list[str]) -> None:
        self.out.lines.extend("  " + line for line in lines)

    def visit_not_(self, op: e.Not) -> Code:
        return self.loose(f"!{self.visit_expr(op.a).at(ATOM)}", UNARY)

    def visit_select_(self, op: e.Select) -> Code:
        lane = self.lane if op.condition.dtype.is_vector else None
        chosen = self.lane_of(op.condition, lane)
        return self._choice(op.dtype, chosen, op.true_value, op.false_value, either=True)

    def if_then_else(self, condition: PrimExpr, a: PrimExpr, b: PrimExpr) -> Code:
        """Evaluate only the side that is taken."""
        lane = self.lane if condition.dtype.is_vector else None
        return self._choice(
            a.dtype, self.lane_of(condition, lane), a, b, either=self.LAZY_CHOICE
        )

    def _choice(
        self, dtype: DataType, chosen: Code, a: PrimExpr, b: PrimExpr, *, either: bool
    ) -> Code:
        if dtype.is_void:
            self._one_of(chosen, a, b)
            return Code("")
        sides = [self.in_branch(a), self.in_branch(b)]
        if either and not any(lines for lines, _ in sides):
            return self.short(dtype, self.choose(dtype, chosen, sides[0][1], sides[1][1]))
        name = self.declare_later(dtype.element_of(), "condval")
        self.out.open(f"if ({chosen}) {{")
        for n, (lines, text) in enumerate(sides):
            if n:
                self.out.turn("} else {")
            self._indented(lines)
            self.out.line(f"{name} = {text};")
        self.out.close()
        return Code(name)

    def _one_of(self, chosen: Code, a: PrimExpr, b: PrimExpr) -> None:
        """Two actions, of which one is done."""
        self.out.open(f"if ({chosen}) {{")
        for n, side in enumerate((a, b)):
            if n:
                self.out.turn("} else {")
            with self.branch():
                made = self.visit_expr(side)
            if made:
                self.out.line(self.discard(side, made))
        self.out.close()

    # --- calls ---

    def visit_call_(self, op: e.Call) -> Code:
        if isinstance(op.op, GlobalVar):
            return code(self.call_function(op.op.name_hint, op))
        rule = self.RULES.get(op.op.name)
        if rule is None:
            self.refuse(op.op.name, "no rule for this operator",
                        "operators that lowering replaces, or the language has")  # fmt: skip
        return code(rule(self, op))
