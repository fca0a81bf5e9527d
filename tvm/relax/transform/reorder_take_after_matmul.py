"""Columns of weights are chosen after the product with all of them.

    w = take(weights, indices, axis=1)            lv = matmul(x, weights)
    y = matmul(x, w)                       ->     y = take(lv, indices, axis=1)

So the weights need not be copied. Only a choice along the last axis by a vector is moved.
"""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.dpl import DFPattern, is_op, rewrite_call, wildcard
from tvm.relax.expr import Call, Function, Var
from tvm.relax.op import matmul, take
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import all_bindings


@relax_pass("ReorderTakeAfterMatmul")
def ReorderTakeAfterMatmul(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """No matmul has chosen columns as its right operand."""
    values = {b.var: b.value for b in all_bindings(func) if hasattr(b, "value")}
    lhs, weights, indices = wildcard(), wildcard(), wildcard()
    chosen = is_op("relax.take")(weights, indices)

    def reorder(expr: RelaxExpr, found: dict[DFPattern, RelaxExpr]) -> RelaxExpr:
        choice = found[chosen]
        choice = values.get(choice, choice) if isinstance(choice, Var) else choice
        left, table, which = (_info(found[one]) for one in (lhs, weights, indices))
        if not isinstance(choice, Call) or left is None or table is None or which is None:
            return expr
        axis = choice.attrs.axis  # type: ignore[union-attr]
        if axis is None or table.ndim < 2 or left.ndim < 1 or which.ndim != 1:
            return expr
        if int(axis) % table.ndim != table.ndim - 1:
            return expr
        assert isinstance(expr, Call), "the pattern is a call"
        kind = expr.attrs.out_dtype  # type: ignore[union-attr]
        rank = _info(expr)
        assert rank is not None, "products are tensors"
        every = matmul(found[lhs], found[weights], out_dtype=kind)
        return take(every, found[indices], axis=rank.ndim - 1)

    return rewrite_call(is_op("relax.matmul")(lhs, chosen), reorder, func)


def _info(expr: RelaxExpr) -> TensorStructInfo | None:
    info = expr.struct_info_
    return info if isinstance(info, TensorStructInfo) else None
