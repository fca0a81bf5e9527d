"""Matrix times vector, as rules recognise it."""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.tir.buffer import Buffer
from tvm.tir.expr import Add, BufferLoad, IterVar
from tvm.tir.op.arith import is_one
from tvm.tir.schedule import Schedule
from tvm.tir.stmt import Block, BufferStore

from .common_analysis import (
    BlockInfo,
    collect_block_iter_vars_used_in_access_region,
)


def get_reduction_expr(block: Block) -> PrimExpr | None:
    """What a block adds up: X of `C[...] = C[...] + X`; None for other blocks."""
    store = block.body
    if not isinstance(store, BufferStore) or not isinstance(store.value, Add):
        return None
    own = store.value.a
    if not isinstance(own, BufferLoad) or own.buffer is not store.buffer:
        return None
    same = len(own.indices) == len(store.indices) and all(
        a is b for a, b in zip(own.indices, store.indices)
    )
    return store.value.b if same else None


def is_gemv(sch: Schedule, block_info: BlockInfo) -> list[Buffer] | None:
    """The vectors of a matrix-vector product: buffers that some of the variables do not touch."""
    block: Block = sch.get(block_info.block_rv)
    if not block_info.is_reduction() or len(block.writes) != 1:
        return None
    if not 1 < len(block.reads) < 4 or get_reduction_expr(block) is None:
        return None
    moving = {iv.var for iv in block.iter_vars if iv.dom is not None and not is_one(iv.dom.extent)}
    vectors: list[Buffer] = []
    for region in block.reads:
        used = collect_block_iter_vars_used_in_access_region(block, list(region.region)) & moving
        if 0 < len(used) < len(moving):
            vectors.append(region.buffer)
    return vectors if 0 < len(vectors) < len(block.reads) else None


def normalize(sch: Schedule, block_info: BlockInfo) -> bool | None:
    """Order the loops batch, spatial, reducing and fuse each group.

    True if the matrix moves along memory with the reduction, False if not, None if unclear.
    """
    block: Block = sch.get(block_info.block_rv)
    matrix = max(
        block.reads,
        key=lambda r: len(collect_block_iter_vars_used_in_access_region(block, list(r.region))),
    )
    last = matrix.region[-1].min
    inner = next((iv for iv in block.iter_vars if iv.var is last), None)
    if inner is None:
        return None
    spatial = [i.loop_rv for i in block_info.iters if i.kind == "S"]
    reducing = [i.loop_rv for i in block_info.iters if i.kind == "R"]
    if not spatial or not reducing:
        return None
    sch.reorder(*spatial, *reducing)
    sch.fuse(*spatial)
    sch.fuse(*reducing)
    return inner.iter_type == IterVar.CommReduce
