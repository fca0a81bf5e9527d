"""Calls of other functions of the module: which there are, and under other names."""

from __future__ import annotations

from collections.abc import Mapping

from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.function import BaseFunc
from tvm.ir.replace_global_vars import RENAMERS

from .expr import Call
from .function import PrimFunc
from .functor import StmtExprMutator, walk


class _Renamer(StmtExprMutator):
    def __init__(self, mapping: Mapping[GlobalVar, GlobalVar]) -> None:
        super().__init__()
        self._mapping = mapping

    def visit_call_(self, op: Call) -> PrimExpr:
        call = super().visit_call_(op)
        assert isinstance(call, Call), "calls stay calls"
        callee = call.op
        if not isinstance(callee, GlobalVar) or callee not in self._mapping:
            return call
        return Call(call.dtype, self._mapping[callee], call.args, call.span)


def rename_calls(func: BaseFunc, mapping: Mapping[GlobalVar, GlobalVar]) -> BaseFunc:
    """The PrimFunc with its calls renamed."""
    assert isinstance(func, PrimFunc), "found by its type key"
    return func.with_body(_Renamer(mapping).visit_stmt(func.body))


def called_functions(func: PrimFunc) -> list[GlobalVar]:
    """The functions that a PrimFunc calls, each once, in order."""
    calls = (node for node in walk(func) if isinstance(node, Call))
    return list(dict.fromkeys(call.op for call in calls if isinstance(call.op, GlobalVar)))


RENAMERS["tir.PrimFunc"] = rename_calls
