"""Read the last element again instead of padding."""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import BufferLoad, Call, Min, Var
from tvm.tir.functor import substitute
from tvm.tir.schedule.analysis.query import block_of
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.schedule.regions import with_regions
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import BufferStore

KIND = kind("UnsafeRepeatEdge", "unsafe_repeat_edge", "block")


def unsafe_repeat_edge(state: SRefTree, block: StmtSRef) -> None:
    """Let a copy that pads read the last element of its source where it would write padding.

    B[i] = if_then_else(i < n, A[i], 0)  ->  B[i] = A[min(i, n - 1)]
    """
    node = block_of(block)
    store = node.body
    choice = store.value if isinstance(store, BufferStore) else None
    load = choice.args[1] if isinstance(choice, Call) and len(choice.args) == 3 else None
    if not isinstance(store, BufferStore) or not isinstance(load, BufferLoad):
        raise Illegal(
            f"block {node.name_hint} does not pad",
            legal="a block B[i] = if_then_else(i < n, A[i], 0)",
            spots=[node],
            fast="the block does not pad",
        )
    limits: dict[Var, PrimExpr] = {}
    for index, small, large in zip(load.indices, load.buffer.shape, store.buffer.shape):
        if small is not large and isinstance(index, Var):
            limits[index] = Min(index, small - 1)
    value = substitute(load, limits)
    body = BufferStore(store.buffer, value, store.indices, None, store.span)
    clamped = with_regions(change_block(node, body=body))
    state.replace(block, clamped, {node: clamped})
