"""Fewer transpositions in gradient functions, whose rules write one for each product.

    b = permute_dims(a)                               c = a
    c = permute_dims(b)                  ->

    c = matmul(a, b)                                  lv = permute_dims(b)
    d = permute_dims(c)                  ->           lv1 = permute_dims(a)
                                                      d = matmul(lv, lv1)

So the transpositions meet, and cancel: the gradient of a product of transposed weights is one
product. Only the exchange of the last two dimensions counts.
"""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.relax.expr import Call, DataflowVar, Function, Var, VarBinding
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.op import matmul, permute_dims
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.dead_code_elimination import remove_unused_bindings


def simplified(func: Function) -> Function:
    """The function with products of transposed operands instead of transposed products."""
    new = _Simplifier().visit_expr(func)
    assert isinstance(new, Function), "a function stays one"
    return func if new is func else remove_unused_bindings(new)


class _Simplifier(PyExprMutator):
    def visit_var_binding_(self, binding: VarBinding) -> None:
        value = self.visit_expr(binding.value)
        cancelled = isinstance(binding.value, Call) and isinstance(binding.var, DataflowVar)
        if cancelled and isinstance(value, Var):
            self.set_var_remap(binding.var.vid, value)
        else:
            self.reemit_binding(binding, value)

    def visit_call_(self, op: Call) -> RelaxExpr:
        call = super().visit_call_(op)
        if not _is_transposition(call):
            return call
        assert isinstance(call, Call), "asked above"
        before = self._value(call.args[0])
        if before is not None and _is_transposition(before):
            return before.args[0]
        if before is None or not _is_product(before):
            return call
        a, b = before.args
        kind = str(before.attrs.out_dtype)  # type: ignore[union-attr]
        made = matmul(self._transposed(b), self._transposed(a), out_dtype=kind)
        made.span = call.span
        return made

    def _value(self, operand: RelaxExpr) -> Call | None:
        """The call that an operand is the result of."""
        found = self.lookup_binding(operand) if isinstance(operand, Var) else operand
        return found if isinstance(found, Call) else None

    def _transposed(self, operand: RelaxExpr) -> RelaxExpr:
        before = self._value(operand)
        if before is not None and _is_transposition(before):
            return before.args[0]
        ndim = _ndim(operand)
        return permute_dims(operand, axes=[*range(ndim - 2), ndim - 1, ndim - 2])


def _ndim(expr: RelaxExpr) -> int:
    info = expr.struct_info_
    return info.ndim if isinstance(info, TensorStructInfo) else -1


def _name(expr: RelaxExpr) -> str:
    return expr.op.name if isinstance(expr, Call) and isinstance(expr.op, Op) else ""


def _is_product(call: Call) -> bool:
    return _name(call) == "relax.matmul" and all(_ndim(arg) >= 2 for arg in call.args)


def _is_transposition(expr: RelaxExpr) -> bool:
    """Whether the last two dimensions are swapped, and no others."""
    if _name(expr) != "relax.permute_dims":
        return False
    assert isinstance(expr, Call), "it has a name"
    ndim = _ndim(expr.args[0])
    if ndim < 2:
        return False
    axes = expr.attrs.axes  # type: ignore[union-attr]
    order = list(range(ndim))[::-1] if axes is None else [int(axis) % ndim for axis in axes]
    return order == [*range(ndim - 2), ndim - 1, ndim - 2]
