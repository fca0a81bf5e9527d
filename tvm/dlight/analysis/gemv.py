"""Matrix times vector, as rules recognise it."""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.tir.buffer import Buffer
from tvm.tir.expr import Add, BufferLoad, Var
from tvm.tir.schedule import LoopRV, Schedule
from tvm.tir.stmt import Block, BufferRegion, BufferStore

from .access import dominant_access, split_terms
from .common_analysis import (
    BlockInfo,
    collect_block_iter_vars_used_in_access_region,
    collect_vars_used_in_prim_expr,
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
    if not block_info.is_reduction() or len(block.writes) != 1 or len(block.reads) < 2:
        return None
    if get_reduction_expr(block) is None or not _used(block, block.writes[0]):
        return None
    count = len(block.iter_vars)
    vectors = [r.buffer for r in block.reads if 0 < len(_used(block, r)) < count]
    return vectors if 0 < len(vectors) < len(block.reads) else None


def normalize(sch: Schedule, block_info: BlockInfo) -> bool | None:
    """Reorder and fuse the loops to batch, spatial, reducing, and a packed part of the reduction.

    The packed part is what a division in the matrix's index leaves together, as in W[i, k // 8];
    it has extent 1 without one. True if the matrix moves along memory with the reduction, False
    if not, None if the loops do not fit.
    """
    block: Block = sch.get(block_info.block_rv)
    access = dominant_access(block)
    if access is None or collect_vars_used_in_prim_expr(access.base) & _variables(block):
        return None
    terms = split_terms(access)
    infos = {i.var: i for i in block_info.iters}
    if any(var not in infos for var, _ in terms) or not terms:
        return None
    packed = [(var, factor) for var, factor in terms if factor > 1]
    if len(packed) > 1 or any(infos[var].kind != "R" for var, _ in packed):
        return None
    regions = [_used(block, r) for r in (*block.writes, *block.reads)]
    groups: dict[str, list[LoopRV]] = {"batch": [], "spatial": [], "reducing": [], "packed": []}
    for var, factor in terms:
        loop = infos[var].loop_rv
        if factor > 1:
            loop, inner = sch.split(loop, factors=[None, factor])
            groups["packed"].append(inner)
        shared = all(var in used for used in regions)
        kind = "reducing" if infos[var].kind == "R" else "batch" if shared else "spatial"
        groups[kind].append(loop)
    if not groups["spatial"] or not groups["reducing"]:
        return None
    for kind in ("packed", "batch"):
        groups[kind] = groups[kind] or [sch.add_unit_loop(block_info.block_rv)]
    sch.reorder(*[loop for group in groups.values() for loop in group])
    for kind in ("batch", "spatial", "reducing"):
        sch.fuse(*groups[kind])
    return infos[terms[-1][0]].kind == "R"


def _variables(block: Block) -> set[Var]:
    return {iv.var for iv in block.iter_vars}


def _used(block: Block, region: BufferRegion) -> set[Var]:
    return collect_block_iter_vars_used_in_access_region(block, list(region.region))
