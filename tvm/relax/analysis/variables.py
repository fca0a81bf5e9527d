"""Which variables and symbols an expression uses, binds and leaves free."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.relax.expr import (
    Binding,
    Call,
    Constant,
    DataflowVar,
    Function,
    MatchCast,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.expr_functor import PyExprVisitor
from tvm.relax.struct_info import FuncStructInfo
from tvm.relax.struct_info_rules import definable_tir_vars_in_struct_info, tir_vars_in
from tvm.support.arguments import explained
from tvm.tir import expr as tir


class _Variables(PyExprVisitor):
    """Collects variables in the order in which the walk meets them, each once."""

    def __init__(self) -> None:
        self.seen: dict[Var, None] = {}
        self.bound: dict[Var, None] = {}
        self.globals: dict[GlobalVar, None] = {}
        self._bound_ids: set[Any] = set()

    def visit_var_(self, op: Var) -> None:
        self.seen.setdefault(op)

    def visit_dataflow_var_(self, op: DataflowVar) -> None:
        self.visit_var_(op)

    def visit_var_def_(self, var: Var) -> None:
        self.seen.setdefault(var)
        self.bound.setdefault(var)
        self._bound_ids.add(var.vid)
        if var.struct_info_ is not None:
            self.visit_struct_info(var.struct_info_)

    def visit_global_var_(self, op: GlobalVar) -> None:
        self.globals.setdefault(op)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        self.visit_var_def(binding.var)  # a local function may call itself
        self.visit_expr(binding.value)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        self.visit_var_def(binding.var)
        super().visit_match_cast_(binding)

    def free(self) -> list[Var]:
        """The variables that are not bound within, one of each id."""
        found: dict[Any, Var] = {}
        for var in self.seen:
            if var.vid not in self._bound_ids:
                found.setdefault(var.vid, var)
        return list(found.values())


def _variables(expr: RelaxExpr) -> _Variables:
    walk = _Variables()
    walk.visit_expr(expr)
    return walk


@explained
def bound_vars(expr: RelaxExpr) -> list[Var]:
    """The variables that the expression binds, parameters first."""
    return list(_variables(expr).bound)


@explained
def free_vars(expr: RelaxExpr) -> list[Var]:
    """The variables that the expression uses and does not bind."""
    return _variables(expr).free()


@explained
def all_vars(expr: RelaxExpr) -> list[Var]:
    """All variables of the expression, in the order in which they are met."""
    return list(_variables(expr).seen)


@explained
def all_global_vars(expr: RelaxExpr) -> list[GlobalVar]:
    """The functions of the module that the expression names."""
    return list(_variables(expr).globals)


class _Symbols(PyExprVisitor):
    """Collects symbols that are used, and those that parameters and casts define."""

    def __init__(self) -> None:
        self.used: dict[tir.Var, None] = {}
        self.defined: dict[tir.Var, None] = {}

    def visit_prim_expr(self, expr: PrimExpr) -> None:
        for var in tir_vars_in([expr]):
            self.used.setdefault(var)

    def visit_struct_info(self, info: StructInfo) -> None:
        if not isinstance(info, FuncStructInfo):
            super().visit_struct_info(info)

    def visit_var_def_(self, var: Var) -> None:
        if var.struct_info_ is not None:
            self.visit_struct_info(var.struct_info_)

    def visit_function_(self, op: Function) -> None:
        for param in op.params:
            if param.struct_info_ is not None:
                self.define(param.struct_info_)
        super().visit_function_(op)
        self.visit_struct_info(op.ret_struct_info)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        self.define(binding.struct_info)
        super().visit_match_cast_(binding)

    def visit_constant_(self, op: Constant) -> None:
        if op.struct_info_ is not None:
            self.visit_struct_info(op.struct_info_)

    def define(self, info: StructInfo) -> None:
        for var in definable_tir_vars_in_struct_info(info):
            self.defined.setdefault(var)


@explained
def defined_symbolic_vars(func: Function) -> list[tir.Var]:
    """The symbols that the function's parameters and casts define."""
    walk = _Symbols()
    walk.visit_expr(func)
    return list(walk.defined)


@explained
def free_symbolic_vars(func: RelaxExpr) -> list[tir.Var]:
    """The symbols that the function, or an expression, uses and does not define."""
    walk = _Symbols()
    walk.visit_expr(func)
    return [var for var in walk.used if var not in walk.defined]


def used_symbolic_vars(expr: RelaxExpr) -> list[tir.Var]:
    """All symbols that the expression uses."""
    walk = _Symbols()
    walk.visit_expr(expr)
    return list(walk.used)


class _PostOrder(PyExprVisitor):
    def __init__(self, fvisit: Callable[[Any], object]) -> None:
        self.fvisit = fvisit
        self.done: set[int] = set()

    def visit_expr(self, expr: RelaxExpr) -> None:
        if id(expr) in self.done:
            return
        if isinstance(expr, (Call, Tuple, TupleGetItem)):
            self.done.add(id(expr))  # operands in common: a graph may have very many paths
        super().visit_expr(expr)
        self.fvisit(expr)


@explained
def post_order_visit(expr: RelaxExpr, fvisit: Callable[[Any], object]) -> None:
    """Call `fvisit` on each expression in `expr`, operands before their user.

    A leaf is visited in each place where it stands, as a variable that is read twice; calls and
    tuples once.
    """
    _PostOrder(fvisit).visit_expr(expr)


def uses_of(binding: Binding) -> list[Var]:
    """The variables that the value of a binding uses from outside."""
    value = binding.value
    if isinstance(value, Var):
        return [value]
    if isinstance(value, Call) and all(isinstance(arg, Var) for arg in value.args):
        found: dict[Any, Var] = {arg.vid: arg for arg in value.args if isinstance(arg, Var)}
        if not isinstance(value.op, Var) and not value.sinfo_args:
            return list(found.values())
    return free_vars(value)
