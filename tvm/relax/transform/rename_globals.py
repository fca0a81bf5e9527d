"""Other variables for the functions of a module, wherever they are mentioned."""

from __future__ import annotations

from collections.abc import Mapping

from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.relax.expr import Binding, Function, SeqExpr
from tvm.relax.transform.rebuild import map_bindings, replace_operands, with_body, with_value
from tvm.tir.expr import Call as TirCall
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator


def with_global_vars(mod: IRModule, renamed: Mapping[GlobalVar, GlobalVar]) -> IRModule:
    """The module with some global variables replaced, in Relax and TIR functions alike."""

    def on_binding(binding: Binding) -> tuple[Binding]:
        return (with_value(binding, replace_operands(binding.value, find)),)

    def find(expr: RelaxExpr) -> RelaxExpr | None:
        return renamed.get(expr) if isinstance(expr, GlobalVar) else None

    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if isinstance(func, Function):
            new = map_bindings(func, on_binding)
            body = replace_operands(new.body.body, find)
            if body is not new.body.body:
                seq = SeqExpr(new.body.blocks, body, new.body.span)
                seq.struct_info_ = new.body.struct_info_
                new = with_body(new, seq)
            functions[renamed.get(var, var)] = new
        elif isinstance(func, PrimFunc):
            functions[renamed.get(var, var)] = func.with_body(
                _TirRenamer(renamed).visit_stmt(func.body)
            )
        else:
            functions[renamed.get(var, var)] = func
    return mod.with_functions(functions)


class _TirRenamer(StmtExprMutator):
    def __init__(self, renamed: Mapping[GlobalVar, GlobalVar]) -> None:
        super().__init__()
        self._renamed = renamed

    def visit_call_(self, op: TirCall) -> PrimExpr:
        new = super().visit_call_(op)
        if isinstance(new, TirCall) and isinstance(new.op, GlobalVar) and new.op in self._renamed:
            return TirCall(new.dtype, self._renamed[new.op], new.args, new.span)
        return new
