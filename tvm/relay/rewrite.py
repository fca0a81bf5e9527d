"""Substitutions in expressions and types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.ir.expr import OPERATORS, RelaxExpr
from tvm.ir.node import Node
from tvm.ir.type import TupleType, Type
from tvm.ir.type_relation import TypeCall
from tvm.support.arguments import explained

from .expr import Var, operand
from .function import Function
from .traverse import transform
from .ty import FuncType, RefType
from .variables import free_type_vars, free_vars


@explained
def bind(expr: RelaxExpr, binds: Mapping[Var, RelaxExpr]) -> RelaxExpr:
    """`expr` with values for some variables; a function's bound parameters disappear.

    Variables that become free are added to the parameters, as do their type variables.
    """
    expr = operand(expr, "bind")
    for var in binds:
        if not isinstance(var, Var):
            raise TypeError(f"bind: a {type(var).__name__} gets a value; legal: variables")
    given = {var.vid: operand(value, "bind") for var, value in binds.items()}
    if not isinstance(expr, Function):
        return substitute(expr, given)
    body = substitute(expr.body, given)
    params = [param for param in expr.params if param.vid not in given]
    if body is expr.body and len(params) == len(expr.params):
        return expr
    known = {param.vid for param in params}
    params += [var for var in free_vars(body) if var.vid not in known and var.vid in _ids(given)]
    made = Function(params, body, expr.ret_type, (), expr.attrs, expr.span)
    kept = [var for var in expr.type_params if var in free_type_vars(made)]
    return Function(params, body, expr.ret_type, kept, expr.attrs, expr.span)


def _ids(given: Mapping[Any, RelaxExpr]) -> set[Node]:
    """What the substituted values bring along."""
    return {var.vid for value in given.values() for var in free_vars(value)}


def substitute(expr: RelaxExpr, given: Mapping[Any, RelaxExpr]) -> RelaxExpr:
    """`expr` with values for variables, by their ids."""

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        return given.get(new.vid, new) if isinstance(new, Var) else new

    return transform(expr, rule) if given else expr


def substitute_types(root: Type, given: Mapping[Type, Type]) -> Type:
    """`root` with types for type variables."""
    found = given.get(root)
    if found is not None:
        return found
    if isinstance(root, TupleType):
        fields = [substitute_types(field, given) for field in root.fields]
        same = all(a is b for a, b in zip(fields, root.fields))
        return root if same else TupleType(fields, root.span)
    if isinstance(root, FuncType):
        arg_types = [substitute_types(arg, given) for arg in root.arg_types]
        ret = substitute_types(root.ret_type, given)
        if ret is root.ret_type and all(a is b for a, b in zip(arg_types, root.arg_types)):
            return root
        left = [var for var in root.type_params if var not in given]
        return FuncType(arg_types, ret, left, root.type_constraints, root.span)
    if isinstance(root, RefType):
        value = substitute_types(root.value, given)
        return root if value is root.value else RefType(value, root.span)
    if isinstance(root, TypeCall):
        args = [substitute_types(arg, given) for arg in root.args]
        same = all(a is b for a, b in zip(args, root.args))
        return root if same else TypeCall(root.func, args, root.span)
    return root


def as_function(expr: RelaxExpr) -> Function:
    """A function of the free variables of `expr`."""
    return Function(free_vars(expr), expr)


OPERATORS["relay"]["as_function"] = as_function
