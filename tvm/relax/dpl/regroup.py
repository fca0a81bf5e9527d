"""Bindings in blocks of the kind that they are meant for.

    with R.dataflow():                      with R.dataflow():
        a = R.exp(x)                            a = R.exp(x)
        b = R.cos(a)      # plain               R.output(a)
        c = R.sin(b)              ->        b = R.cos(a)
        R.output(c)                         with R.dataflow():
                                                c = R.sin(b)
                                                R.output(c)

A variable of a dataflow block is one that others see only if somebody outside of the block reads
it. The kinds of bindings come from the blocks that a replacement was written in.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from tvm.ir.expr import RelaxExpr
from tvm.relax.analysis.variables import free_vars
from tvm.relax.base_expr import Id
from tvm.relax.bind import Binder
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    MatchCast,
    SeqExpr,
    Var,
    VarBinding,
)


def regrouped(seq: SeqExpr, in_dataflow: Mapping[Id, bool]) -> SeqExpr:
    """The sequence with those bindings in dataflow blocks that `in_dataflow` says, and no others.

    A variable that it does not tell of stays in a block of its own kind.
    """
    placed = [
        (binding, in_dataflow.get(binding.var.vid, isinstance(block, DataflowBlock)))
        for block in seq.blocks
        for binding in block.bindings
    ]
    kinds = [isinstance(block, DataflowBlock) for block in seq.blocks for _ in block.bindings]
    if [kind for _, kind in placed] == kinds:
        return seq
    groups = [
        (dataflow, [binding for binding, _ in group])
        for dataflow, group in groupby(placed, key=lambda one: one[1])
    ]
    renamed = _variables(groups, seq.body)
    edit = Binder(renamed, {})
    blocks = [
        (DataflowBlock if dataflow else BindingBlock)([_bound(b, edit, renamed) for b in bindings])
        for dataflow, bindings in groups
    ]
    return SeqExpr(blocks, edit.visit_expr(seq.body), seq.span)


def _variables(
    groups: list[tuple[bool, list[Binding]]], result: RelaxExpr
) -> dict[Id, RelaxExpr]:
    """Variables of the other kind for those whose block has changed."""
    readers: dict[Id, set[int]] = {}
    for at, (_, bindings) in enumerate(groups):
        for binding in bindings:
            for var in free_vars(binding.value):
                readers.setdefault(var.vid, set()).add(at)
    for var in free_vars(result):
        readers.setdefault(var.vid, set()).add(len(groups))
    renamed: dict[Id, RelaxExpr] = {}
    for at, (dataflow, bindings) in enumerate(groups):
        for binding in bindings:
            var = binding.var
            hidden = dataflow and readers.get(var.vid, set()) <= {at}
            if hidden != isinstance(var, DataflowVar):
                kind = DataflowVar if hidden else Var
                renamed[var.vid] = kind(var.name_hint, var.struct_info_, var.span)
    return renamed


def _bound(binding: Binding, edit: Binder, renamed: Mapping[Id, RelaxExpr]) -> Binding:
    var = renamed.get(binding.var.vid, binding.var)
    assert isinstance(var, Var), "a variable of another kind is one"
    value = edit.visit_expr(binding.value)
    if isinstance(binding, MatchCast):
        return MatchCast(var, value, binding.struct_info, binding.span)
    return VarBinding(var, value, binding.span)
