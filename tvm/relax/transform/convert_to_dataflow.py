"""Put runs of pure bindings into dataflow blocks.

    lv = R.add(x, y)                     with R.dataflow():
    gv = R.multiply(lv, y)       ->          lv = R.add(x, y); gv = R.multiply(lv, y)
    z = R.call_packed(...)                   R.output(gv)
                                         z = R.call_packed(...)

A run must have at least `min_size` bindings that are more than another name, unless a dataflow
block stands in it, which takes in its neighbours. Branches and calls with effects end a run. Values
that only the run reads become inner ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Var,
)
from tvm.relax.normalize import merge_blocks
from tvm.relax.transform.canonicalize_bindings import canonicalize_bindings
from tvm.relax.transform.dead_code_elimination import has_effects
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import with_bindings, with_body, with_value


@relax_pass("ConvertToDataflow")
def ConvertToDataflow(
    func: Function, mod: IRModule, ctx: PassContext, min_size: int = 2
) -> Function:
    """Convert in the function, its branches and its local functions."""
    return canonicalize_bindings(with_body(func, _seq(func.body, min_size)))


def _seq(seq: SeqExpr, min_size: int) -> SeqExpr:
    """Every run of bindings that may be dataflow as one block, across the blocks that are there."""
    blocks: list[BindingBlock] = []
    run: list[BindingBlock] = []
    for part in (part for block in seq.blocks for part in _parts(block, min_size)):
        if isinstance(part, DataflowBlock):
            run.append(part)
            continue
        blocks += [*_joined(run, seq.blocks, min_size), part]
        run = []
    blocks += _joined(run, seq.blocks, min_size)
    if len(blocks) == len(seq.blocks) and all(a is b for a, b in zip(blocks, seq.blocks)):
        return seq
    new = SeqExpr(merge_blocks(blocks), seq.body, seq.span)
    new.struct_info_ = seq.struct_info_
    return new


def _joined(
    run: Sequence[BindingBlock], known: Sequence[BindingBlock], min_size: int
) -> list[BindingBlock]:
    """One dataflow block, or a plain one where that would be too short."""
    if len(run) < 2 and any(block is one for block in run for one in known):
        return list(run)
    bindings = [binding for block in run for binding in block.bindings]
    counted = sum(isinstance(b, MatchCast) or not isinstance(b.value, Var) for b in bindings)
    was_there = any(block is one for block in run for one in known)
    kind = DataflowBlock if was_there or counted >= min_size else BindingBlock
    return [kind(bindings, run[0].span)] if run else []


def _parts(block: BindingBlock, min_size: int) -> list[BindingBlock]:
    """The block as what may be dataflow and what may not; it itself where it need not be split."""
    bindings = [_inside(binding, min_size) for binding in block.bindings]
    if isinstance(block, DataflowBlock):
        return [with_bindings(block, bindings)]
    parts: list[BindingBlock] = []
    for binding in bindings:
        kind = DataflowBlock if _may_be_dataflow(binding.value) else BindingBlock
        if parts and type(parts[-1]) is kind:
            parts[-1] = kind((*parts[-1].bindings, binding), block.span)
        else:
            parts.append(kind([binding], block.span))
    if len(parts) == 1 and type(parts[0]) is BindingBlock:
        return [with_bindings(block, bindings)]
    return parts


def _may_be_dataflow(value: RelaxExpr) -> bool:
    return isinstance(value, Function) or not (isinstance(value, If) or has_effects(value))


def _inside(binding: Binding, min_size: int) -> Binding:
    value: RelaxExpr = binding.value
    if isinstance(value, If):
        branches = [_seq(b, min_size) for b in (value.true_branch, value.false_branch)]
        if branches[0] is not value.true_branch or branches[1] is not value.false_branch:
            new = If(value.cond, branches[0], branches[1], value.span)
            new.struct_info_ = value.struct_info_
            return with_value(binding, new)
    elif isinstance(value, Function):
        return with_value(binding, with_body(value, _seq(value.body, min_size)))
    return binding
