"""Give parameters other struct info, and derive what follows from it anew.

    UpdateParamStructInfo(lambda var: TensorStructInfo((4,), "float16") if ... else None)

    def f(x: Tensor((4,), "float32")):              def f(x: Tensor((4,), "float16")):
        y: Tensor((4,), "float32") = R.exp(x)  ->       y: Tensor((4,), "float16") = R.exp(x)

Parameters for which the function gives None stay; those of local functions are asked about too.
"""

from __future__ import annotations

from collections.abc import Callable

from tvm.ir.expr import GlobalVar, RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.relax.analysis.recursion import callees_first
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Function, Var
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.struct_info import FuncStructInfo
from tvm.relax.transform.pass_form import relax_module_pass


@relax_module_pass("UpdateParamStructInfo", opt_level=1)
def UpdateParamStructInfo(
    mod: IRModule, ctx: PassContext, sinfo_func: Callable[[Var], StructInfo | None]
) -> IRModule:
    """Ask `sinfo_func` about every parameter of every Relax function.

    Callees come first, so that calls have the struct info of what is called now; functions that
    call each other in a circle start from the results that they had, until these stay.
    """
    bb = BlockBuilder(mod)
    updater = _Updater(mod, sinfo_func)
    for group in callees_first(mod):
        for var in group:
            updater.announce(var)
        for _ in range(len(group) + 1):
            if not any([updater.update(bb, var) for var in group]):
                break
    return bb.get()


class _Updater(PyExprMutator):
    def __init__(self, mod: IRModule, rule: Callable[[Var], StructInfo | None]) -> None:
        super().__init__(mod)
        self._before = mod
        self._rule = rule
        self._changed: set[GlobalVar] = set()
        self._params: dict[GlobalVar, list[Var]] = {}

    def announce(self, var: GlobalVar) -> None:
        """Give a function's variable the new parameters, and for now the result as it was."""
        func = self._before[var]
        assert isinstance(func, Function), "the order is that of Relax functions"
        self._params[var] = params = [self._param(param) for param in func.params]
        if any(new is not old for new, old in zip(params, func.params)):
            infos = [param.struct_info for param in params]
            var.struct_info_ = FuncStructInfo(infos, func.ret_struct_info, func.is_pure)
            self._changed.add(var)

    def update(self, bb: BlockBuilder, var: GlobalVar) -> bool:
        """Infer a function anew; True if its callers see another signature than before."""
        before = self._before[var]
        assert isinstance(before, Function), "the order is that of Relax functions"
        new = self._function(before, self._params[var])
        if new is before:
            return False
        old = var.struct_info_
        bb.update_func(var, new)
        if structural_equal(old, var.struct_info_):
            return False
        self._changed.add(var)
        return True

    def _param(self, param: Var) -> Var:
        info = self._rule(param)
        return param if info is None else Var(param.name_hint, info, param.span)

    def _function(self, op: Function, params: list[Var]) -> Function:
        same = all(a is b for a, b in zip(params, op.params))
        for old, new in zip(op.params, params):
            self.set_var_remap(old.vid, new)
        body = self.visit_with_new_scope(op.body, params)
        if same and body is op.body:
            return op
        return Function(params, body, None, op.is_pure, op.attrs, op.span)

    def visit_function_(self, op: Function) -> RelaxExpr:
        """Parameters of local functions are asked about as well."""
        return self._function(op, [self._param(param) for param in op.params])

    def visit_call_(self, op: Call) -> RelaxExpr:
        call = super().visit_call_(op)
        if call is op and op.op in self._changed:
            return Call(op.op, op.args, op.attrs, op.sinfo_args, op.span)
        return call
