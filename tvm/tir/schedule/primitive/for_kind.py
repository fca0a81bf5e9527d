"""Say who runs the iterations of a loop: threads of a pool, vector lanes, unrolled code."""

from __future__ import annotations

from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IterVar, Var
from tvm.tir.functor import uses_var
from tvm.tir.schedule.analysis.affine import require_affine
from tvm.tir.schedule.analysis.blocks import is_complete, require_compact_below
from tvm.tir.schedule.analysis.flags import pipeline_scope
from tvm.tir.schedule.analysis.query import block_of, loop_of, realize_of
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.rebuild import change_loop
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import ForKind

PARALLEL = kind("Parallel", "parallel", "loop")
VECTORIZE = kind("Vectorize", "vectorize", "loop")
BIND = kind("Bind", "bind", "loop", "=thread_axis")
UNROLL = kind("Unroll", "unroll", "loop")
_AXES = [f"{kind_}.{dim}" for kind_ in ("blockIdx", "threadIdx") for dim in "xyz"]
_WORDS = {
    ForKind.PARALLEL: "parallel",
    ForKind.VECTORIZED: "vectorized",
    ForKind.THREAD_BINDING: "bound to a thread",
}
_CALLS = {
    ForKind.PARALLEL: "parallel",
    ForKind.VECTORIZED: "vectorize",
    ForKind.THREAD_BINDING: "bind",
}


def parallel(state: SRefTree, loop: StmtSRef) -> None:
    """Let the iterations run at the same time on several threads.

    for i in range(n): S  ->  for i in T.parallel(n): S
    """
    require_parallelizable(state, loop, ForKind.PARALLEL, "")
    state.replace(loop, change_loop(loop_of(loop), kind=ForKind.PARALLEL, thread_binding=None))


def vectorize(state: SRefTree, loop: StmtSRef) -> None:
    """Let the iterations be the lanes of vectors.

    for i in range(n): S  ->  for i in T.vectorized(n): S
    """
    require_parallelizable(state, loop, ForKind.VECTORIZED, "")
    state.replace(loop, change_loop(loop_of(loop), kind=ForKind.VECTORIZED, thread_binding=None))


def bind(state: SRefTree, loop: StmtSRef, thread_axis: str) -> None:
    """Let each iteration be a thread, or block of threads, of a launch.

    for i in range(n): S  ->  for i in T.thread_binding(n, thread=thread_axis): S
    """
    node = loop_of(loop)
    if not thread_axis.startswith("vthread") and thread_axis not in _AXES:
        raise Illegal(
            f"there is no thread axis {thread_axis!r}",
            legal=f"{', '.join(_AXES)}, vthread, vthread.x, ...",
            spots=[node],
            fast="Unknown thread axis",
        )
    require_parallelizable(state, loop, ForKind.THREAD_BINDING, thread_axis)
    axis = IterVar(None, Var(thread_axis, node.loop_var.dtype), IterVar.ThreadIndex, thread_axis)
    state.replace(loop, change_loop(node, kind=ForKind.THREAD_BINDING, thread_binding=axis))


def unroll(state: SRefTree, loop: StmtSRef) -> None:
    """Let the code of all iterations stand one after the other.

    for i in range(n): S  ->  for i in T.unroll(n): S
    """
    state.replace(loop, change_loop(loop_of(loop), kind=ForKind.UNROLLED, thread_binding=None))


def require_parallelizable(
    state: SRefTree, loop: StmtSRef, kind_: ForKind, thread_axis: str
) -> None:
    """Refuse a loop whose iterations could write the same element, or read what another writes."""
    pipeline_scope(state, loop)
    require_compact_below(state, loop)
    node = loop_of(loop)
    for child in state.child_blocks(loop):
        if not is_complete(state, child):
            require_affine(state, child)  # else iterations that overlap store the same values
        realize = realize_of(state, child)
        for iv, value in zip(realize.block.iter_vars, realize.iter_values):
            if not uses_var(value, node.loop_var):
                continue
            if iv.iter_type == IterVar.DataPar:
                continue
            if iv.iter_type == IterVar.CommReduce and thread_axis.startswith("threadIdx"):
                continue  # reductions across the threads of one block are lowered as such
            raise Illegal(
                f"the loop {node.loop_var.name!r} cannot be {_WORDS[kind_]}: the variable "
                f"{iv.var.name!r} of block {realize.block.name_hint!r} depends on it, and is not "
                "data parallel, so two iterations would update the same element",
                legal="a loop that only data-parallel block variables depend on "
                "(see rfactor for reductions)",
                spots=[block_of(child), node],
                fast=f'The "{_CALLS[kind_]}" cannot be fulfilled with regard to some of its '
                "underlying block",
                detail=f'The "{_CALLS[kind_]}" cannot be fulfilled with regard to block {{0}} '
                "because some block iter whose block binding contains the loop var is not a data "
                "parallel block iter",
            )

