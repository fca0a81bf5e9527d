"""What rules ask of a block and the loops around it before they touch it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tvm.ir.expr import PrimExpr
from tvm.tir.analysis import undefined_vars
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import Add, IntImm, IterVar, Sub, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements
from tvm.tir.op.arith import is_one, is_zero
from tvm.tir.schedule import BlockRV, Schedule, ScheduleState
from tvm.tir.schedule.analysis.blocks import is_reduction
from tvm.tir.schedule.analysis.query import block_of, loop_kind, loop_of, loops_above, realize_of
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, For, SeqStmt, Stmt

# Annotations by which rules, postprocessors and mutators speak to each other.
TILING = "meta_schedule.tiling_structure"
FETCH = "meta_schedule.cooperative_fetch"
MIN_THREADS = "meta_schedule.thread_extent_low_inclusive"
MAX_THREADS = "meta_schedule.thread_extent_high_inclusive"
RANDOM_PRODUCER = "meta_schedule.random_compute_producer"
PARALLEL = "meta_schedule.parallel"
VECTORIZE = "meta_schedule.vectorize"
UNROLL_EXPLICIT = "meta_schedule.unroll_explicit"
UNROLL_IMPLICIT = "meta_schedule.unroll_implicit"
TENSORIZE = "meta_schedule.auto_tensorize"
TENSORIZE_INIT = "meta_schedule.auto_tensorize_init"
PREPROC = "meta_schedule.layout_rewrite_preproc"
INLINE_RULE = "meta_schedule.inline_rule"
WRITE_CACHE_LEVEL = "meta_schedule.write_cache_level"
WARP = "warp_execution"


def is_root(sref: StmtSRef) -> bool:
    """True for the block around everything."""
    return sref.parent is None


def is_tiled(sref: StmtSRef) -> bool:
    """True if the block has the loops of multi-level tiling."""
    return TILING in block_of(sref).annotations


def is_spatial(block: Block) -> bool:
    """True if all variables are data parallel."""
    return all(iv.iter_type == IterVar.DataPar for iv in block.iter_vars)


def in_spatial_func(sch: Schedule, block: BlockRV) -> bool:
    """True if no block of the function reduces."""
    return is_spatial_func(sch.state.function_of(sch.get_sref(block)))


def is_spatial_func(func: PrimFunc) -> bool:
    """True if no block of the function reduces."""
    return all(is_spatial(node) for node in statements(func.body, Block))


def is_trivial_binding(state: ScheduleState, sref: StmtSRef) -> bool:
    """True if the variables of a block are the loops around it, one by one."""
    loops = [loop_of(outer).loop_var for outer in loops_above(sref)]
    values = realize_of(state, sref).iter_values
    return len(loops) == len(values) and all(v is loop for v, loop in zip(values, loops))


def extent_of(loop: For) -> int | None:
    """How often a loop runs; None if only the running program knows."""
    return loop.extent.value if isinstance(loop.extent, IntImm) else None


def is_single(body: Stmt) -> bool:
    """True if a loop's body is one statement."""
    if isinstance(body, SeqStmt):
        return False
    if isinstance(body, BlockRealize):
        return is_single(body.block.body)
    return True


def thread_of(loop: For) -> str:
    """The thread axis that a loop is bound to, or an empty string."""
    return "" if loop.thread_binding is None else str(loop.thread_binding.thread_tag)


def is_write_cache(sref: StmtSRef) -> bool:
    """True for a block that reads each thing once, in the order in which it writes."""
    block = block_of(sref)
    if len(block.writes) != 1:
        return False
    pairs = [index_order(region, block.writes[0]) for region in block.reads]
    return all(pair is not None and pair.injective and pair.ordered for pair in pairs)


class IndexOrder(NamedTuple):
    """How the indices that are read follow from those that are written."""

    injective: bool  # no variable tells two of them
    ordered: bool  # the variables come in the same order


def index_order(read: BufferRegion, write: BufferRegion) -> IndexOrder | None:
    """None unless each index is a variable in the write, and one of these, a literal or a variable
    with a literal added in the read."""
    dims: dict[object, int] = {}
    for dim, rng in enumerate(write.region):
        if not isinstance(rng.extent, IntImm) or not isinstance(rng.min, Var):
            return None
        dims[rng.min] = dim
    mapped: list[int] = []
    for rng in read.region:
        if not isinstance(rng.extent, IntImm):
            return None
        if isinstance(rng.min, IntImm):
            continue
        var = _without_shift(rng.min)
        if var not in dims:
            return None
        mapped.append(dims[var])
    return IndexOrder(len(set(mapped)) == len(mapped), mapped == sorted(mapped))


def _without_shift(expr: PrimExpr) -> PrimExpr:
    if isinstance(expr, (Add, Sub)) and isinstance(expr.b, IntImm):
        return expr.a
    if isinstance(expr, Add) and isinstance(expr.a, IntImm):
        return expr.b
    return expr


def needs_multi_level_tiling(state: ScheduleState, sref: StmtSRef) -> bool:
    """True if a reduction reads something again for some of its data-parallel variables."""
    block = block_of(sref)
    if is_root(sref) or is_tiled(sref) or len(block.writes) != 1 or not block.reads:
        return False
    if is_spatial(block) or not is_trivial_binding(state, sref):
        return False
    spatial = {iv.var for iv in block.iter_vars if iv.iter_type == IterVar.DataPar and _moves(iv)}
    written = block.writes[0].buffer
    unused = 0
    for region in block.reads:
        if region.buffer is written:
            continue
        used: set[object] = set()
        for rng in region.region:
            if not isinstance(rng.extent, IntImm):
                return False
            used.update(undefined_vars(rng.min))
        unused += len(spatial - used)
    return unused >= 1


def _moves(iv: IterVar) -> bool:
    return iv.dom is None or not (is_zero(iv.dom.min) and is_one(iv.dom.extent))


def needs_parallel_reduction(state: ScheduleState, sref: StmtSRef, max_parallel: int) -> bool:
    """True if a reduction may gain from being reduced in parallel parts.

    Blocks that are tiled in several levels have to lack data-parallel iterations: `max_parallel` is
    how many are enough. Others are always tried.
    (The conditions of Zheng et al., "Ansor", OSDI 2020, for its rule "add rfactor".)
    """
    if is_root(sref) or is_tiled(sref) or not is_reduction(state, sref):
        return False
    if not block_of(sref).writes or not is_trivial_binding(state, sref):
        return False
    lengths = space_and_reduction(state, sref)
    if lengths is None:
        return False
    space, reduced = lengths
    if needs_multi_level_tiling(state, sref):
        return not (space >= reduced or space > max_parallel)
    return reduced > 1


def space_and_reduction(state: ScheduleState, sref: StmtSRef) -> tuple[int, int] | None:
    """Data-parallel and reducing iterations of a plain nest around one block, or None."""
    loops = loops_above(sref)
    kinds = [loop_kind(outer) for outer in loops]
    if IterVar.CommReduce not in kinds or not set(kinds) <= {IterVar.DataPar, IterVar.CommReduce}:
        return None
    space = reduced = 1
    inner: list[object] = [*[loop_of(outer) for outer in loops[1:]], block_of(sref)]
    for outer, kind, below in zip(loops, kinds, inner):
        loop = loop_of(outer)
        body = loop.body.block if isinstance(loop.body, BlockRealize) else loop.body
        extent = extent_of(loop)
        if body is not below or extent is None:
            return None
        if kind == IterVar.DataPar:
            space *= extent
        else:
            reduced *= extent
    return space, reduced


def number(stmt: Block | For, key: str) -> int:
    """An annotation that is a number."""
    value: Any = stmt.annotations[key]
    return int(getattr(value, "value", value))


def func_names(sch: Schedule) -> Iterable[tuple[str, PrimFunc]]:
    """The scheduled functions of a module by name."""
    return [(g.name_hint, f) for g, f in sch.mod.functions.items() if isinstance(f, PrimFunc)]
