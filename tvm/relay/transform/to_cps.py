"""Functions that never return: each hands its result to a continuation, which it is given last.

    fn (%x: int32) -> int32 { @f(%x) }
    ->
    fn [A](%x: int32, %k: fn (int32) -> A) -> A { @f_cps(%x, %k) }

Operators, constructors and kernels are called as before. `un_cps` gives such a function its direct
form again. (A. Appel: Compiling with Continuations, 1992.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm.error import TVMError
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.ir.type import Type
from tvm.relay.adt import Clause, Constructor, Match, map_pattern_vars
from tvm.relay.expr import Call, If, Let, Var
from tvm.relay.function import Function
from tvm.relay.traverse import children, rebuild
from tvm.relay.ty import FuncType, TypeVar
from tvm.relay.type_functor import TypeMutator
from tvm.support.recursion import nested_programs

from .normal_forms import ToANormalFormExpr

_Then = Callable[[RelaxExpr], RelaxExpr]


def ToCPS(expr: RelaxExpr, mod: IRModule | None = None) -> Function:
    """A function in continuation-passing form; see `to_cps`."""
    return to_cps(expr, mod)


def to_cps(func: RelaxExpr, mod: IRModule | None = None) -> Function:
    """The form of a function with types in which it takes a continuation.

    Functions of `mod` that it calls get such a form too; they are added to `mod`.
    """
    if not isinstance(func, Function):
        raise TVMError(f"to_cps: a {type(func).__name__} is given; legal: a function of Relay")
    with nested_programs():
        return _Converter(IRModule() if mod is None else mod).function(func)


def un_cps(func: Function) -> Function:
    """The function that a form with a continuation stands for: it gives what it would hand on."""
    if not isinstance(func, Function) or not func.params or not func.type_params:
        raise TVMError("un_cps: legal: a function that to_cps made")
    last = func.params[-1].type_annotation or func.params[-1].checked_type_
    if not isinstance(last, FuncType) or len(last.arg_types) != 1:
        raise TVMError("un_cps: the last parameter is no continuation; legal: what to_cps made")
    params = [Var(p.name_hint, p.type_annotation or p.checked_type_) for p in func.params[:-1]]
    kept = func.type_params[:-1]
    answer = last.arg_types[0]
    x = Var("x", answer)
    same = Function([x], x, answer)
    body = Call(func, [*params, same], None, [*kept, answer])
    return Function(params, body, answer, kept, func.attrs)


class _Continued(TypeMutator):
    """Types in which functions take what follows them."""

    def __init__(self, answer: TypeVar) -> None:
        super().__init__()
        self._answer = answer

    def visit_func_type(self, ft: FuncType) -> Any:
        args = [self.visit(arg) for arg in ft.arg_types]
        then = FuncType([self.visit(ft.ret_type)], self._answer)
        return FuncType([*args, then], self._answer, ft.type_params)


class _Converter:
    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.globals: dict[str, GlobalVar] = {}
        self.vars: dict[Node, Var] = {}
        self.answer = TypeVar("answer")

    def type(self, found: Type) -> Type:
        """A type in which functions take continuations."""
        new: Type = _Continued(self.answer).visit(found)
        return new

    def var(self, var: Var) -> Var:
        known = self.vars.get(var.vid)
        if known is None:
            found = var.checked_type_ or var.type_annotation
            known = self.vars[var.vid] = Var(
                var.name_hint, None if found is None else self.type(found), var.span
            )
        return known

    def function(self, func: Function) -> Function:
        """A function of the module, with an answer of any type."""
        outer, self.answer = self.answer, TypeVar("answer")
        made = self._inner(func, [*func.type_params, self.answer])
        self.answer = outer
        return made

    def _inner(self, func: Function, type_params: Sequence[TypeVar]) -> Function:
        if func.attrs.get("Primitive"):
            return func
        params = [self.var(param) for param in func.params]
        found: Any = func.checked_type_
        ret = found.ret_type if isinstance(found, FuncType) else func.ret_type
        if ret is None:
            raise TVMError("to_cps: a function without types; legal: after InferType")
        k = Var("k", FuncType([self.type(ret)], self.answer))
        body = self.scope(ToANormalFormExpr(func.body), lambda value: Call(k, [value]))
        return Function([*params, k], body, self.answer, type_params, func.attrs, func.span)

    def global_var(self, var: GlobalVar) -> GlobalVar:
        known = self.globals.get(var.name_hint)
        if known is None:
            func = self.mod[var.name_hint]
            if not isinstance(func, Function):
                raise TVMError(f"to_cps: @{var.name_hint} is no function of Relay")
            known = self.globals[var.name_hint] = GlobalVar(f"{var.name_hint}_cps")
            self.mod[known] = self.function(func)
        return known

    def scope(self, root: RelaxExpr, then: _Then) -> RelaxExpr:
        """Steps in order, and what is done with their value."""
        if not isinstance(root, Let):
            return self.step(root, then)
        var, body = self.var(root.var), root.body
        return self.step(
            root.value, lambda value: Let(var, value, self.scope(body, then), root.span)
        )

    def atom(self, expr: RelaxExpr) -> RelaxExpr:
        """What has a value without a step."""
        if isinstance(expr, Var):
            return self.vars.get(expr.vid, expr)
        if isinstance(expr, GlobalVar):
            return self.global_var(expr)
        if isinstance(expr, Function):
            return self._inner(expr, expr.type_params)
        parts = children(expr)
        return rebuild(expr, [self.atom(part) for part in parts]) if parts else expr

    def step(self, expr: RelaxExpr, then: _Then) -> RelaxExpr:
        if isinstance(expr, If):
            return self._named(then, lambda k: If(
                self.atom(expr.cond), self.scope(expr.true_branch, k),
                self.scope(expr.false_branch, k), expr.span,
            ))  # fmt: skip
        if isinstance(expr, Match):
            return self._named(then, lambda k: Match(
                self.atom(expr.data),
                [
                    Clause(map_pattern_vars(c.lhs, self.var), self.scope(c.rhs, k))
                    for c in expr.clauses
                ],
                expr.complete,
            ))  # fmt: skip
        if isinstance(expr, Call) and not _returns(expr.op):
            value = Var("v")
            rest = Function([value], then(value), self.answer)
            args = [self.atom(arg) for arg in expr.args]
            return Call(self.atom(expr.op), [*args, rest], expr.attrs, None, expr.span)
        return then(self.atom(expr))

    def _named(self, then: _Then, build: Callable[[_Then], RelaxExpr]) -> RelaxExpr:
        """What follows several branches is written once, as a function."""
        value, k = Var("v"), Var("k")
        rest = Function([value], then(value), self.answer)
        return Let(k, rest, build(lambda found: Call(k, [found])))


def _returns(callee: RelaxExpr) -> bool:
    """Whether a callee is called as before."""
    if isinstance(callee, Function):
        return bool(callee.attrs.get("Primitive"))
    return isinstance(callee, (Op, Constructor))
