"""The meaning of Relay: values of expressions, with functions, references and data as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from tvm.error import TVMError, message
from tvm.ffi.object import Object
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.relay.adt import (
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
)
from tvm.relay.expr import (
    Call,
    Constant,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from tvm.relay.function import Function
from tvm.relay.traverse import children
from tvm.runtime.container import ADT

from .op_values import call_value


class ConstructorValue(ADT):
    """A value of a data type: which constructor made it, and of what."""

    def __init__(self, tag: int, fields: Sequence[Any], constructor: Constructor) -> None:
        super().__init__(tag, fields)
        self.constructor = constructor

    def __eq__(self, other: object) -> bool:
        return self is other        # tensors have no truth of one value

    def __hash__(self) -> int:  # type: ignore[override]  # lists have none
        return id(self)

    def same_as(self, other: object) -> bool:
        """True when both names stand for one value."""
        return self is other

    def __repr__(self) -> str:
        name = getattr(self.constructor, "name_hint", str(self.tag))
        return f"{name}({', '.join(map(repr, self.fields))})"

    __str__ = __repr__


class RefValue(Object):
    """A reference that holds a value."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Closure:
    """A function with the variables around it."""

    __slots__ = ("func", "vars")

    def __init__(self, func: Function, variables: Mapping[Node, Any]) -> None:
        self.func: Final = func
        self.vars: Final = variables


class Frame:
    """The values of one scope by expression, and of the variables that it sees."""

    __slots__ = ("machine", "values", "vars")

    def __init__(self, machine: Machine, variables: Mapping[Node, Any]) -> None:
        self.machine: Final = machine
        self.values: dict[int, Any] = {}
        self.vars: dict[Node, Any] = dict(variables)

    def inner(self) -> Frame:
        """A scope inside: what it finds is forgotten with it."""
        made = Frame(self.machine, self.vars)
        made.values = dict(self.values)
        return made

    def eval(self, root: RelaxExpr) -> Any:
        """The value of an expression; lets and chains of calls in a loop."""
        stack: list[tuple[RelaxExpr, int]] = [(root, 0)]
        while stack:
            expr, step = stack.pop()
            if id(expr) in self.values:
                continue
            if isinstance(expr, Let):
                if step == 0 and isinstance(expr.value, Function):
                    made = Closure(expr.value, self.vars)  # it sees itself by this very scope
                    self.vars[expr.var.vid] = made
                    stack.extend([(expr, 2), (expr.body, 0)])
                elif step == 0:
                    stack.extend([(expr, 1), (expr.value, 0)])
                elif step == 1:
                    self.vars[expr.var.vid] = self.values[id(expr.value)]
                    stack.extend([(expr, 2), (expr.body, 0)])
                else:
                    self.values[id(expr)] = self.values[id(expr.body)]
            elif step == 0 and isinstance(expr, _STRICT):
                stack.append((expr, 1))
                stack.extend([(part, 0) for part in reversed(children(expr))])
            else:
                self.values[id(expr)] = self.visit(expr)
        return self.values[id(root)]

    def visit(self, expr: RelaxExpr) -> Any:
        rule = _RULES.get(type(expr))
        if rule is None:
            raise TVMError(f"a {type(expr).__name__} has no value; legal: expressions of Relay")
        return rule(self, expr)

    def var(self, expr: Var) -> Any:
        if expr.vid not in self.vars:
            raise TVMError(f"the variable %{expr.name_hint} has no value; legal: bound variables")
        return self.vars[expr.vid]

    def call(self, expr: Call) -> Any:
        args = [self.values[id(arg)] for arg in expr.args]
        callee = expr.op if isinstance(expr.op, Op) else self.values[id(expr.op)]
        if isinstance(callee, Op):
            return call_value(expr, args) if expr.op is callee else _plain(callee, args)
        return self.machine.apply(callee, args)

    def choice(self, expr: If) -> Any:
        cond = bool(np.asarray(self.eval(expr.cond)))
        return self.inner().eval(expr.true_branch if cond else expr.false_branch)

    def ref_write(self, expr: RefWrite) -> Any:
        self.values[id(expr.ref)].value = self.values[id(expr.value)]
        return ()

    def match(self, expr: Match) -> Any:
        data = self.eval(expr.data)
        for clause in expr.clauses:
            bound: dict[Node, Any] = {}
            if _fits(clause.lhs, data, bound):
                frame = self.inner()
                frame.vars.update(bound)
                return frame.eval(clause.rhs)
        raise TVMError(
            message("match: no clause fits", found=repr(data)[:200], legal="a clause a value")
        )


def _plain(op: Op, args: Sequence[Any]) -> Any:
    """An operator that was passed as a value."""
    return call_value(Call(op, [Var(f"x{at}") for at in range(len(args))]), args)


def _fits(pattern: Pattern, value: Any, bound: dict[Node, Any]) -> bool:
    if isinstance(pattern, PatternVar):
        bound[pattern.var.vid] = value
        return True
    if isinstance(pattern, PatternTuple):
        return all(_fits(p, v, bound) for p, v in zip(pattern.patterns, value))
    if isinstance(pattern, PatternConstructor):
        made = value.constructor
        same = made.belong_to == pattern.constructor.belong_to and value.tag == made.tag
        if not same or made.name_hint != pattern.constructor.name_hint:
            return False
        return all(_fits(p, v, bound) for p, v in zip(pattern.patterns, value.fields))
    return True


_STRICT: Final = (Call, Tuple, TupleGetItem, RefCreate, RefRead, RefWrite)

_RULES: Final[dict[type, Callable[[Frame, Any], Any]]] = {
    Constant: lambda f, e: e.data.numpy(),
    Var: Frame.var,
    GlobalVar: lambda f, e: f.machine.global_value(e),
    Op: lambda f, e: e,
    Constructor: lambda f, e: e,
    Tuple: lambda f, e: tuple([f.values[id(field)] for field in e.fields]),
    TupleGetItem: lambda f, e: f.values[id(e.tuple_value)][e.index],
    Call: Frame.call,
    If: Frame.choice,
    Function: lambda f, e: Closure(e, f.vars),
    RefCreate: lambda f, e: RefValue(f.values[id(e.value)]),
    RefRead: lambda f, e: f.values[id(e.ref)].value,
    RefWrite: Frame.ref_write,
    Match: Frame.match,
}


class Machine:
    """Evaluates expressions over the functions of a module."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod

    def eval(self, expr: RelaxExpr, variables: Mapping[Node, Any] | None = None) -> Any:
        """The value of an expression for values of its free variables."""
        return Frame(self, variables or {}).eval(expr)

    def global_value(self, var: GlobalVar) -> Any:
        """A function of the module as a value."""
        func = self.mod[var.name_hint]
        if not isinstance(func, Function):
            raise TVMError(f"@{var.name_hint} is a {type(func).__name__}; legal: Relay functions")
        return Closure(func, {})

    def apply(self, callee: Any, args: Sequence[Any]) -> Any:
        """The result of a function or a constructor for arguments."""
        if isinstance(callee, Constructor):
            return ConstructorValue(callee.tag, args, callee)
        if isinstance(callee, RelaxExpr):
            callee = self.eval(callee)
        if not isinstance(callee, Closure):
            raise TVMError(f"a {type(callee).__name__} is called; legal: functions, constructors")
        params = callee.func.params
        if len(args) != len(params):
            raise TVMError(
                f"a function of {len(params)} parameters is called with {len(args)} arguments"
            )
        frame = Frame(self, callee.vars)
        frame.vars.update({param.vid: arg for param, arg in zip(params, args)})
        return frame.eval(callee.func.body)
