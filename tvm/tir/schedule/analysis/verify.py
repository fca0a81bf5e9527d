"""Self-check: the srefs of a schedule agree with its program."""

from __future__ import annotations

from tvm.tir.function import PrimFunc
from tvm.tir.schedule.tree import SRefTree, inner_stmts
from tvm.tir.stmt import Block, BlockRealize, For


def verify_tree(tree: SRefTree) -> None:
    """Assert that each block and loop has its sref, with the right parent and number."""
    seen = 0
    for gvar, root in tree.roots():
        func = tree.mod.functions[gvar]
        assert isinstance(func, PrimFunc), "only TIR functions are scheduled"
        assert isinstance(func.body, BlockRealize), "the root block is realized"
        assert root.stmt is func.body.block, "the root sref shows the function's root block"
        assert root.parent is None, "a root has no parent"
        stack: list[Block | For] = [func.body.block]
        while stack:
            stmt = stack.pop()
            seen += 1
            here = tree.get_sref(stmt)
            assert here.stmt is stmt, "an sref shows its statement"
            for inner, index in inner_stmts(stmt):
                below = tree.get_sref(inner)
                assert below.parent is here, "an sref knows its parent"
                assert below.seq_index == index, "an sref knows its number in a sequence"
                stack.append(inner)
    assert seen == len(tree._refs), "no sref is left over from an earlier program"
