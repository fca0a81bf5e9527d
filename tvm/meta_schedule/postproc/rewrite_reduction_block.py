"""The init of a reduction has a loop nest of its own, so that the sum can be vectorized."""

from __future__ import annotations

from tvm.meta_schedule.structure import TENSORIZE, TENSORIZE_INIT, func_names, thread_of
from tvm.tir.expr import IterVar, Var
from tvm.tir.functor import statements, walk
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.schedule.analysis.query import is_parallel_loop, realizes_below
from tvm.tir.stmt import BlockRealize, For, Stmt

from .postproc import Postproc


class RewriteReductionBlock(Postproc):
    """Decomposes reductions at the outermost loop that reduces; not those across threads."""

    def __init__(self) -> None:
        pass

    def apply(self, sch: Schedule) -> bool:
        """Always True."""
        while True:
            found = [(f, r.block.name_hint) for f, r in _reductions(sch)]
            done = [_decomposed(sch, sch.get_block(name, func)) for func, name in found]
            if not any(done):
                return True


def _decomposed(sch: Schedule, block: BlockRV) -> bool:
    loops = sch.get_loops(block)
    point = next((l for l in loops if not is_parallel_loop(sch.get_sref(l))), None)
    if point is None:
        return False
    init = sch.decompose_reduction(block, point)
    annotations = sch.get(block).annotations
    if TENSORIZE in annotations:
        # the init has an intrinsic of its own; an empty name asks for vectors instead
        own = annotations.get(TENSORIZE_INIT)
        sch.unannotate(init, TENSORIZE)
        sch.annotate(init, TENSORIZE, "" if own is None else own)
        if own is not None:
            sch.unannotate(block, TENSORIZE_INIT)
            sch.unannotate(init, TENSORIZE_INIT)
    return True


def _reductions(sch: Schedule) -> list[tuple[str, BlockRealize]]:
    """Blocks with an init whose reducing variables do not depend on threads, outer ones first."""
    found: list[tuple[str, BlockRealize]] = []
    for name, func in func_names(sch):
        bound = {
            node.loop_var
            for node in statements(func.body, For)
            if thread_of(node).startswith(("threadIdx", "blockIdx"))
        }
        stack: list[Stmt] = [func.body]
        while stack:
            inner: list[Stmt] = []
            for realize in realizes_below(stack.pop()):
                if realize.block.init is not None and not _across_threads(realize, bound):
                    found.append((name, realize))
                inner.append(realize.block.body)
            stack.extend(reversed(inner))
    return found


def _across_threads(realize: BlockRealize, bound: set[Var]) -> bool:
    return any(
        part in bound
        for iv, value in zip(realize.block.iter_vars, realize.iter_values)
        if iv.iter_type == IterVar.CommReduce
        for part in walk(value)
    )
