"""The weights of a function are one tuple.

    def main(x, a, b):  # num_input: 1          def main(x, model_params):  # num_input: 1
        lv = add(x, a)                              a = model_params[0]
        gv = add(lv, b)                 ->          lv = add(x, a)
                                                    b = model_params[1]
                                                    gv = add(lv, b)

Functions without the attribute `num_input` stay as they are.
"""

from __future__ import annotations

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.expr import Binding, Call, Function, Tuple, TupleGetItem, Var
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.int_attrs import int_attr
from tvm.relax.struct_info import TupleStructInfo
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.private_calls import with_signatures
from tvm.relax.transform.rebuild import with_value
from tvm.relax.transform.settle import settled_module


@relax_module_pass("BundleModelParams", opt_level=1)
def BundleModelParams(
    mod: IRModule, ctx: PassContext, param_tuple_name: str | None = None
) -> IRModule:
    """Parameters after the first `num_input` are items of the last one, `model_params`.

    Calls of such functions within the module put their weights together.
    """
    changed: dict[GlobalVar, Function] = {}
    counts: dict[GlobalVar, int] = {}
    for var, func in mod.functions_items():
        if isinstance(func, Function) and "num_input" in func.attrs:
            counts[var] = _input_count(func)
            name = param_tuple_name or "model_params"
            changed[var] = bundle_model_params(func, counts[var], name)
    inputs_of = {var.name_hint: count for var, count in counts.items()}

    def on_call(binding: Binding, call: Call, callee: GlobalVar) -> list[Binding]:
        inputs = inputs_of[callee.name_hint]
        weights = Tuple(call.args[inputs:])
        weights.struct_info_ = TupleStructInfo([arg.struct_info for arg in weights.fields])
        args = [*call.args[:inputs], weights]
        new = Call(callee, args, call.attrs, call.sinfo_args, call.span)
        new.struct_info_ = call.struct_info_
        return [with_value(binding, new)]

    return settled_module(mod, with_signatures(mod, changed, on_call))


def _input_count(func: Function) -> int:
    inputs = int_attr(func, "num_input")
    if not 0 <= inputs <= len(func.params):
        raise CheckError(
            message(
                "BundleModelParams: the attribute num_input",
                found=f"{inputs}, of a function with {len(func.params)} parameters",
                legal=f"0 ... {len(func.params)}",
            )
        )
    return inputs


def bundle_model_params(func: Function, inputs: int, name: str) -> Function:
    """The function with all parameters after the first `inputs` as items of one."""
    weights = func.params[inputs:]
    info = TupleStructInfo([weight.struct_info for weight in weights])
    bundle = Var(name, info)
    params = [*func.params[:inputs], bundle]
    ret = func.ret_struct_info
    bundled = Function(params, func.body, ret, func.is_pure, func.attrs, func.span)
    new = _Items({weight: i for i, weight in enumerate(weights)}, bundle).visit_expr(bundled)
    assert isinstance(new, Function), "functions stay functions"
    return new


class _Items(PyExprMutator):
    """Takes a weight out of the tuple where it is read."""

    def __init__(self, indices: dict[Var, int], bundle: Var) -> None:
        super().__init__()
        self._indices, self._bundle = indices, bundle

    def visit_var_(self, op: Var) -> RelaxExpr:
        index = self._indices.get(op)
        if index is None:
            return super().visit_var_(op)
        return self.builder_.emit(TupleGetItem(self._bundle, index, op.span), op.name_hint)
