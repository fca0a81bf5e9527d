"""What tests of passes ask of the analyses within them."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.module import IRModule
from tvm.ir.transform import Pass
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, DataflowBlock, Function, Var
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.transform.dataflow_aliases import Aliases, live_ranges
from tvm.relax.transform.dataflow_inplace import (
    InplaceOpportunity,
    inplace_call,
    inplace_opportunities,
)
from tvm.relax.transform.pass_form import function_pass

__all__ = [
    "ApplyEmptyCppMutator", "InplaceOpportunity", "dataflow_alias_analysis",
    "dataflow_inplace_analysis", "dataflow_liveness_analysis", "dataflow_single_inplace_call",
]  # fmt: skip


def ApplyEmptyCppMutator() -> Pass:
    """A pass that rebuilds every function with a mutator that changes nothing."""

    def rebuild(func: Function, mod: IRModule, ctx: object) -> object:
        return PyExprMutator(mod).visit_expr(func)

    made: Pass = function_pass(rebuild, opt_level=0, name="ApplyEmptyCppMutator")
    return made


def dataflow_liveness_analysis(block: DataflowBlock) -> dict[Var, tuple[int, int]]:
    """For each variable the binding that defines it (-1: none) and the last that uses it.

    As in v0.22, items that are taken of a tuple are values of their own, and no use of it.
    """
    return live_ranges(block, by_items=False)


def dataflow_alias_analysis(
    block: DataflowBlock, inputs: Sequence[Var]
) -> tuple[dict[Var, set[int]], dict[int, list[set[int]]]]:
    """The numbers of the memory of each variable, and those of the fields of tuples."""
    found = Aliases(block, inputs)
    return found.sets, found.tuples


def dataflow_inplace_analysis(
    block: DataflowBlock, inputs: Sequence[Var], mod: IRModule
) -> tuple[list[tuple[int, set[int]]], list[tuple[int, set[int]]]]:
    """Bindings whose result fits in operands; and those where the operands are alike too."""
    fitting, exact = inplace_opportunities(block, inputs)
    return _shown(fitting), _shown(exact)


def _shown(found: Sequence[InplaceOpportunity]) -> list[tuple[int, set[int]]]:
    return [(one.binding_idx, set(one.arg_idxs)) for one in found]


def dataflow_single_inplace_call(
    mod: IRModule, call: Call, inplace_indices: Sequence[int]
) -> tuple[Call, IRModule]:
    """The in-place form of an operator's call, and the module with its kernel."""
    bb = BlockBuilder(mod)
    new, _ = inplace_call(bb, call, inplace_indices)
    return new, bb.get()
