"""Turn dataflow blocks into plain ones, their variables into visible ones.

    with R.dataflow():
        lv = R.add(x, x)              ->        lv = R.add(x, x)
        gv = R.exp(lv)                          gv = R.exp(lv)
        R.output(gv)
"""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    Function,
    MatchCast,
    Var,
    VarBinding,
)
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import rebuild_seq, replace_operands, with_body


@relax_pass("ToNonDataflow")
def ToNonDataflow(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """No DataflowVar is left."""
    renamed: dict[RelaxExpr, RelaxExpr] = {}

    def on_block(block: BindingBlock) -> BindingBlock:
        if not isinstance(block, DataflowBlock):
            return block
        return BindingBlock([_plain(binding, renamed) for binding in block.bindings], block.span)

    return with_body(func, rebuild_seq(func.body, on_block))


def _plain(binding: Binding, renamed: dict[RelaxExpr, RelaxExpr]) -> Binding:
    value = replace_operands(binding.value, renamed.get)
    var = binding.var
    if isinstance(var, DataflowVar):
        var = Var(var.name_hint, var.struct_info_, var.span)
        renamed[binding.var] = var
    if isinstance(binding, MatchCast):
        return MatchCast(var, value, binding.struct_info, binding.span)
    return VarBinding(var, value, binding.span)
