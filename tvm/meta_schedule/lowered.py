"""Scheduled functions lowered as far as a postprocessor needs it to see what they use."""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.ir.transform import Pass, PassContext, Sequential
from tvm.tir import transform as T
from tvm.tir.function import PrimFunc
from tvm.tir.transform.bf16_compute_legalize import BF16ComputeLegalizeAll


def lowered(name: str, func: PrimFunc, passes: list[Pass]) -> IRModule:
    """A module of one function, after some passes with options that only they see."""
    if "global_symbol" not in func.attrs:
        func = func.with_attr("global_symbol", name)
    with PassContext(opt_level=PassContext.current().opt_level):
        return Sequential(passes)(IRModule({name: func}))


def without_blocks() -> list[Pass]:
    """Blocks become plain statements, buffers have their final sizes, pipelines are built."""
    return [
        T.LowerInitBlock(),
        T.PlanAndUpdateBufferAllocationLocation(regions=False),
        T.ConvertBlocksToOpaque(),
        T.CompactBufferAllocation(),
        T.LowerMatchBuffer(),
        T.InjectSoftwarePipeline(),
        T.LowerOpaqueBlock(),
        T.FlattenBuffer(as_maps=False),
        BF16ComputeLegalizeAll(),
        T.NarrowDataType(32),
        T.Simplify(),
        T.InjectVirtualThread(),
        T.StorageRewrite(),
    ]


def with_blocks() -> list[Pass]:
    """Blocks stay where they are but for their variables, and buffers have their final sizes."""
    return [
        T.LowerCrossThreadReduction(),
        T.LowerInitBlock(),
        T.PlanAndUpdateBufferAllocationLocation(regions=False),
        T.ConvertBlocksToOpaque(),
        T.CompactBufferAllocation(),
        T.Simplify(),
        T.LowerAutoCopy(),
        T.UnifyThreadBinding(),
        T.LowerMatchBuffer(),
        T.Simplify(),
    ]


def kernels() -> list[Pass]:
    """The same for a GPU, with its reductions across threads and its shared memory."""
    return [
        T.LowerCrossThreadReduction(),
        T.LowerInitBlock(),
        T.PlanAndUpdateBufferAllocationLocation(regions=False),
        T.ConvertBlocksToOpaque(),
        T.LiftThreadBinding(),
        T.ManifestSharedMemoryLocalStage(),
        T.CompactBufferAllocation(),
        T.Simplify(),
        T.LowerAutoCopy(),
        T.UnifyThreadBinding(),
        T.LowerMatchBuffer(),
        T.InjectSoftwarePipeline(),
        T.LowerOpaqueBlock(),
        T.FlattenBuffer(as_maps=False),
        BF16ComputeLegalizeAll(),
        T.NarrowDataType(32),
        T.Simplify(),
        T.VectorizeLoop(True),
        T.InjectVirtualThread(),
        T.StorageRewrite(),
        T.MergeSharedMemoryAllocations(),
    ]
