"""Let private functions take the fields of their tuples one by one.

    def f(t: Tuple(A, B)): ... t[0] ...            def f(t_0: A, t_1: B):
    z = cls.f((x, y))                      ->          t = (t_0, t_1); ... t[0] ...
                                                   z = cls.f(x, y)

Tuples within tuples are taken apart too. Inside, an item of the tuple becomes the parameter that
is this item: bindings are made canonical and what is then unused goes, in the whole module.
"""

from __future__ import annotations

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowVar,
    Function,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.normalize import merge_blocks
from tvm.relax.struct_info import TupleStructInfo
from tvm.relax.transform.canonicalize_bindings import CanonicalizeBindings
from tvm.relax.transform.dead_code_elimination import RemoveUnusedWork
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.private_calls import private_functions, with_signatures
from tvm.relax.transform.rebuild import with_value
from tvm.relax.transform.settle import settled_module


@relax_module_pass("ExpandTupleArguments")
def ExpandTupleArguments(mod: IRModule, ctx: PassContext) -> IRModule:
    """Expand in all private functions that take a tuple."""
    mod = settled_module(mod, _with_fields_apart(mod))
    return RemoveUnusedWork()(CanonicalizeBindings()(mod))


def _with_fields_apart(mod: IRModule) -> IRModule:
    changed = {
        var: _expanded(func)
        for var, func in private_functions(mod).items()
        if any(isinstance(p.struct_info_, TupleStructInfo) for p in func.params)
    }
    if not changed:
        return mod
    bb = BlockBuilder(mod)

    def on_call(binding: Binding, call: Call, callee: GlobalVar) -> list[Binding]:
        kind = DataflowVar if isinstance(binding.var, DataflowVar) else Var
        parts = _Parts(bb, kind, binding)
        args = [leaf for arg in call.args for leaf in parts.leaves(arg)]
        new = Call(callee, args, call.attrs, call.sinfo_args, call.span)
        return [*parts.bindings, with_value(binding, new)]

    return with_signatures(mod, changed, on_call)


def _expanded(func: Function) -> Function:
    params: list[Var] = []
    bindings: list[Binding] = []
    for param in func.params:
        bindings += _leaf_params(param, params)
    seq = func.body
    blocks, result = [BindingBlock(bindings), *seq.blocks], seq.body
    if isinstance(result, Tuple):  # the whole is a value of its own: fields may change under it
        whole = Var("gv", result.struct_info_)
        blocks.append(BindingBlock([VarBinding(whole, result, result.span)]))
        result = whole
    body = SeqExpr(merge_blocks(blocks), result, seq.span)
    body.struct_info_ = seq.struct_info_
    return Function(
        params, body, func.ret_struct_info, func.is_pure, func.attrs, func.span
    )


def _leaf_params(own: Var, params: list[Var]) -> list[Binding]:
    """Make `own` a parameter, or its fields parameters, of which bindings make it, inner first."""
    if not isinstance(own.struct_info, TupleStructInfo):
        params.append(own)
        return []
    fields = [Var(f"{own.name_hint}_{i}", f) for i, f in enumerate(own.struct_info.fields)]
    bindings = [binding for field in fields for binding in _leaf_params(field, params)]
    whole = Tuple(fields)
    whole.struct_info_ = own.struct_info
    return [*bindings, VarBinding(own, whole, own.span)]


class _Parts:
    """Takes arguments apart; items that are no leaves are bound before the call."""

    def __init__(self, bb: BlockBuilder, kind: type[Var], like: Binding) -> None:
        self._bb = bb
        self._kind = kind
        self._like = like
        self.bindings: list[Binding] = []

    def leaves(self, arg: RelaxExpr) -> list[RelaxExpr]:
        """The argument, or the fields of it that are no tuples."""
        info = arg.struct_info
        if not isinstance(info, TupleStructInfo):
            return [arg]
        if isinstance(arg, Tuple):
            return [leaf for field in arg.fields for leaf in self.leaves(field)]
        found: list[RelaxExpr] = []
        for i in range(len(info.fields)):
            item = self._bb.normalize(TupleGetItem(arg, i))
            var = self._kind("lv" if self._kind is DataflowVar else "gv", item.struct_info_)
            self.bindings.append(VarBinding(var, item, self._like.span))
            found += self.leaves(var)
        return found
