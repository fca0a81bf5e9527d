"""Does an expression have effects, beyond its value?"""

from __future__ import annotations

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.op import Op
from tvm.relax.expr import Call, Function, Var
from tvm.relax.expr_functor import PyExprVisitor
from tvm.relax.struct_info import FuncStructInfo
from tvm.support.arguments import explained


def is_impure_call(call: Call) -> bool:
    """True for a call of something that is not known to be pure."""
    callee = call.op
    if isinstance(callee, Op):
        pure = callee.get_attr("FPurity")
        return pure is not None and not pure
    info = callee.struct_info_
    return not (isinstance(info, FuncStructInfo) and info.purity)


class _Impure(PyExprVisitor):
    def __init__(self, own_name: Var | GlobalVar | None) -> None:
        self.own_name = own_name
        self.found: Call | None = None

    def visit_function_(self, op: Function) -> None:
        """A function that is made within does nothing until it is called."""

    def visit_call_(self, op: Call) -> None:
        if self.found is None and not self._is_own(op.op) and is_impure_call(op):
            self.found = op
        super().visit_call_(op)

    def _is_own(self, callee: RelaxExpr) -> bool:
        own = self.own_name
        if isinstance(own, Var) and isinstance(callee, Var):
            return callee.vid is own.vid
        return own is not None and callee is own


def find_impure_call(
    expr: RelaxExpr, own_name: Var | GlobalVar | None = None
) -> Call | None:
    """The first impure call in the expression, or None; calls of `own_name` do not count."""
    if isinstance(expr, Call) and all(not isinstance(a, Call) for a in expr.args):
        own = own_name is not None and expr.op is own_name
        return expr if is_impure_call(expr) and not own else None
    walk = _Impure(own_name)
    walk.visit_expr(expr.body if isinstance(expr, Function) else expr)
    return walk.found


@explained
def contains_impure_call(
    expr: RelaxExpr, own_name: Var | GlobalVar | None = None
) -> bool:
    """True when evaluating the expression (calling it, for a function) may have an effect.

    `own_name` is the name of the expression itself, a recursive function: its calls do not count.
    """
    return find_impure_call(expr, own_name) is not None
