"""Every block of a GPU function gets threads, so that it runs; speed is the business of rules.

    for i, j in T.grid(100, 64):             for b in T.thread_binding(7, "blockIdx.x"):
        with T.block("add"): ...       ->        for t in T.thread_binding(1024, "threadIdx.x"):
                                                     with T.block("add"): ...

The data-parallel loops of a block become one, which is split over blocks and threads. The pass
stands with the schedules that it makes; its name is in `tvm.tir.transform`.
"""

from __future__ import annotations

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc

from .random_variable import BlockRV
from .schedule import Schedule

SCHEDULED = "tir.is_scheduled"
_MAX_BLOCKS = 256


@declare_module_pass("tir.DefaultGPUSchedule")
def DefaultGPUSchedule(mod: IRModule, ctx: PassContext) -> IRModule:
    """Functions for a GPU that are not scheduled yet are; all functions are marked as scheduled."""
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if not isinstance(func, PrimFunc) or func.attrs.get(SCHEDULED):
            functions[var] = func
            continue
        target = func.attrs.get("target") or Target.current(allow_none=True)
        new = func
        if isinstance(target, Target) and "gpu" in target.keys:
            new = _scheduled(func, var.name_hint, _threads_per_block(target))
        functions[var] = new.with_attr(SCHEDULED, True)
    return mod.with_functions(functions)


def _threads_per_block(target: Target) -> int:
    most = target.attrs.get("max_threads_per_block", target.attrs.get("max_num_threads"))
    if most is None:
        raise CheckError(
            message(
                "DefaultGPUSchedule: threads for a block",
                found=f"target {target} does not say how many it takes",
                legal="a target with max_threads_per_block",
            )
        )
    return int(most)


def _scheduled(func: PrimFunc, name: str, threads: int) -> PrimFunc:
    if not isinstance(func.body, s.BlockRealize):
        return func  # written without blocks, by somebody who says where it runs
    sch = Schedule(IRModule({GlobalVar(name): func}), debug_mask=0)
    sch.work_on(name)
    root = sch.get_block(sch.mod[name].body.block.name_hint)  # type: ignore[attr-defined]
    pending: list[BlockRV] = list(sch.get_child_blocks(root))
    leaves: list[BlockRV] = []
    while pending:
        block = pending.pop(0)
        inner = list(sch.get_child_blocks(block))
        if inner:
            pending = inner + pending
        else:
            leaves.append(block)
    for block in leaves:
        _bind(sch, block, threads)
    result = sch.mod[name]
    assert isinstance(result, PrimFunc), "schedules keep kinds of functions"
    return result


def _bind(sch: Schedule, block: BlockRV, threads: int) -> None:
    loops = list(sch.get_loops(block))
    stmts = [sch.get(loop) for loop in loops]
    if any(loop.thread_binding is not None for loop in stmts):
        return  # somebody did so before
    kinds = [iv.iter_type for iv in sch.get(block).iter_vars]
    parallel = [rv for rv, kind in zip(loops, kinds) if kind == e.IterVar.DataPar]
    if not parallel:
        return
    fused = sch.fuse(*parallel, preserve_unit_iters=False)
    loop = sch.get(fused)
    assert isinstance(loop, s.For), "a loop stands for it"
    extent = loop.extent.value if isinstance(loop.extent, e.IntImm) else None
    if extent is None or extent > threads * _MAX_BLOCKS:
        each, b, t = sch.split(fused, [None, _MAX_BLOCKS, threads])
        sch.reorder(b, t, each)
    else:
        b, t = sch.split(fused, [None, min(extent, threads)])
    sch.bind(b, "blockIdx.x")
    sch.bind(t, "threadIdx.x")
