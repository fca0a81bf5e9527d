"""Put runs of pure bindings into dataflow blocks.

    lv = R.add(x, y)                     with R.dataflow():
    gv = R.multiply(lv, y)       ->          lv = R.add(x, y); gv = R.multiply(lv, y)
    z = R.call_packed(...)                   R.output(gv)
                                         z = R.call_packed(...)

A run must have at least `min_size` bindings that are more than another name. Branches, calls with
effects and local functions end it. Values that only the run reads become inner ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    Function,
    If,
    SeqExpr,
    Var,
)
from tvm.relax.normalize import merge_blocks
from tvm.relax.transform.canonicalize_bindings import canonicalize_bindings
from tvm.relax.transform.dead_code_elimination import has_effects
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import with_body, with_value


@relax_pass("ConvertToDataflow")
def ConvertToDataflow(
    func: Function, mod: IRModule, ctx: PassContext, min_size: int = 2
) -> Function:
    """Convert in the function, its branches and its local functions."""
    new = with_body(func, _seq(func.body, min_size))
    return func if new is func else canonicalize_bindings(new)


def _seq(seq: SeqExpr, min_size: int) -> SeqExpr:
    blocks = [part for block in seq.blocks for part in _split(block, min_size)]
    if len(blocks) == len(seq.blocks) and all(a is b for a, b in zip(blocks, seq.blocks)):
        return seq
    new = SeqExpr(merge_blocks(blocks), seq.body, seq.span)
    new.struct_info_ = seq.struct_info_
    return new


def _split(block: BindingBlock, min_size: int) -> list[BindingBlock]:
    """The block as runs of what may be dataflow and what may not."""
    if isinstance(block, DataflowBlock):
        return [block]
    parts: list[BindingBlock] = []
    for pure, run in _runs([_inside(binding, min_size) for binding in block.bindings]):
        counted = sum(not isinstance(binding.value, Var) for binding in run)
        kind = DataflowBlock if pure and counted >= min_size else BindingBlock
        parts.append(kind(run, block.span))
    if len(parts) == 1 and type(parts[0]) is BindingBlock:
        same = all(a is b for a, b in zip(parts[0].bindings, block.bindings))
        return [block] if same else parts
    return parts


def _runs(bindings: Sequence[Binding]) -> Iterator[tuple[bool, list[Binding]]]:
    run: list[Binding] = []
    pure = False
    for binding in bindings:
        value = binding.value
        is_pure = not isinstance(value, (If, Function)) and not has_effects(value)
        if run and is_pure is not pure:
            yield pure, run
            run = []
        pure = is_pure
        run.append(binding)
    if run:
        yield pure, run


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
