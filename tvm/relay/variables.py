"""Variables of Relay expressions and types: all, bound, free."""

from __future__ import annotations

from collections.abc import Iterator

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.type import TupleType, Type
from tvm.ir.type_relation import TypeCall, TypeRelation

from .adt import Match, Pattern, TypeData, pattern_vars
from .expr import Call, Constant, Let, Var
from .function import Function
from .traverse import children, post_order
from .ty import FuncType, RefType, TypeVar


def all_vars(expr: RelaxExpr | Pattern) -> list[Var]:
    """Every variable, in the order of its first appearance."""
    if isinstance(expr, Pattern):
        return list(pattern_vars(expr))
    found: dict[Node, Var] = {}
    for node in _pre_order(expr):
        for var in _vars_of(node):
            found.setdefault(var.vid, var)
    return list(found.values())


def _vars_of(node: RelaxExpr) -> list[Var]:
    if isinstance(node, Var):
        return [node]
    if isinstance(node, Match):
        return [var for clause in node.clauses for var in pattern_vars(clause.lhs)]
    return []


def _pre_order(root: RelaxExpr) -> Iterator[RelaxExpr]:
    seen: set[int] = set()
    stack = [root]
    while stack:
        expr = stack.pop()
        if id(expr) in seen:
            continue
        seen.add(id(expr))
        yield expr
        stack.extend(reversed(children(expr)))


def bound_vars(expr: RelaxExpr | Pattern) -> list[Var]:
    """The variables that functions, lets and patterns inside bind."""
    if isinstance(expr, Pattern):
        return list(pattern_vars(expr))
    found: dict[Node, Var] = {}
    for node in _pre_order(expr):
        bound: list[Var] = []
        if isinstance(node, Function):
            bound = list(node.params)
        elif isinstance(node, Let):
            bound = [node.var]
        elif isinstance(node, Match):
            bound = _vars_of(node)
        for var in bound:
            found.setdefault(var.vid, var)
    return list(found.values())


def free_vars(expr: RelaxExpr) -> list[Var]:
    """The variables that nothing inside binds, in the order of their first use.

    A well-formed program binds a variable once, so what is bound anywhere is not free.
    """
    bound = {var.vid for var in bound_vars(expr)}
    found: dict[Node, Var] = {}
    for node in post_order(expr):
        if isinstance(node, Var) and node.vid not in bound:
            found.setdefault(node.vid, node)
    return list(found.values())


def types_in(expr: RelaxExpr) -> Iterator[Type]:
    """The types that are written down in an expression."""
    for node in _pre_order(expr):
        if isinstance(node, Var) and node.type_annotation is not None:
            yield node.type_annotation
        elif isinstance(node, Function):
            yield from [t for t in (*node.type_params, node.ret_type) if t is not None]
        elif isinstance(node, Call):
            yield from node.type_args
        elif isinstance(node, Constant):
            yield node.tensor_type


def parts_of_type(root: Type) -> Iterator[Type]:
    """A type and all types inside, from the outside in."""
    stack: list[Type] = [root]
    while stack:
        item = stack.pop()
        yield item
        inside: tuple[Type, ...] = ()
        if isinstance(item, TupleType):
            inside = item.fields
        elif isinstance(item, FuncType):
            inside = (*item.type_params, *item.type_constraints, *item.arg_types, item.ret_type)
        elif isinstance(item, RefType):
            inside = (item.value,)
        elif isinstance(item, TypeCall):
            inside = (item.func, *item.args)
        elif isinstance(item, TypeRelation):
            inside = item.args
        elif isinstance(item, TypeData):
            inside = (
                *item.type_vars, *[t for made in item.constructors for t in made.inputs],
            )  # fmt: skip
        stack.extend(reversed(inside))


def _types(node: RelaxExpr | Type) -> Iterator[Type]:
    for root in (node,) if isinstance(node, Type) else types_in(node):
        yield from parts_of_type(root)


def all_type_vars(expr: RelaxExpr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """Every type variable, in the order of its first appearance."""
    return list(dict.fromkeys(t for t in _types(expr) if isinstance(t, TypeVar)))


def bound_type_vars(expr: RelaxExpr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """The type variables that functions, function types and data types inside bind."""
    found: dict[TypeVar, None] = {}
    if isinstance(expr, RelaxExpr):
        for inner in _pre_order(expr):
            if isinstance(inner, Function):
                found.update(dict.fromkeys(inner.type_params))
    for item in _types(expr):
        if isinstance(item, FuncType):
            found.update(dict.fromkeys(item.type_params))
        elif isinstance(item, TypeData):
            found.update(dict.fromkeys(item.type_vars))
    return list(found)


def free_type_vars(expr: RelaxExpr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """The type variables that nothing inside binds."""
    bound = set(bound_type_vars(expr))
    return [var for var in all_type_vars(expr) if var not in bound]
