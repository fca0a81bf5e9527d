"""Group operators that can share one loop nest, and make a function of each group.

    lv = call_tir(conv, (x, w))                 def fused_conv_relu(x, w):
    gv = call_tir(relu, (lv,))         ->           lv = call_tir(conv, (x, w)); ...
                                                gv = fused_conv_relu(x, w)

What may be fused follows from the kernels' patterns (attribute `op_pattern`) and from dominance: a
value is fused into the kernel where all paths from it meet again, if every kernel on the way can
join (J. Roesch et al., Relay: A High-Level Compiler for Deep Learning, 2019, section 4.4). Only
dataflow blocks are looked at. Constants become arguments of the group.
"""

from __future__ import annotations

from tvm.ir.attrs import DictAttrs
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.structural import structural_digest, structural_equal
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    Function,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.op_pattern import OpPatternKind
from tvm.relax.struct_info import ShapeExpr, ShapeStructInfo, TupleStructInfo
from tvm.relax.struct_info_rules import (
    definable_tir_vars_in_struct_info,
    tir_vars_in_struct_info,
)
from tvm.relax.transform.fusion_groups import FusionNode, find_groups
from tvm.relax.transform.rebuild import (
    rebuild_seq,
    replace_operands,
    sub_exprs,
    vars_used,
    with_bindings,
    with_body,
)
from tvm.support.naming import NameTable
from tvm.tir.function import PrimFunc

MAX_DEPTH = 256


@declare_module_pass("FuseOps", opt_level=0)
def FuseOps(mod: IRModule, ctx: PassContext, fuse_opt_level: int = -1) -> IRModule:
    """Fuse at the given level (0 does nothing); -1 takes the context's level."""
    level = ctx.opt_level if fuse_opt_level == -1 else fuse_opt_level
    if level == 0:
        return mod
    depth = int(ctx.option("relax.FuseOps.max_depth", MAX_DEPTH))
    functions: dict[GlobalVar, BaseFunc] = {}
    made = _MadeGroups([var.name_hint for var in mod.functions])
    for var, func in mod.functions.items():
        if isinstance(func, Function) and not func.attrs.get("Primitive"):
            functions[var] = _fuse_function(func, mod, level, depth, made)
        else:
            functions[var] = func
    return mod.with_functions({**functions, **made.functions})


class _MadeGroups:
    """The functions made of groups; equal groups share one."""

    def __init__(self, taken: list[str]) -> None:
        self.functions: dict[GlobalVar, BaseFunc] = {}
        self._names = NameTable(taken)
        self._by_digest: dict[str, GlobalVar] = {}

    def add(self, name: str, group: Function) -> GlobalVar:
        """The variable of the group, or of an equal one."""
        digest = structural_digest(group)
        var = self._by_digest.get(digest)
        if var is None or not structural_equal(self.functions[var], group):
            var = GlobalVar(self._names.fresh(name, ""), group.struct_info_)
            self._by_digest[digest] = var
            self.functions[var] = group
        return var


def _fuse_function(
    func: Function,
    mod: IRModule,
    level: int,
    depth: int,
    made: _MadeGroups,
) -> Function:
    outside = _readers_outside(func)

    def on_block(block: BindingBlock) -> BindingBlock:
        if not isinstance(block, DataflowBlock):
            return block
        nodes = _fusion_nodes(block, mod, outside)
        groups = find_groups(nodes, level, depth)
        return _fuse_block(block, groups, made)

    return with_body(func, rebuild_seq(func.body, on_block))


def _readers_outside(func: Function) -> set[Var]:
    """Variables that must stay visible: those bound as block outputs, and what is returned."""
    found = set(vars_used(func.body.body))
    for block in func.body.blocks:
        for binding in block.bindings:
            if not isinstance(binding.var, DataflowVar):
                found.add(binding.var)
    return found


def _fusion_nodes(block: DataflowBlock, mod: IRModule, outside: set[Var]) -> list[FusionNode]:
    """One node a binding: its pattern, and the bindings that read it."""
    index = {binding.var: i for i, binding in enumerate(block.bindings)}
    nodes = [FusionNode(_pattern(b, mod), b.var in outside) for b in block.bindings]
    for i, binding in enumerate(block.bindings):
        for var in dict.fromkeys(vars_used(binding.value)):
            source = index.get(var)
            if source is not None:
                nodes[source].readers.append((i, nodes[i].pattern))
    return nodes


def _pattern(binding: Binding, mod: IRModule) -> OpPatternKind:
    value = binding.value
    if not isinstance(binding, VarBinding):
        return OpPatternKind.kOpaque
    if isinstance(value, Call) and isinstance(value.op, Op) and value.op.name == "relax.call_tir":
        kernel = mod.functions.get(value.args[0]) if isinstance(value.args[0], GlobalVar) else None
        if isinstance(kernel, PrimFunc):
            pattern = kernel.attrs.get("op_pattern")
            if pattern is not None:
                return OpPatternKind(int(pattern))  # type: ignore[call-overload]
        return OpPatternKind.kOpaque
    if isinstance(value, Tuple):
        return OpPatternKind.kTuple
    if isinstance(value, TupleGetItem):
        return OpPatternKind.kInjective
    return OpPatternKind.kOpaque


def _fuse_block(
    block: DataflowBlock, groups: list[list[int]], made: _MadeGroups
) -> BindingBlock:
    """Replace each group of several bindings by one call, where its last binding stood."""
    group_at: dict[int, list[int]] = {}
    inside: set[int] = set()
    for group in groups:
        kernels = [i for i in group if isinstance(block.bindings[i].value, Call)]
        if len(kernels) < 2:
            continue
        group_at[max(group)] = sorted(group)
        inside.update(group)
    if not group_at:
        return block
    readers: dict[Var, list[int]] = {}
    for binding in block.bindings:
        for var in vars_used(binding.value):
            readers.setdefault(var, []).append(id(binding))

    def outputs_of(members: list[Binding]) -> list[Var]:
        """The group's variables that somebody else reads."""
        own = {id(member) for member in members}
        return [
            m.var
            for m in members
            if not isinstance(m.var, DataflowVar)
            or any(reader not in own for reader in readers.get(m.var, ()))
        ]

    new: list[Binding] = []
    for i, binding in enumerate(block.bindings):
        if i in group_at:
            members = [block.bindings[j] for j in group_at[i]]
            new.extend(_call_of_group(members, outputs_of(members), made))
        elif i not in inside:
            new.append(binding)
    return with_bindings(block, new)


def _call_of_group(
    members: list[Binding], outputs: list[Var], made: _MadeGroups
) -> list[Binding]:
    """The bindings that take the place of a group."""
    builder = _GroupBuilder(members, outputs)
    group = builder.function()
    var = made.add(_group_name(members), group)
    call = Call(var, builder.arguments, None, None, members[-1].value.span)
    call.struct_info_ = group.ret_struct_info
    if len(outputs) == 1:
        result = outputs[0]
        call.struct_info_ = result.struct_info_
        span = next(b.span for b in members if b.var is result)
        return [VarBinding(result, call, span)]
    whole = DataflowVar("lv", TupleStructInfo([v.struct_info for v in outputs]))
    call.struct_info_ = whole.struct_info_
    bindings: list[Binding] = [VarBinding(whole, call)]
    bindings += [VarBinding(v, TupleGetItem(whole, i)) for i, v in enumerate(outputs)]
    return bindings


def _group_name(members: list[Binding]) -> str:
    words = ["fused"]
    for binding in members:
        value = binding.value
        if isinstance(value, Call) and value.args and isinstance(value.args[0], GlobalVar):
            words.append(value.args[0].name_hint)
    return "_".join(words)


class _GroupBuilder:
    """The function of one group, and the arguments of its call."""

    def __init__(self, members: list[Binding], outputs: list[Var]) -> None:
        self._members = members
        self._outputs = outputs
        self._params: list[Var] = []
        self.arguments: list[RelaxExpr] = []
        self._map: dict[RelaxExpr, RelaxExpr] = {}
        self._constants = 0

    def _param_for(self, expr: RelaxExpr) -> Var:
        if isinstance(expr, Var):
            name = expr.name_hint
        else:
            name = f"param_{self._constants}"
            self._constants += 1
        param = Var(name, expr.struct_info)
        self._params.append(param)
        self.arguments.append(expr)
        self._map[expr] = param
        return param

    def function(self) -> Function:
        own = {b.var for b in self._members}
        for binding in self._members:
            for expr in sub_exprs(binding.value):
                outer = isinstance(expr, Constant) or (isinstance(expr, Var) and expr not in own)
                if outer and expr not in self._map:
                    self._param_for(expr)
        bindings = self._inner_bindings()
        shape = self._symbol_param()
        if shape is not None:
            param = Var("s", ShapeStructInfo(shape.values))
            self._params.append(param)
            self.arguments.append(shape)
        results = [self._map[v] for v in self._outputs]
        result = results[0] if len(results) == 1 else Tuple(results)
        body = SeqExpr([DataflowBlock(bindings)], result)
        body.struct_info_ = result.struct_info_
        attrs = DictAttrs({"Primitive": True})
        return Function(self._params, body, None, True, attrs)

    def _inner_bindings(self) -> list[Binding]:
        bindings: list[Binding] = []
        for binding in self._members:
            value = replace_operands(binding.value, self._map.get)
            is_output = any(binding.var is v for v in self._outputs)
            kind = Var if is_output else DataflowVar
            var = kind("gv" if kind is Var else binding.var.name_hint, binding.var.struct_info_)
            self._map[binding.var] = var
            bindings.append(VarBinding(var, value, binding.span))
        return bindings

    def _symbol_param(self) -> ShapeExpr | None:
        """Symbolic variables that the kernels use and no parameter tells."""
        known = {v for p in self._params for v in definable_tir_vars_in_struct_info(p.struct_info)}
        needed: dict[object, None] = {}
        for binding in self._members:
            for var in tir_vars_in_struct_info(binding.var.struct_info):
                needed[var] = None
            for expr in sub_exprs(binding.value):
                if isinstance(expr, ShapeExpr):
                    for var in tir_vars_in_struct_info(expr.struct_info):
                        needed[var] = None
        missing = [var for var in needed if var not in known]
        return ShapeExpr(missing) if missing else None  # type: ignore[arg-type]
