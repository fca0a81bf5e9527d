"""Group operators that can share one loop nest, and make a function of each group.

    lv = call_tir(conv, (x, w))                 def fused_conv_relu(x, w):
    gv = call_tir(relu, (lv,))         ->           lv = call_tir(conv, (x, w)); ...
                                                gv = fused_conv_relu(x, w)

What may be fused follows from the kernels' patterns (attribute `op_pattern`) and from dominance: a
value is fused into the kernel where all paths from it meet again, if every kernel on the way can
join (J. Roesch et al., Relay: A High-Level Compiler for Deep Learning, 2019, section 4.4). Only
dataflow blocks are looked at. Constants become arguments of the group. The pipelines of the
compiler ask for more (`wide`): groups in branches too, and values that only leave the block as a
tuple are results of one group.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from tvm.ir.expr import GlobalVar
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.bind import bind
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    SeqExpr,
    TupleGetItem,
    Var,
    VarBinding,
    is_call_of,
)
from tvm.relax.op_pattern import OpPatternKind
from tvm.relax.transform.fusion_groups import FusionNode, find_groups
from tvm.relax.transform.grouping import Group, GroupFunctions, replace_groups
from tvm.relax.transform.inplace_results import (
    Memory,
    order_edges,
    overwrites_constant,
    overwritten,
    shared,
)
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import (
    rebuild_seq,
    vars_used,
    with_bindings,
    with_body,
    with_value,
)
from tvm.tir.function import PrimFunc

MAX_DEPTH = 256


@relax_module_pass("FuseOps", opt_level=0)
def FuseOps(
    mod: IRModule, ctx: PassContext, fuse_opt_level: int = -1, *, wide: bool = False
) -> IRModule:
    """Fuse at the given level (0 does nothing); -1 takes the context's level."""
    level = ctx.opt_level if fuse_opt_level == -1 else fuse_opt_level
    if level == 0:
        return mod
    depth = int(ctx.option("relax.FuseOps.max_depth", MAX_DEPTH))
    functions: dict[GlobalVar, BaseFunc] = {}
    made = GroupFunctions([var.name_hint for var in mod.functions])
    for var, func in sorted(mod.functions.items(), key=lambda item: item[0].name_hint):
        if isinstance(func, Function) and not func.attrs.get("Primitive"):
            body = _fuse_sequence(func.body, _Limits(mod, level, depth, wide), made)
            functions[var] = _with_new_names(with_body(func, body), made)
    return mod.with_functions({**mod.functions, **functions, **made.functions})


class _Limits(NamedTuple):
    """What the groups of a module are made by."""

    mod: IRModule
    level: int
    depth: int
    wide: bool


def _with_new_names(func: Function, made: GroupFunctions) -> Function:
    if not made.renamed:
        return func
    new = bind(func, made.renamed)
    assert isinstance(new, Function), "a function stays one"
    made.renamed.clear()
    return new


def _fuse_sequence(seq: SeqExpr, limits: _Limits, made: GroupFunctions) -> SeqExpr:
    """Fuse within each dataflow block, those of branches too where groups may be wide."""
    outside = _readers_outside(seq)

    def inside(binding: Binding) -> Binding:
        value = binding.value
        if not limits.wide or not isinstance(value, If):
            return binding
        branches = (value.true_branch, value.false_branch)
        yes, no = (_fuse_sequence(one, limits, made) for one in branches)
        if yes is value.true_branch and no is value.false_branch:
            return binding
        new = If(value.cond, yes, no, value.span)
        new.struct_info_ = value.struct_info_
        return with_value(binding, new)

    def on_block(block: BindingBlock) -> BindingBlock:
        block = with_bindings(block, [inside(binding) for binding in block.bindings])
        if not isinstance(block, DataflowBlock):
            return block
        nodes = _fusion_nodes(block, limits, outside)
        groups = find_groups(nodes, limits.level, limits.depth)
        return _fuse_block(block, groups, made)

    return rebuild_seq(seq, on_block)


def _readers_outside(seq: SeqExpr) -> set[Var]:
    """Variables that must stay visible: those bound as block outputs, and what is returned."""
    found = set(vars_used(seq.body))
    for block in seq.blocks:
        for binding in block.bindings:
            if not isinstance(binding.var, DataflowVar):
                found.add(binding.var)
    return found


def _fusion_nodes(
    block: DataflowBlock, limits: _Limits, outside: set[Var]
) -> list[FusionNode]:
    """One node a binding: its pattern, and the bindings that read it.

    Where groups may be wide, what only collects values that leave the block (a tuple) reads none
    of them: they may be results of one group.
    """
    index = {binding.var: i for i, binding in enumerate(block.bindings)}
    nodes = [FusionNode(_pattern(b, limits.mod), b.var in outside) for b in block.bindings]
    read = {var for binding in block.bindings for var in vars_used(binding.value)}
    for i, binding in enumerate(block.bindings):
        collects = not isinstance(binding.value, (Call, TupleGetItem))
        if limits.wide and collects and binding.var not in read:
            continue
        for var in dict.fromkeys(vars_used(binding.value)):
            source = index.get(var)
            if source is not None:
                nodes[source].readers.append((i, nodes[i].pattern))
    for i, j in order_edges(block.bindings):
        nodes[i].readers.append((j, nodes[j].pattern))
    return nodes


def _pattern(binding: Binding, mod: IRModule) -> OpPatternKind:
    value = binding.value
    if not isinstance(binding, VarBinding):
        return OpPatternKind.kOpaque
    if is_call_of(value, "relax.call_tir", "relax.call_tir_inplace"):
        kernel = mod.functions.get(value.args[0]) if isinstance(value.args[0], GlobalVar) else None
        # a kernel that was scheduled is as it is to be, say by a tuning record
        if isinstance(kernel, PrimFunc) and not kernel.attrs.get("tir.is_scheduled"):
            pattern = kernel.attrs.get("op_pattern")
            if pattern is not None:
                return OpPatternKind(int(pattern))  # type: ignore[call-overload]
        return OpPatternKind.kOpaque
    if isinstance(value, TupleGetItem):
        return OpPatternKind.kInjective
    return OpPatternKind.kOpaque


def _fuse_block(
    block: DataflowBlock, groups: list[list[int]], made: GroupFunctions
) -> BindingBlock:
    """Replace each group of several steps by one call.

    An item of a tuple that comes from outside is a step of those that alone read it; else it stays
    where it is.
    """
    fused: list[Group] = []
    readers = Counter(v for b in block.bindings for v in dict.fromkeys(vars_used(b.value)))
    for group in groups:
        own = {block.bindings[i].var for i in group}
        items = [i for i in group if _takes_item_of_outside(block.bindings[i], own)]
        inner = [i for i in group if i not in items]
        values = [block.bindings[i].value for i in inner]
        steps = sum(isinstance(value, (Call, TupleGetItem)) for value in values) + len(items)
        several = steps > 1 and any(isinstance(value, Call) for value in values)
        if several and not _overwrites_unseen(block, inner):
            inside = Counter(v for value in values for v in dict.fromkeys(vars_used(value)))
            alone = [i for i in items if _read_inside(block.bindings[i].var, readers, inside)]
            fused.append(Group([*inner, *alone]))
    return replace_groups(block, fused, made)


def _read_inside(item: Var, readers: Counter[Var], inside: Counter[Var]) -> bool:
    return isinstance(item, DataflowVar) and readers[item] == inside[item]


def _overwrites_unseen(block: DataflowBlock, group: list[int]) -> bool:
    """Whether a group writes into an operand of its own that none of its results lies in."""
    members = [block.bindings[i] for i in group]
    if any(overwrites_constant(binding.value) for binding in members):
        return True
    if not any(overwritten(binding.value) for binding in members):
        return False
    memory = Memory()
    changed: set[Var] = set()
    for binding in members:
        changed |= memory.of_all(overwritten(binding.value))
        memory.bind(binding.var, shared(binding.value))
    own = {binding.var for binding in members}
    others = [b for i, b in enumerate(block.bindings) if i not in group]
    outside = {var for binding in others for var in vars_used(binding.value)}
    results = [var for var in own if var in outside or not isinstance(var, DataflowVar)]
    return not changed - own <= memory.of_all(results)


def _takes_item_of_outside(binding: Binding, own: set[Var]) -> bool:
    value = binding.value
    return isinstance(value, TupleGetItem) and value.tuple_value not in own
