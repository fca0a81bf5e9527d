"""Scheduled functions, lowered to kernels and run thread by thread."""

from __future__ import annotations

import numpy as np

import tvm
from tests.dlight.programs import remembered, same_under_any_names
from tvm import tir
from tvm.dlight import ScheduleRule
from tvm.target import Target
from tvm.tir.analysis import verify_gpu_code, verify_well_formed
from tvm.tir.interp import run

CUDA = Target("nvidia/geforce-rtx-3090-ti")
KINDS = ("cuda", "rocm", "metal", "opencl", "vulkan", "webgpu")
ADRENO = Target("opencl -device=adreno", host="llvm -mtriple=aarch64-linux-android")


def target(kind: str) -> Target:
    """The target of a kind."""
    return CUDA if kind == "cuda" else Target(kind)


def kernel(func: tir.PrimFunc, on: Target) -> tir.PrimFunc:
    """The scheduled function after the passes that come before kernels are cut out."""
    t = tir.transform
    passes = [
        t.LowerCrossThreadReduction(), t.LowerInitBlock(),
        t.PlanAndUpdateBufferAllocationLocation(), t.ConvertBlocksToOpaque(),
        t.LiftThreadBinding(), t.ManifestSharedMemoryLocalStage(), t.CompactBufferAllocation(),
        t.LowerAutoCopy(), t.UnifyThreadBinding(), t.LowerMatchBuffer(), t.Simplify(),
        t.InjectPermutedLayout(), t.InjectSoftwarePipeline(), t.TransformMmaBufferLayout(),
        t.LowerOpaqueBlock(), t.FlattenBuffer(), t.NarrowDataType(32), t.LoopPartition(),
        t.VectorizeLoop(), t.InjectVirtualThread(), t.InjectDoubleBuffer(), t.StorageRewrite(),
        t.UnrollLoop(), t.RenormalizeSplitPattern(), t.Simplify(), t.RemoveNoOp(),
        t.RewriteUnsafeSelect(), t.ThreadSync("shared"), t.ThreadSync("shared.dyn"),
        t.InferFragment(), t.LowerThreadAllreduce(),
    ]  # fmt: skip
    mod = tvm.IRModule({"main": func.with_attr("target", on.with_host("llvm"))})
    with on:
        after = tvm.transform.Sequential(passes)(mod)["main"]
    assert isinstance(after, tir.PrimFunc)
    return after


def limits(on: Target) -> dict[str, int]:
    """What a kernel for the target may use."""
    found = {"max_threads_per_block": int(on.max_num_threads)}
    memory = on.attrs.get("max_shared_memory_per_block")
    if memory is not None:
        found["max_shared_memory_per_block"] = int(memory)
    return found


def arguments(func: tir.PrimFunc, sizes: dict[str, int] | None = None) -> list[np.ndarray]:
    """Fixed random arrays of small whole numbers for the parameters."""
    rng = np.random.default_rng(11)
    arrays = []
    for param in func.params:
        buffer = func.buffer_map[param]
        names = sizes or {}
        shape = [names[str(d)] if str(d) in names else int(d) for d in buffer.shape]
        low = 0 if str(buffer.dtype).startswith("uint") else -4
        arrays.append(rng.integers(low, 5, shape).astype(str(buffer.dtype)))
    return arrays


def outputs(func: tir.PrimFunc, sizes: dict[str, int] | None = None) -> np.ndarray:
    """What the last parameter holds after a run; it begins as garbage."""
    return remembered("whole numbers", func, sizes, lambda: _outputs(func, sizes))


def _outputs(func: tir.PrimFunc, sizes: dict[str, int] | None) -> np.ndarray:
    arrays = arguments(func, sizes)
    arrays[-1][...] = 99
    run(func, *arrays)
    return arrays[-1].astype("float64")


def scheduled(rule: ScheduleRule, func: tir.PrimFunc, on: Target) -> tir.PrimFunc:
    """The function as the rule schedules it, by whatever names its blocks go."""
    after = same_under_any_names(rule, func, on)
    verify_well_formed(after)
    return after


def check(
    rule: ScheduleRule,
    func: tir.PrimFunc,
    on: Target,
    sizes: dict[str, int] | None = None,
    expected: np.ndarray | None = None,
    rtol: float = 1e-3,
) -> tir.PrimFunc:
    """The scheduled function; its kernel keeps to the target's limits and means the same."""
    after = scheduled(rule, func, on)
    lowered = kernel(after, on)
    allowed = limits(on)
    if "shared.dyn" in str(lowered):
        del allowed["max_shared_memory_per_block"]  # shared by lifetimes later, sized at launch
    assert verify_gpu_code(lowered, allowed)
    if expected is None:
        expected = outputs(func, sizes)
    np.testing.assert_allclose(outputs(lowered, sizes), expected, rtol=rtol, atol=1e-3)
    return after
