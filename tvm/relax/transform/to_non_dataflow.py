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
    If,
    MatchCast,
    SeqExpr,
    Var,
    VarBinding,
)
from tvm.relax.normalize import merge_blocks
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import replace_operands, with_bindings, with_body, with_value


@relax_pass("ToNonDataflow")
def ToNonDataflow(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """No DataflowVar is left; neighbouring blocks become one."""
    return to_non_dataflow(func)


def to_non_dataflow(func: Function) -> Function:
    """The function with plain blocks only."""
    return with_body(func, _Plain().seq(func.body))


class _Plain:
    """Rewrites sequences; remembers which variable took the place of which."""

    def __init__(self) -> None:
        self._renamed: dict[RelaxExpr, RelaxExpr] = {}

    def seq(self, seq: SeqExpr) -> SeqExpr:
        """The sequence without dataflow blocks, in branches and local functions too."""
        blocks = [self._block(block) for block in seq.blocks]
        body = replace_operands(seq.body, self._renamed.get)
        if body is seq.body and all(a is b for a, b in zip(blocks, seq.blocks)):
            return seq
        new = SeqExpr(merge_blocks(blocks), body, seq.span)
        new.struct_info_ = seq.struct_info_
        return new

    def _block(self, block: BindingBlock) -> BindingBlock:
        bindings = [self._binding(binding) for binding in block.bindings]
        if isinstance(block, DataflowBlock):
            return BindingBlock(bindings, block.span)
        return with_bindings(block, bindings)

    def _binding(self, binding: Binding) -> Binding:
        value = self._value(binding.value)
        old = binding.var
        if not isinstance(old, DataflowVar):
            return with_value(binding, value)
        var = Var(old.name_hint, old.struct_info_, old.span)
        self._renamed[old] = var
        if isinstance(binding, MatchCast):
            return MatchCast(var, value, binding.struct_info, binding.span)
        return VarBinding(var, value, binding.span)

    def _value(self, value: RelaxExpr) -> RelaxExpr:
        if isinstance(value, If):
            branches = [self.seq(branch) for branch in (value.true_branch, value.false_branch)]
            if branches[0] is value.true_branch and branches[1] is value.false_branch:
                return value
            new = If(value.cond, branches[0], branches[1], value.span)
            new.struct_info_ = value.struct_info_
            return new
        if isinstance(value, Function):
            return with_body(value, self.seq(value.body))
        return replace_operands(value, self._renamed.get)
