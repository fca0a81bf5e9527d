"""List the variables of a block in another order."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.tir.block_scope import StmtSRef
from tvm.tir.schedule.analysis.query import block_of, realize_of
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import BlockRealize

KIND = kind("ReorderBlockIterVar", "reorder_block_iter_var", "block", "=new_order")


def reorder_block_iter_var(state: SRefTree, block: StmtSRef, new_order: Sequence[int]) -> None:
    """Reorder the variables together with their values.

    vi = T.axis.S(n, i); vj = T.axis.S(m, j)  ->  vj = T.axis.S(m, j); vi = T.axis.S(n, i)
    """
    node = block_of(block)
    order = [int(i) for i in new_order]
    if sorted(order) != list(range(len(node.iter_vars))):
        raise Illegal(
            f"{order} is no order of the {len(node.iter_vars)} variables of block "
            f"{node.name_hint!r}",
            legal=f"a permutation of {list(range(len(node.iter_vars)))}",
            spots=[node],
            fast="The specified reorder indices are invalid.",
            detail=f"The user provided block itervar index order {list(new_order)} is not a valid "
            "permutation of [0, 1, ..., num_block_iter_vars-1] in block {0}.",
        )
    realize = realize_of(state, block)
    new = change_block(node, iter_vars=[node.iter_vars[i] for i in order])
    values = [realize.iter_values[i] for i in order]
    replace_realize(state, block, BlockRealize(values, realize.predicate, new, realize.span))


def replace_realize(state: SRefTree, block: StmtSRef, realize: BlockRealize) -> None:
    """Give a block another realize around its new form."""
    old = block_of(block)
    state.replace(block, realize, {old: realize.block})
