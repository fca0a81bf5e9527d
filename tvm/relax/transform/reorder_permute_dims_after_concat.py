"""Tensors are transposed once, after their concatenation.

    lv = permute_dims(a)
    lv1 = permute_dims(b)                ->     lv = concat((a, b), axis=0)
    y = concat((lv, lv1), axis=1)               y = permute_dims(lv)
"""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.dpl import DFPattern, is_op, rewrite_call, wildcard
from tvm.relax.expr import Call, Function, Tuple, Var, is_call_of
from tvm.relax.op import concat, permute_dims
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import all_bindings


@relax_pass("ReorderPermuteDimsAfterConcat", opt_level=1)
def ReorderPermuteDimsAfterConcat(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """No concat has operands that are all transposed in the same way."""
    values = {b.var: b.value for b in all_bindings(func) if hasattr(b, "value")}
    parts = wildcard()
    pattern = is_op("relax.concat")(parts)

    def reorder(expr: RelaxExpr, found: dict[DFPattern, RelaxExpr]) -> RelaxExpr:
        given = found[parts]
        whole = values.get(given, given) if isinstance(given, Var) else given
        if not isinstance(whole, Tuple) or len(whole.fields) < 2:
            return expr
        permuted = [values.get(f, f) if isinstance(f, Var) else f for f in whole.fields]
        axes = [_axes(one) for one in permuted]
        if axes[0] is None or any(one != axes[0] for one in axes):
            return expr
        joined = found[pattern]
        assert isinstance(joined, Call), "the pattern is a call"
        axis = joined.attrs.axis  # type: ignore[union-attr]
        axis = 0 if axis is None else int(axis)
        operands = [one.args[0] for one in permuted if isinstance(one, Call)]
        inner = axes[0][axis % len(axes[0])]
        given_axes = permuted[0].attrs.axes  # type: ignore[attr-defined]
        return permute_dims(concat(Tuple(operands), axis=inner), axes=given_axes)

    return rewrite_call(pattern, reorder, func)


def _axes(expr: RelaxExpr) -> list[int] | None:
    """How a call of permute_dims turns its operand; None for anything else."""
    if not is_call_of(expr, "relax.permute_dims"):
        return None
    info = expr.args[0].struct_info_
    if not isinstance(info, TensorStructInfo):
        return None
    if info.ndim < 0:
        return None
    axes = expr.attrs.axes  # type: ignore[union-attr]
    if axes is None:
        return list(range(info.ndim))[::-1]
    return [int(axis) % info.ndim for axis in axes]
