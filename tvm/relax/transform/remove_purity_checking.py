"""Take back what only the check of purity needed, once purity matters no more.

    @R.function                                        @R.function
    def f(x):                                          def f(x):   # relax.force_pure
        y = R.call_pure_packed("g", x)       ->            y = R.call_packed("g", x)

Functions that are pure get the attribute `relax.force_pure`: they stay pure by promise, although
they may now hold calls that are not known to be.
"""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.expr import Call, Function
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.transform.pass_form import relax_pass

FORCE_PURE = "relax.force_pure"


@relax_pass("RemovePurityChecking")
def RemovePurityChecking(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Unwrap pure calls, and mark pure functions, local ones too."""
    new = _Unwrapper(mod).visit_expr(func)
    assert isinstance(new, Function), "a function stays one"
    return new


class _Unwrapper(PyExprMutator):
    def visit_function_(self, op: Function) -> RelaxExpr:
        new = super().visit_function_(op)
        assert isinstance(new, Function), "a function stays one"
        return new.with_attr(FORCE_PURE, True) if new.is_pure else new

    def visit_call_(self, op: Call) -> RelaxExpr:
        call = super().visit_call_(op)
        if not isinstance(call, Call) or not isinstance(call.op, Op):
            return call
        name = call.op.name
        if name in ("relax.call_pure_packed", "relax.call_inplace_packed"):
            return Call(call.args[0], call.args[1:], None, call.sinfo_args, call.span)
        if name == "relax.invoke_pure_closure":
            invoke = Op.get("relax.invoke_closure")
            return Call(invoke, call.args, None, call.sinfo_args, call.span)
        return call
