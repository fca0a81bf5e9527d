"""Give parameters other struct info, and derive what follows from it anew.

    UpdateParamStructInfo(lambda var: TensorStructInfo((4,), "float16") if ... else None)

    def f(x: Tensor((4,), "float32")):              def f(x: Tensor((4,), "float16")):
        y: Tensor((4,), "float32") = R.exp(x)  ->       y: Tensor((4,), "float16") = R.exp(x)

Parameters for which the function gives None stay.
"""

from __future__ import annotations

from collections.abc import Callable

from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Function, Var
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.transform.pass_form import relax_module_pass


@relax_module_pass("UpdateParamStructInfo", opt_level=1)
def UpdateParamStructInfo(
    mod: IRModule, ctx: PassContext, sinfo_func: Callable[[Var], StructInfo | None]
) -> IRModule:
    """Ask `sinfo_func` about every parameter of every Relax function."""
    bb = BlockBuilder(mod)
    for var, func in mod.functions_items():
        if isinstance(func, Function):
            new = _Updater(mod, sinfo_func).visit_expr(func)
            assert isinstance(new, Function), "a function stays one"
            if new is not func:
                bb.update_func(var, new)
    return bb.get()


class _Updater(PyExprMutator):
    def __init__(self, mod: IRModule, rule: Callable[[Var], StructInfo | None]) -> None:
        super().__init__(mod)
        self._rule = rule

    def visit_function_(self, op: Function) -> RelaxExpr:
        params = []
        for param in op.params:
            info = self._rule(param)
            new = param if info is None else Var(param.name_hint, info, param.span)
            if new is not param:
                self.set_var_remap(param.vid, new)
            params.append(new)
        if all(a is b for a, b in zip(params, op.params)):
            return super().visit_function_(op)
        body = self.visit_with_new_scope(op.body, params)
        return Function(params, body, None, op.is_pure, op.attrs, op.span)
