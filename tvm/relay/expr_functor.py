"""Visitors and mutators for users to subclass: one method a kind of expression.

Each expression is visited once and its result remembered. Long chains of calls need no deep stack:
past a certain depth the operands are visited first, from the inside out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from tvm.error import TVMError
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.op import Op
from tvm.support.recursion import nested_programs

from .adt import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)
from .expr import (
    Call,
    Constant,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    TempExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from .function import Function
from .traverse import children, lets, rebuild

_DEEP: Final = 60  # nested visits; each takes a few frames of Python


class MissingRule(TVMError, NotImplementedError):
    """A functor met a kind of node for which it has no method."""


class ExprFunctor:
    """Calls the method for the kind of an expression, and remembers what it gave."""

    def __init__(self) -> None:
        self.memo_map: dict[RelaxExpr, Any] = {}
        self._nested = 0

    def visit(self, expr: RelaxExpr) -> Any:
        """The result of the method for this kind of expression."""
        if expr in self.memo_map:
            return self.memo_map[expr]
        self._nested += 1
        try:
            if self._nested == 1:
                with nested_programs():
                    result = self._dispatch(expr)
            else:
                if self._nested % _DEEP == 0:
                    self._visit_operands(expr)
                result = self._dispatch(expr)
        finally:
            self._nested -= 1
        self.memo_map[expr] = result
        return result

    def _visit_operands(self, expr: RelaxExpr) -> None:
        for operand in _operands(expr, self.memo_map):
            if operand is not expr and operand not in self.memo_map:
                self.memo_map[operand] = self._dispatch(operand)

    def _dispatch(self, expr: RelaxExpr) -> Any:
        rule = _RULES.get(type(expr))
        if rule is not None:
            return rule(self, expr)
        if isinstance(expr, TempExpr):
            return self.visit(expr.realize())
        raise TVMError(
            f"{type(self).__name__}: no rule for a {type(expr).__name__}; "
            f"legal: {', '.join(sorted(kind.__name__ for kind in _RULES))}"
        )

    def visit_type(self, typ: Any) -> Any:
        """Types are left alone."""
        return typ

    def _refuse(self, expr: RelaxExpr) -> Any:
        raise MissingRule(
            f"{type(self).__name__} has no rule for a {type(expr).__name__}; define its method"
        )

    def visit_function(self, _: Function) -> Any:
        return self._refuse(_)

    def visit_let(self, _: Let) -> Any:
        return self._refuse(_)

    def visit_call(self, _: Call) -> Any:
        return self._refuse(_)

    def visit_var(self, _: Var) -> Any:
        return self._refuse(_)

    def visit_if(self, _: If) -> Any:
        return self._refuse(_)

    def visit_tuple(self, _: Tuple) -> Any:
        return self._refuse(_)

    def visit_tuple_getitem(self, _: TupleGetItem) -> Any:
        return self._refuse(_)

    def visit_global_var(self, _: GlobalVar) -> Any:
        return self._refuse(_)

    def visit_op(self, _: Op) -> Any:
        return self._refuse(_)

    def visit_constant(self, _: Constant) -> Any:
        return self._refuse(_)

    def visit_ref_create(self, _: RefCreate) -> Any:
        return self._refuse(_)

    def visit_ref_write(self, _: RefWrite) -> Any:
        return self._refuse(_)

    def visit_ref_read(self, _: RefRead) -> Any:
        return self._refuse(_)

    def visit_constructor(self, _: Constructor) -> Any:
        return self._refuse(_)

    def visit_match(self, _: Match) -> Any:
        return self._refuse(_)


_RULES: Final[dict[type, Callable[[ExprFunctor, Any], Any]]] = {
    Function: lambda f, e: f.visit_function(e),
    Call: lambda f, e: f.visit_call(e),
    Let: lambda f, e: f.visit_let(e),
    Var: lambda f, e: f.visit_var(e),
    GlobalVar: lambda f, e: f.visit_global_var(e),
    If: lambda f, e: f.visit_if(e),
    Tuple: lambda f, e: f.visit_tuple(e),
    TupleGetItem: lambda f, e: f.visit_tuple_getitem(e),
    Constant: lambda f, e: f.visit_constant(e),
    Op: lambda f, e: f.visit_op(e),
    RefCreate: lambda f, e: f.visit_ref_create(e),
    RefRead: lambda f, e: f.visit_ref_read(e),
    RefWrite: lambda f, e: f.visit_ref_write(e),
    Constructor: lambda f, e: f.visit_constructor(e),
    Match: lambda f, e: f.visit_match(e),
}


def _operands(root: RelaxExpr, known: dict[RelaxExpr, Any]) -> Iterator[RelaxExpr]:
    """What `root` is computed from by calls and tuples, parts first; scopes are not entered."""
    stack: list[tuple[RelaxExpr, bool]] = [(root, False)]
    seen: set[int] = set()
    while stack:
        expr, entered = stack.pop()
        if entered:
            yield expr
        elif id(expr) not in seen and expr not in known:
            seen.add(id(expr))
            if isinstance(expr, (Call, Tuple, TupleGetItem)):
                stack.append((expr, True))
                stack.extend([(part, False) for part in reversed(children(expr))])


class ExprVisitor(ExprFunctor):
    """Visits everything; a subclass overrides the kinds it cares for."""

    def visit_tuple(self, tup: Tuple) -> Any:
        for field in tup.fields:
            self.visit(field)

    def visit_call(self, call: Call) -> Any:
        self.visit(call.op)
        for arg in call.args:
            self.visit(arg)

    def visit_var(self, var: Var) -> Any:
        pass

    def visit_let(self, let: Let) -> Any:
        chain, rest = _own_lets(self, ExprVisitor, let)
        for one in chain:
            self.visit(one.var)
            self.visit(one.value)
        self.visit(rest)

    def visit_function(self, fn: Function) -> Any:
        for param in fn.params:
            self.visit(param)
        self.visit(fn.body)

    def visit_if(self, i: If) -> Any:
        self.visit(i.cond)
        self.visit(i.true_branch)
        self.visit(i.false_branch)

    def visit_global_var(self, gv: GlobalVar) -> Any:
        pass

    def visit_constructor(self, c: Constructor) -> Any:
        pass

    def visit_op(self, op: Op) -> Any:
        pass

    def visit_constant(self, const: Constant) -> Any:
        pass

    def visit_ref_create(self, r: RefCreate) -> Any:
        self.visit(r.value)

    def visit_ref_read(self, r: RefRead) -> Any:
        self.visit(r.ref)

    def visit_ref_write(self, r: RefWrite) -> Any:
        self.visit(r.ref)
        self.visit(r.value)

    def visit_tuple_getitem(self, t: TupleGetItem) -> Any:
        self.visit(t.tuple_value)

    def visit_match(self, m: Match) -> Any:
        self.visit(m.data)
        for clause in m.clauses:
            self.visit(clause.rhs)


class ExprMutator(ExprFunctor):
    """Rebuilds what a subclass changes; where nothing does, the same object comes back."""

    def visit_function(self, fn: Function) -> Any:
        params = [self.visit(param) for param in fn.params]
        return rebuild(fn, (*params, self.visit(fn.body)))

    def visit_let(self, let: Let) -> Any:
        chain, rest = _own_lets(self, ExprMutator, let)
        parts = [(self.visit(one.var), self.visit(one.value)) for one in chain]
        body = self.visit(rest)
        for one, (var, value) in zip(reversed(chain), reversed(parts)):
            body = rebuild(one, (var, value, body))
        return body

    def visit_call(self, call: Call) -> Any:
        return rebuild(call, (self.visit(call.op), *[self.visit(arg) for arg in call.args]))

    def visit_var(self, var: Var) -> Any:
        return var

    def visit_global_id(self, global_var: GlobalVar) -> Any:
        return global_var

    def visit_if(self, ite: If) -> Any:
        return rebuild(ite, [self.visit(part) for part in children(ite)])

    def visit_tuple(self, tup: Tuple) -> Any:
        return rebuild(tup, [self.visit(field) for field in tup.fields])

    def visit_tuple_getitem(self, op: TupleGetItem) -> Any:
        value = self.visit(op.tuple_value)
        if isinstance(value, (Tuple, list)) and value is not op.tuple_value:
            return value[op.index]
        return rebuild(op, (value,))

    def visit_global_var(self, gvar: GlobalVar) -> Any:
        return gvar

    def visit_op(self, op: Op) -> Any:
        return op

    def visit_constant(self, const: Constant) -> Any:
        return const

    def visit_constructor(self, con: Constructor) -> Any:
        return con

    def visit_match(self, m: Match) -> Any:
        data = self.visit(m.data)
        clauses = [
            Clause(self.visit_pattern(clause.lhs), self.visit(clause.rhs)) for clause in m.clauses
        ]
        same = data is m.data and all(
            new.lhs is old.lhs and new.rhs is old.rhs for new, old in zip(clauses, m.clauses)
        )
        return m if same else Match(data, clauses, m.complete)

    def visit_pattern(self, pattern: Pattern) -> Pattern:
        """A pattern with its variables rewritten."""
        if isinstance(pattern, PatternVar):
            var = self.visit(pattern.var)
            return pattern if var is pattern.var else PatternVar(var)
        if isinstance(pattern, PatternWildcard):
            return pattern
        assert isinstance(pattern, (PatternConstructor, PatternTuple)), "four kinds of patterns"
        inner = [self.visit_pattern(p) for p in pattern.patterns]
        if all(a is b for a, b in zip(inner, pattern.patterns)):
            return pattern
        if isinstance(pattern, PatternTuple):
            return PatternTuple(inner)
        return PatternConstructor(self.visit(pattern.constructor), inner)

    def visit_ref_create(self, r: RefCreate) -> Any:
        return rebuild(r, (self.visit(r.value),))

    def visit_ref_write(self, r: RefWrite) -> Any:
        return rebuild(r, (self.visit(r.ref), self.visit(r.value)))

    def visit_ref_read(self, r: RefRead) -> Any:
        return rebuild(r, (self.visit(r.ref),))


def _own_lets(functor: ExprFunctor, base: type[Any], let: Let) -> tuple[list[Let], RelaxExpr]:
    """The chain of lets to go through at once; one, where a subclass looks at each."""
    if type(functor).visit_let is base.visit_let:
        return lets(let)
    return [let], let.body
