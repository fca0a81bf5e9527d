"""Reshapes that do nothing go, and of several in a row the last one stays.

    lv = reshape(x, (6,))
    lv1 = reshape(lv, (2, 3))     ->     lv1 = reshape(x, (2, 3))
    lv2 = reshape(lv1, (2, 3))           gv = add(lv1, lv1)
    gv = add(lv2, lv2)
"""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.relax.expr import Call, Function, Var, is_call_of
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.tidy import tidy_rewritten, tidy_untouched


@relax_pass("RemoveRedundantReshape")
def RemoveRedundantReshape(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """No reshape has the shape of its operand, or a reshape as its operand."""
    new = _Remover().visit_expr(func)
    assert isinstance(new, Function), "functions stay functions"
    return tidy_untouched(func) if new is func else tidy_rewritten(new)


class _Remover(PyExprMutator):
    def visit_call_(self, op: Call) -> RelaxExpr:
        new = super().visit_call_(op)
        if not is_call_of(new, "relax.reshape"):
            return new
        assert isinstance(new, Call), "it was looked at"
        data = new.args[0]
        before = self.lookup_binding(data) if isinstance(data, Var) else data
        while is_call_of(before, "relax.reshape"):
            assert isinstance(before, Call), "it was looked at"
            data = before.args[0]
            new = Call(new.op, [data, new.args[1]], new.attrs, new.sinfo_args, new.span)
            before = self.lookup_binding(data) if isinstance(data, Var) else data
        new = self.builder_.normalize(new)
        return data if _same_shape(data, new) else new


def _same_shape(a: RelaxExpr, b: RelaxExpr) -> bool:
    mine, theirs = a.struct_info_, b.struct_info_
    if not (isinstance(mine, TensorStructInfo) and isinstance(theirs, TensorStructInfo)):
        return False
    if mine.shape is None or theirs.shape is None:
        return False
    return structural_equal(mine.shape, theirs.shape)
