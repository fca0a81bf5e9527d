"""Compute equal values once.

    lv = R.add(x, y)                        lv = R.add(x, y)
    lv1 = R.add(x, y)              ->       lv1 = lv
    gv = R.multiply(lv, lv1)                gv = R.multiply(lv, lv)

The other variable stays as another name, until CanonicalizeBindings takes it away. Only pure values
count, within one scope and the scopes inside it; what a branch computes is not known after it.
Behind a dataflow block its first output with a value stands for that, and uses of outputs stay.
With `call_only` only calls are looked at, otherwise tuples, items, numbers, shapes and equal casts
too. New memory is never shared, nor is what a call overwrites.
"""

from __future__ import annotations

from collections.abc import Container

from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal, structural_hash
from tvm.ir.transform import PassContext
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Var,
    VarBinding,
    is_call_of,
)
from tvm.relax.transform.dead_code_elimination import has_effects
from tvm.relax.transform.inplace_results import overwritten_in
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import (
    rebuild_seq,
    replace_operands,
    with_bindings,
    with_body,
    with_value,
)

_OWN_MEMORY = (
    "relax.builtin.alloc_tensor",
    "relax.call_tir_inplace",
    "relax.memory.alloc_storage",
    "relax.memory.alloc_tensor",
    "relax.vm.alloc_storage",
    "relax.vm.alloc_tensor",
)


@relax_pass("EliminateCommonSubexpr", opt_level=1)
def EliminateCommonSubexpr(
    func: Function, mod: IRModule, ctx: PassContext, call_only: bool = False
) -> Function:
    """Let later equal values be the first."""
    return eliminate_common_subexpr(func, call_only)


def eliminate_common_subexpr(func: Function, call_only: bool = False) -> Function:
    """The function where later equal values (of calls only, if asked) are the first."""
    return _Eliminator(call_only, overwritten_in(func)).function(func)


# Values known in a scope by hash, each with a variable that has it; of a cast also to what.
Known = dict[int, list[tuple[RelaxExpr, StructInfo | None, Var]]]


class _Eliminator:
    def __init__(self, call_only: bool, changing: Container[Var]) -> None:
        self._call_only = call_only
        self._changing = changing
        self._instead: dict[RelaxExpr, RelaxExpr] = {}

    def function(self, func: Function) -> Function:
        """The function; what is around a local one does not count inside."""
        return with_body(func, self._seq(func.body, {}))

    def _seq(self, seq: SeqExpr, known: Known) -> SeqExpr:
        inner_seq = rebuild_seq(seq, lambda block: self._block(block, known))
        body = replace_operands(inner_seq.body, self._instead.get)
        if body is inner_seq.body:
            return inner_seq
        new = SeqExpr(inner_seq.blocks, body, seq.span)
        new.struct_info_ = seq.struct_info_
        return new

    def _block(self, block: BindingBlock, known: Known) -> BindingBlock:
        inside = {h: list(pairs) for h, pairs in known.items()}
        kept: list[Binding] = []
        for binding in block.bindings:
            kept.append(self._binding(binding, inside))
        for key, pairs in inside.items():
            # inner values of a dataflow block are not seen behind it
            known[key] = [pair for pair in pairs if not isinstance(pair[2], DataflowVar)]
        for binding in block.bindings if isinstance(block, DataflowBlock) else ():
            self._instead.pop(binding.var, None)
        return with_bindings(block, kept)

    def _binding(self, binding: Binding, known: Known) -> Binding:
        """The binding; of the variable that has the value already, if there is one."""
        value = self._value(binding.value, known)
        if not self._counts(binding, value):
            return with_value(binding, value)
        target = binding.struct_info if isinstance(binding, MatchCast) else None
        key = structural_hash(value)
        pairs = known.setdefault(key, [])
        same = next((var for other, to, var in pairs if _same(other, to, value, target)), None)
        pairs.append((value, target, binding.var))
        if same is None or not structural_equal(same.struct_info_, binding.var.struct_info_):
            return with_value(binding, value)
        self._instead[binding.var] = same
        return VarBinding(binding.var, same, binding.span or value.span)

    def _value(self, value: RelaxExpr, known: Known) -> RelaxExpr:
        if isinstance(value, If):
            cond = replace_operands(value.cond, self._instead.get)
            branches = [
                self._seq(branch, {h: list(pairs) for h, pairs in known.items()})
                for branch in (value.true_branch, value.false_branch)
            ]
            same = branches[0] is value.true_branch and branches[1] is value.false_branch
            if cond is value.cond and same:
                return value
            new = If(cond, branches[0], branches[1], value.span)
            new.struct_info_ = value.struct_info_
            return new
        if isinstance(value, Function):
            return self.function(value)
        return replace_operands(value, self._instead.get)

    def _counts(self, binding: Binding, value: RelaxExpr) -> bool:
        if isinstance(binding, MatchCast) and not isinstance(value, Call):
            return not self._call_only
        if isinstance(value, Call):
            if is_call_of(value, *_OWN_MEMORY) or binding.var in self._changing:
                return False
            return not has_effects(value)
        return not self._call_only and not isinstance(value, (Var, Function, If))


def _same(
    known: RelaxExpr, cast: StructInfo | None, value: RelaxExpr, target: StructInfo | None
) -> bool:
    return structural_equal(known, value) and structural_equal(cast, target)
