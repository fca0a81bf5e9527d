"""Take the transposed weights of products as parameters.

    fn (%x, %w) { nn.dense(%x, transpose(%w, axes=[1, 0])) }
    ->
    fn (%x, %w.T) { nn.dense(%x, %w.T) }
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay.expr import Call, Var
from tvm.relay.function import Function
from tvm.relay.traverse import rebuild, transform
from tvm.relay.variables import free_vars

from .function_pass import expr_pass


@expr_pass("SimplifyFCTranspose", opt_level=0)
def SimplifyFCTranspose(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, target_weight_name: Sequence[str]
) -> RelaxExpr:
    """The function of `w.T` for each parameter `w` of the given names that products take so.

    Parameters that are used otherwise too stay beside it.
    """
    assert isinstance(func, Function), "a pass gets functions"
    names = {str(name) for name in target_weight_name}
    given = {param.vid for param in func.params if param.name_hint in names}
    made: dict[Node, Var] = {}

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if not (isinstance(new, Call) and new.op is Op.get("nn.dense")):
            return new
        weight = new.args[1]
        if not (isinstance(weight, Call) and weight.op is Op.get("transpose")):
            return new
        var = weight.args[0]
        if not isinstance(var, Var) or var.vid not in given:
            return new
        if var.vid not in made:
            made[var.vid] = Var(f"{var.name_hint}.T", weight.checked_type, weight.span)
        return rebuild(new, [new.op, new.args[0], made[var.vid]])

    body = transform(func.body, rule)
    if not made:
        return func
    used = {var.vid for var in free_vars(body)}
    params: list[Var] = []
    for param in func.params:
        if param.vid not in made or param.vid in used:
            params.append(param)
        if param.vid in made:
            params.append(made[param.vid])
    return Function(params, body, func.ret_type, func.type_params, func.attrs, func.span)
