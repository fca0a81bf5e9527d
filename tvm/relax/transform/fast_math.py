"""Functions that are costly to compute exactly become quicker ones with larger errors.

    gv = exp(x)    ->    gv = call_tir(cls.fast_exp, (x,), ...)

`softmax`, `exp`, `erf` and `tanh` have such a form, by `topi.nn.fast_softmax` and `topi.fast_*`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm import topi
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.expr import Call, Function
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.topi.nn.softmax import fast_softmax

_QUICK: Final[dict[str, Callable[..., Any]]] = {
    "relax.exp": topi.fast_exp,
    "relax.erf": topi.fast_erf,
    "relax.tanh": topi.fast_tanh,
}


class FastMathCodeGenerator(PyExprMutator):
    """Writes the kernels of the quicker functions into the module."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)

    def visit_call_(self, call: Call) -> RelaxExpr:
        new = super().visit_call_(call)
        if not isinstance(new, Call) or not isinstance(new.op, Op):
            return new
        if new.op.name == "relax.nn.softmax":
            axis = new.attrs.axis  # type: ignore[union-attr]
            return self.builder_.call_te(fast_softmax, new.args[0], axis)
        quick = _QUICK.get(new.op.name)
        return new if quick is None else self.builder_.call_te(quick, new.args[0])


@relax_module_pass("FastMathTransform")
def FastMathTransform(mod: IRModule, ctx: PassContext) -> IRModule:
    """No exact form is left of those functions."""
    generator = FastMathCodeGenerator(mod)
    for var, func in mod.functions_items():
        if isinstance(func, Function):
            new = generator.visit_expr(func)
            assert isinstance(new, Function), "functions stay functions"
            if new is not func:
                generator.builder_.update_func(var, new)
    return generator.builder_.get()
