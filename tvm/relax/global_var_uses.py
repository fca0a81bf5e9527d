"""What a module does to uses of its functions: other names, and stand-ins for a while."""

from __future__ import annotations

from collections.abc import Mapping

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.function import BaseFunc
from tvm.ir.replace_global_vars import RENAMERS, SUCCESSORS
from tvm.ir.transform import STAND_INS

from .expr import Call, ExternFunc, Function
from .expr_functor import PyExprMutator


class _Renamer(PyExprMutator):
    def __init__(self, mapping: Mapping[GlobalVar, GlobalVar]) -> None:
        super().__init__()
        self._mapping = mapping

    def visit_global_var_(self, op: GlobalVar) -> RelaxExpr:
        return self._mapping.get(op, op)


def rename_uses(func: BaseFunc, mapping: Mapping[GlobalVar, GlobalVar]) -> BaseFunc:
    """The function with other functions of the module in place of those it uses."""
    assert isinstance(func, Function), "found by its type key"
    new = _Renamer(mapping).visit_expr(func)
    assert isinstance(new, Function), "functions stay functions"
    return new


class _Successor(_Renamer):
    """The variables that follow have the signatures that calls were inferred with."""

    def visit_call_(self, op: Call) -> RelaxExpr:
        call = super().visit_call_(op)
        if call is not op:
            call.struct_info_ = op.struct_info_
        return call


def follow_uses(func: BaseFunc, mapping: Mapping[GlobalVar, GlobalVar]) -> BaseFunc:
    """The function with the successors of the variables that it uses."""
    assert isinstance(func, Function), "found by its type key"
    new = _Successor(mapping).visit_expr(func)
    assert isinstance(new, Function), "functions stay functions"
    return new


def stand_in(var: GlobalVar) -> BaseFunc:
    """A function that nobody can look into, with the signature of the one that it stands for."""
    return ExternFunc(f"dummy_{var.name_hint}", var.struct_info_)


RENAMERS[Function.TYPE_KEY] = rename_uses
SUCCESSORS[Function.TYPE_KEY] = follow_uses
STAND_INS[Function.TYPE_KEY] = stand_in
