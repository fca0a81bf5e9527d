"""Join neighbouring composite functions of one code generator into one function for it.

    lv = fused_conv2d_relu(x, w)        def fused_conv2d_relu_conv2d_relu_dnnl(x, w, v):
    gv = fused_conv2d_relu1(lv, v)  ->      R.func_attr({"Codegen": "dnnl", ...})
                                            def f(...): ...; lv = f(x, w)
                                            def g(...): ...; gv = g(lv, v)
                                        gv = fused_conv2d_relu_conv2d_relu_dnnl(x, w, v)

A function joins the group of an operand unless something of another kind stands between them that
would then both need the group and be needed by it. Items of a tuple that a group gives are taken
outside of it. Composite functions that nobody calls any more
are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping

from tvm.ir.attrs import DictAttrs
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.analysis.variables import all_global_vars
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    Function,
    SeqExpr,
    Var,
    VarBinding,
)
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.transform.fuse_ops_by_pattern import RenameCalls, codegen_of, without_primitive
from tvm.relax.transform.grouping import Group, GroupFunctions, Units, replace_groups
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import all_bindings, replace_operands


@relax_module_pass("MergeCompositeFunctions", opt_level=0)
def MergeCompositeFunctions(mod: IRModule, ctx: PassContext) -> IRModule:
    """Make one function for each group of composite functions."""
    composites = {
        var.name_hint: func
        for var, func in mod.functions.items()
        if isinstance(func, Function) and codegen_of(func) is not None
    }
    if not composites:
        return mod
    made = GroupFunctions([var.name_hint for var in mod.functions])
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if isinstance(func, Function) and var.name_hint not in composites:
            new = _Merge(composites, made).visit_expr(func)
            assert isinstance(new, Function), "a function stays one"
            functions[var] = new
        else:
            functions[var] = func
    names: dict[GlobalVar, GlobalVar] = {}
    merged: dict[GlobalVar, BaseFunc] = {}
    for var, func in made.functions.items():
        assert isinstance(func, Function), "groups are functions of Relax"
        name = f"{var.name_hint}_{func.attrs.get('Codegen')}"
        names[var] = GlobalVar(name, func.struct_info_)
        merged[names[var]] = _inlined(func, composites, name)
    for var, func in functions.items():
        if isinstance(func, Function) and names:
            functions[var] = RenameCalls(names).visit_expr(func)  # type: ignore[assignment]
    called = {v.name_hint for f in functions.values() if isinstance(f, Function)
              for v in all_global_vars(f)}  # fmt: skip
    kept = {
        var: func
        for var, func in functions.items()
        if var.name_hint not in composites or var.name_hint in called
    }
    return mod.with_functions({**kept, **merged})


class _Merge(PyExprMutator):
    """Groups of composite functions in each dataflow block."""

    def __init__(self, composites: Mapping[str, Function], made: GroupFunctions) -> None:
        super().__init__()
        self.composites = composites
        self.made = made

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        fused = replace_groups(block, self._groups(block), self.made)
        for old, new in self.made.renamed.items():
            self.set_var_remap(old.vid, new)
        self.made.renamed.clear()
        assert isinstance(fused, DataflowBlock), "a block keeps its kind"
        return super().visit_dataflow_block_(fused)

    def _codegen(self, value: RelaxExpr) -> str | None:
        if not isinstance(value, Call) or not isinstance(value.op, GlobalVar):
            return None
        return codegen_of(self.composites.get(value.op.name_hint))

    def _groups(self, block: DataflowBlock) -> list[Group]:
        units = Units(block)
        codegen: list[str | None] = []
        for i, binding in enumerate(block.bindings):
            value = binding.value
            own = self._codegen(value)
            if isinstance(value, Var) and units.needs[i]:
                own = codegen[units.needs[i][0]]  # another name goes with what it names
            codegen.append(own)
            if own is None:
                continue
            members = [i]
            for need in units.needs[i]:
                if codegen[need] == own and units.can_join([*members, need]):
                    members.append(need)
            units.join(members)
        groups = []
        for unit in {id(unit): unit for unit in units.unit}.values():
            own = codegen[unit[0]]
            if own is not None and any(isinstance(block.bindings[i].value, Call) for i in unit):
                groups.append(Group(unit, {"Codegen": own}))
        return groups


def _inlined(func: Function, composites: Mapping[str, Function], name: str) -> Function:
    """The group's function with the composite functions it calls as functions within it.

    Code generators read one plain block: what is dataflow stands in the functions within.
    """
    now: dict[RelaxExpr, RelaxExpr] = {}
    bindings: list[Binding] = []
    for binding in all_bindings(func):
        call = binding.value
        if isinstance(call, Call) and isinstance(call.op, GlobalVar) and call.op not in now:
            inner = without_primitive(composites[call.op.name_hint])
            local = now[call.op] = Var("lv", inner.struct_info_)
            bindings.append(VarBinding(local, inner, call.span))
        value = replace_operands(binding.value, now.get)
        value.struct_info_ = binding.value.struct_info_
        var = now[binding.var] = Var(binding.var.name_hint, binding.var.struct_info_)
        bindings.append(VarBinding(var, value, binding.span))
    result = replace_operands(func.body.body, now.get)
    body = SeqExpr([BindingBlock(bindings)], result, func.body.span)
    body.struct_info_ = result.struct_info_ = func.body.struct_info_
    attrs = DictAttrs({**dict(func.attrs.items()), "global_symbol": name})
    return Function(func.params, body, func.ret_struct_info, func.is_pure, attrs, func.span)
