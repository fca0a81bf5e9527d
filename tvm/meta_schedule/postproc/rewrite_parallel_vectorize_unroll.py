"""What a root block's annotations ask for is done: loops run in parallel, in vectors, unrolled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tvm.arith import Analyzer
from tvm.arith.pattern import linear_equation
from tvm.error import InternalError
from tvm.ir.expr import PrimExpr
from tvm.meta_schedule.structure import (
    PARALLEL,
    UNROLL_EXPLICIT,
    UNROLL_IMPLICIT,
    VECTORIZE,
    extent_of,
    func_names,
    is_single,
    is_spatial,
)
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IntImm, IterVar, Var
from tvm.tir.functor import substitute
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.schedule.analysis.interval import linear_terms
from tvm.tir.schedule.analysis.query import loop_kind, loop_of, loops_above, realize_of
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, For, ForKind

from .postproc import Postproc


class RewriteParallelVectorizeUnroll(Postproc):
    """Fuses outer loops to a parallel one, inner loops to a vector, and marks loops to unroll."""

    def __init__(self) -> None:
        pass

    def apply(self, sch: Schedule) -> bool:
        """Always True."""
        while (found := _annotated_root(sch)) is not None:
            root, wishes = found
            for block in sch.get_child_blocks(root):
                _rewrite(sch, block, wishes)
        return True


class _Wishes(NamedTuple):
    """What the annotations of a root ask for; -1 for nothing."""

    parallel: int
    vector: int
    explicit: int
    implicit: int


_KEYS = (PARALLEL, VECTORIZE, UNROLL_EXPLICIT, UNROLL_IMPLICIT)


def _annotated_root(sch: Schedule) -> tuple[BlockRV, _Wishes] | None:
    """A root with annotations, which are taken from it."""
    for name, func in func_names(sch):
        if not isinstance(func.body, BlockRealize):
            continue
        root: Block = func.body.block
        keys = [key for key in _KEYS if key in root.annotations]
        if keys:
            wishes = _Wishes(*[_number(root.annotations.get(key, -1)) for key in _KEYS])
            if -1 not in (wishes.explicit, wishes.implicit):
                raise InternalError(
                    f"RewriteParallelVectorizeUnroll: {name} asks for {UNROLL_EXPLICIT} and for "
                    f"{UNROLL_IMPLICIT}; legal: one of them"
                )
            block = sch.get_block(root.name_hint, name)
            for key in keys:
                sch.unannotate(block, key)
            return block, wishes
    return None


def _number(value: Any) -> int:
    return int(getattr(value, "value", value))


def _rewrite(sch: Schedule, block: BlockRV, wishes: _Wishes) -> None:
    loops = sch.get_loops(block)
    if not loops:
        return
    parallel, vector = _plan(sch, sch.get_sref(block), wishes)
    if parallel == len(loops) == vector:
        outer, inner = sch.split(sch.fuse(*loops), [None, wishes.vector])
        sch.parallel(outer)
        sch.vectorize(inner)
        first = outer
    else:
        first = _fuse_ends(sch, loops, parallel, vector)
    steps = max(wishes.explicit, wishes.implicit)
    if steps > 0 and not is_spatial(sch.get(block)):
        sch.annotate(first, "pragma_auto_unroll_max_step", steps)
        sch.annotate(first, "pragma_unroll_explicit", int(wishes.explicit != -1))


def _fuse_ends(sch: Schedule, loops: list[LoopRV], parallel: int, vector: int) -> LoopRV:
    """Run the first loops in parallel and the last as a vector; returns the outermost loop."""
    first = loops[0]
    if parallel > 0:
        first = sch.fuse(*loops[:parallel])
        sch.parallel(first)
    if vector > 0:
        fused = sch.fuse(*loops[len(loops) - vector :])
        sch.vectorize(fused)
        first = fused if vector == len(loops) else first
    return first


def _plan(sch: Schedule, block: StmtSRef, wishes: _Wishes) -> tuple[int, int]:
    """How many outer loops run in parallel, and how many inner ones are a vector."""
    if wishes.parallel == -1 and wishes.vector == -1:
        return -1, -1
    nest = [_Loop.of(sref) for sref in loops_above(block)]
    contiguous = _contiguous(realize_of(sch.state, block), nest)
    plain = [loop.free and loop.spatial and loop.extent is not None for loop in nest]
    single = all(is_single(loop.node.body) for loop in nest)
    several = any(loop.extent != 1 for loop in nest)
    if -1 not in wishes[:2] and all(plain) and single and several and contiguous == len(nest):
        return len(nest), len(nest)
    vector = _vector_loops(nest, wishes.vector, contiguous)
    parallel = min(_parallel_loops(nest, wishes.parallel), len(nest) - vector)
    return parallel, vector


class _Loop(NamedTuple):
    node: For
    extent: int | None
    spatial: bool
    free: bool  # neither annotated nor bound; loops of another kind may be fused again

    @staticmethod
    def of(sref: StmtSRef) -> _Loop:
        node = loop_of(sref)
        free = node.kind is not ForKind.THREAD_BINDING and not node.annotations
        return _Loop(node, extent_of(node), loop_kind(sref) == IterVar.DataPar, free)


def _parallel_loops(nest: Sequence[_Loop], most: int) -> int:
    """Outer loops until they have more iterations than there are jobs; -1 if all have one."""
    if most == -1:
        return -1
    count, total = 0, 1
    for loop in nest:
        if not loop.spatial or not loop.free or loop.extent is None:
            break
        count += 1
        total *= loop.extent
        if total > most or not is_single(loop.node.body):
            break
    return -1 if total == 1 else count


def _vector_loops(nest: Sequence[_Loop], most: int, contiguous: int) -> int:
    """Inner loops that fit in a vector; -1 if one iteration is all there is."""
    if most == -1:
        return -1
    count, total = 0, 1
    for loop in reversed(nest):
        single = is_single(loop.node.body)
        if count >= contiguous or not loop.spatial or not loop.free or not single:
            break
        if loop.extent is None or total * loop.extent > most:
            break
        count += 1
        total *= loop.extent
    return -1 if total == 1 else count


def _contiguous(realize: BlockRealize, nest: Sequence[_Loop]) -> int:
    """How many inner loops go through all that the block accesses element by element."""
    values = dict(zip([iv.var for iv in realize.block.iter_vars], realize.iter_values))
    found = len(nest)
    for region in (*realize.block.reads, *realize.block.writes):
        strides = _strides(region, values, [loop.node for loop in nest])
        found = min(found, _dense(strides, [loop.extent or 0 for loop in nest]))
    return found


def _dense(strides: Sequence[int], extents: Sequence[int]) -> int:
    """Inner loops in which the index moves by one; those in which it does not move count too."""
    count, last = 0, -1
    for i in range(len(strides) - 1, -1, -1):
        if strides[i] == 0:
            count += 1
            continue
        if last == -1:
            if strides[i] != 1 and count:
                break
        elif strides[i] != strides[last] * extents[last]:
            break
        count += 1
        last = i
    return count


def _strides(region: BufferRegion, values: Any, loops: Sequence[For]) -> list[int]:
    """How far in memory each loop moves what is accessed; 0 if it does not, or as nobody knows."""
    analyzer = Analyzer()
    indices = [analyzer.simplify(substitute(rng.min, values)) for rng in region.region]
    loop_vars = frozenset([loop.loop_var for loop in loops])
    sums = [(index, linear_terms(index, loop_vars)) for index in indices]
    found = []
    for loop in loops:
        stride, below = 0, 1
        for (index, terms), extent in zip(reversed(sums), reversed(region.buffer.shape)):
            factor = _factor(index, loop.loop_var) if terms is None else terms.get(loop.loop_var, 0)
            if factor:
                stride = factor * below
                break
            below *= extent.value if isinstance(extent, IntImm) else 0
        found.append(stride)
    return found


def _factor(index: PrimExpr, var: Var) -> int:
    """What the variable is multiplied by; 0 if it does not occur, or as nobody knows."""
    linear = linear_equation(index, [var])
    factor = linear[0] if linear else None
    return factor.value if isinstance(factor, IntImm) else 0
