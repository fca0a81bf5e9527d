"""The order in which passes lower TensorIR, each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tvm.ir.module import IRModule
from tvm.ir.transform import ModulePass, Pass, PassContext, PassInfo, Sequential
from tvm.support.dtype import custom_types
from tvm.support.recursion import nested_programs
from tvm.support.suggest import did_you_mean
from tvm.target.target import Target

from . import transform as t
from .transform.bf16_compute_legalize import BF16ComputeLegalizeAll
from .transform.configure_tiles import ConfigureTiles
from .transform.guard_empty_results import GuardEmptyResults
from .transform.join_digits import JoinDigits
from .transform.legalize_narrow_floats import LegalizeNarrowFloats
from .transform.lower_intrin import LowerForBackend
from .transform.lower_packed_calls import LowerPackedCalls
from .transform.lower_workspaces import LowerWorkspaces
from .transform.make_packed_api import MakeCheckedPackedAPI
from .transform.outline_parallel_loops import OutlineParallelLoops
from .transform.peel_masks import PeelMasks
from .transform.prefetch_ahead import PrefetchAhead
from .transform.prefetch_epilogues import PrefetchEpilogues
from .transform.prefetch_panels import PrefetchPanels
from .transform.shorten_last_tile import ShortenLastTile
from .transform.static_shared_memory import StaticSharedMemory


def lowering_passes(ctx: PassContext, to_source: bool = True) -> list[Pass]:
    """From scheduled functions to flat loops over memory, ready for a backend.

    `to_source` says that the backend writes source text, which people may read. The passes that
    `tir.add_lower_pass` gives run before everything (0), on flat loops (1), after loops have their
    final form (2), and last (3). Those of `PassContext.add_custom_pass` follow on the second.
    """
    return [
        *_added(ctx, 0),
        *_blocks_to_loops(ctx),
        *_added(ctx, 1),
        *_custom(ctx),
        *_final_loops(ctx),
        *_added(ctx, 2),
        *_last_touches(ctx, to_source),
        *_added(ctx, 3),
    ]


def _blocks_to_loops(ctx: PassContext) -> list[Pass]:
    # the user's own go before those come that keep indices within memory, and arguments in form
    skipped: list[Pass] = [t.SkipAssert()] if ctx.option("tir.disable_assert", False) else []
    return [
        GuardEmptyResults(),  # while blocks without iterators can still be told from others
        t.LowerInitBlock(),  # reductions get their init statement before blocks disappear
        # scratch memory lies close to its use; the blocks made for that are soon gone
        t.PlanAndUpdateBufferAllocationLocation(regions=False),
        t.ConvertBlocksToOpaque(),  # indices are in terms of loops from here on
        t.CompactBufferAllocation(),  # scratch memory is as small as its use; needs the loops
        t.LowerMatchBuffer(),  # after compaction, as strides follow from the shape
        *skipped,
        t.CheckIndices(),  # while indices have their axes, and conditions stand around them
        t.Simplify(),  # guards that always hold go while block facts are known
        t.LowerOpaqueBlock(),  # no blocks, no scheduling from here on
        t.FlattenBuffer(as_maps=False),  # from here on every buffer is one-dimensional
        JoinDigits(),  # of places in several dimensions, which are one number now
    ]


def _final_loops(ctx: PassContext) -> list[Pass]:
    passes: list[Pass] = [
        ShortenLastTile(),  # while loops over rows still have what schedules said of them
        t.NarrowDataType(32),  # half the bits for index vectors and masks, if all values fit
        t.LoopPartition(folds=True),  # likely guards leave main loops, before they become masks
        t.VectorizeLoop(not ctx.option("tir.disable_vectorize", False)),  # needs flat indices
        PrefetchAhead(),  # whole vectors; while loops still have what schedules said of them
        PrefetchPanels(),  # whole indices too
        ConfigureTiles(),  # around loops, before those of few rounds are unrolled
        PeelMasks(),  # most vectors of a loop are whole
        t.HoistReductionInit(),  # the loop that reduces keeps its result in registers
    ]
    if not ctx.option("tir.disable_storage_rewrite", False):
        passes.append(t.StorageRewrite())  # after vectors, which widen allocations in loops
    passes += [
        t.UnrollLoop(folds=True),  # after vectors, whose lanes are no copies of statements
        PrefetchEpilogues(),  # of tiles whose statements stand one after another
        t.UnmaskLocalVectors(),  # once their indices are constants: they become registers
        t.RemoveNoOp(),  # what the passes above left empty
        t.RewriteUnsafeSelect(),  # from here on nothing evaluates what a condition guards
    ]
    return passes


def _last_touches(ctx: PassContext, to_source: bool) -> list[Pass]:
    passes: list[Pass] = []
    if ctx.option("tir.instrument_bound_checkers", False):
        passes.append(t.InstrumentBoundCheckers())  # of the accesses as the machine makes them
    if to_source and not ctx.option("tir.disable_cse_tir", False):
        # hides indices; LLVM does this by itself, with an eye on registers
        equivalent = bool(ctx.option("tir.enable_equiv_terms_in_cse_tir", False))
        passes.append(t.CommonSubexprElimTIR(True, equivalent))
    return passes


def _added(ctx: PassContext, phase: int) -> list[Pass]:
    """The passes that the user asked for at this phase."""
    pairs = ctx.option("tir.add_lower_pass", ())
    return [one for number, one in pairs if int(number) == phase]


def _custom(ctx: PassContext) -> list[Pass]:
    """What users hung on the context works on flat loops, before those change their form."""
    return [t.ApplyCustomPass()] if ctx.custom_passes else []


def finalize_host_passes() -> Sequential:
    """From lowered host functions to what machine code can be made of."""
    # only where somebody has such types, as the pass looks at every node
    own_types = [t.LowerCustomDatatypes()] if custom_types() else []
    return Sequential([
        t.LowerTVMBuiltin(),  # argument lists of packed calls go to the stack
        *own_types,  # before operators are replaced, which rules for users' types may call
        t.VectorMath(),  # exp and the like as polynomials, which work on vectors
        # before operators have other types; other passes know what it replaces
        LowerForBackend(),
        LegalizeNarrowFloats(),  # last but one: backends see types that the target has
        *host_code_passes(),
    ])


def host_code_passes() -> list[Pass]:
    """What all code for a host has in common; functions that have been here stay as they are."""
    return [
        LowerPackedCalls(),  # once no operator has to know what such a call returns
        OutlineParallelLoops(),  # after all that changes what a body uses from around it
        LowerWorkspaces(),  # of each function of its own
    ]


def finalize_device_passes() -> Sequential:
    """From lowered device functions to what a device backend takes."""
    own_types = [t.LowerCustomDatatypes()] if custom_types() else []
    return Sequential([
        t.LowerWarpMemory(),  # memory of a warp becomes registers and shuffles
        t.Simplify(),  # indices of threads, now that their ranges stand in the code
        *own_types,
        t.LowerDeviceStorageAccessInfo(),  # what scopes need that only this device has
        # before operators have other types; other passes know what it replaces
        LowerForBackend(),
        LegalizeNarrowFloats(),  # last: backends see types that the target has
    ])


def lowered(mod: IRModule, simple_mode: bool = False) -> IRModule:
    """What functions look like before they are split into host and devices, for people to read.

    With `simple_mode` loops stay as they were scheduled: none is unrolled, vectorized or rewritten.
    """
    ctx = PassContext.current()
    if _has_device(mod):
        passes = _blocks_to_launches() if simple_mode else _launches(ctx)
    else:
        passes = _blocks_to_loops(ctx) if simple_mode else lowering_passes(ctx)
    with nested_programs():
        return Sequential(passes)(mod)


def _default(mod: IRModule, ctx: PassContext) -> IRModule:
    if _has_device(mod):
        passes = device_lowering_passes(ctx, _copies_run_ahead(mod))
    else:
        passes = [
            *lowering_passes(ctx, to_source=not _all_machine_code(mod)),
            t.AnnotateEntryFunc(),  # while the module still holds only the user's functions
            t.MakeDirectAPI(),  # before calls by symbol would take the packed way
            MakeCheckedPackedAPI(),  # the last one that needs buffers of parameters
        ]
    with nested_programs():
        return Sequential(passes)(mod)


def device_lowering_passes(ctx: PassContext, copies_run_ahead: bool = False) -> list[Pass]:
    """From scheduled functions to host functions that launch kernels, and the kernels.

    `copies_run_ahead` says that a schedule asks for copies in the background.
    """
    return [
        *_launches(ctx),
        *_threads_in_step(ctx, copies_run_ahead),
        *_apart_from_devices(),
    ]


def _launches(ctx: PassContext) -> list[Pass]:
    """To flat loops over memory, with their threads."""
    return [
        *_added(ctx, 0),
        *_blocks_to_launches(),
        *_added(ctx, 1),
        *_custom(ctx),
        *_final_kernels(ctx),
        *_added(ctx, 2),
        *_kernel_touches(ctx),
        *_added(ctx, 3),
    ]


def _blocks_to_launches() -> list[Pass]:
    return [
        t.BindParallelLoops(),  # kernels written for cores get threads
        t.NarrowForDevice(),  # before anything is made of sizes: all later code is as narrow
        t.LowerCrossThreadReduction(),  # while blocks say what is reduced over which threads
        t.LowerInitBlock(),  # reductions get their init statement before blocks disappear
        t.PlanAndUpdateBufferAllocationLocation(),  # memory lies close to its use
        t.ConvertBlocksToOpaque(),  # indices are in terms of loops from here on
        t.LiftThreadBinding(),  # bindings stand around the loops that do not depend on them
        t.ManifestSharedMemoryLocalStage(),  # needs blocks: a copy goes through registers
        t.CompactBufferAllocation(),  # scratch memory is as small as its use; needs the loops
        t.LowerAutoCopy(),  # copies that say only what, get their loops and threads
        t.UnifyThreadBinding(),  # one variable for each axis of threads
        t.LowerMatchBuffer(),  # after compaction, as strides follow from the shape
        t.Simplify(),  # guards that always hold go while block facts are known
        t.InjectPermutedLayout(),  # needs the annotations of blocks
        t.AnnotateIrregularLoop(),  # loops with jumps are left alone by what follows
        t.InjectSoftwarePipeline(),  # needs the stages that blocks are annotated with
        t.TransformMmaBufferLayout(),  # after the pipeline, which adds versions of buffers
        t.LowerOpaqueBlock(),  # no blocks, no scheduling from here on
        t.FlattenBuffer(as_maps=False),  # from here on every buffer is one-dimensional
        JoinDigits(),  # of places in several dimensions, which are one number now
        StaticSharedMemory(),  # while every allocation is known by itself
        BF16ComputeLegalizeAll(),  # where the device has no arithmetic on them
    ]


def _final_kernels(ctx: PassContext) -> list[Pass]:
    passes: list[Pass] = [
        ShortenLastTile(),  # while loops over rows still have what schedules said of them
        t.NarrowDataType(32),  # half the bits for indices, if all values fit
        t.LoopPartition(folds=True),  # likely guards leave main loops, before they become masks
        t.VectorizeLoop(not ctx.option("tir.disable_vectorize", False)),  # needs flat indices
        t.InjectVirtualThread(),  # after vectors, whose lanes are no threads
        t.InjectDoubleBuffer(),
    ]
    if not ctx.option("tir.disable_storage_rewrite", False):
        passes.append(t.StorageRewrite())  # after vectors, which widen allocations in loops
    if ctx.option("tir.use_async_copy", False):
        passes.append(t.LowerAsyncDMA())
    passes += [
        t.HoistIfThenElse(),  # conditions that do not change leave the loops
        t.UnrollLoop(folds=True),  # after vectors, whose lanes are no copies of statements
        PrefetchEpilogues(),  # of tiles whose statements stand one after another
        t.RenormalizeSplitPattern(),  # indices of split loops, as unrolling left them
        t.Simplify(),
        t.RemoveNoOp(),  # what the passes above left empty
        t.RewriteUnsafeSelect(),  # from here on nothing evaluates what a condition guards
    ]
    return passes


def _kernel_touches(ctx: PassContext) -> list[Pass]:
    passes: list[Pass] = []
    if ctx.option("tir.instrument_bound_checkers", False):
        passes.append(t.InstrumentBoundCheckers())  # of the accesses as the machine makes them
    if ctx.option("tir.ptx_ldg32", False):
        passes.append(t.InjectPTXLDG32(True))  # before common terms hide the guards
    if ctx.option("tir.disable_assert", False):
        passes.append(t.SkipAssert())
    if not ctx.option("tir.disable_cse_tir", False):
        equivalent = bool(ctx.option("tir.enable_equiv_terms_in_cse_tir", False))
        passes.append(t.CommonSubexprElimTIR(True, equivalent))
    if ctx.option("tir.instrument_lwp", False):
        passes.append(t.InstrumentProfileIntrinsics())
    return passes


def _threads_in_step(ctx: PassContext, copies_run_ahead: bool) -> list[Pass]:
    passes: list[Pass] = [
        t.FP8ComputeLegalize(),  # where the device has no arithmetic on them
        t.VerifyVTCMLimit(),  # before VTCM is given out
        t.LowerVtcmAlloc(),
        t.VerifyMemory(),  # a forgotten binding is found before code for the device is made of it
        t.AnnotateEntryFunc(),  # while the module still holds only the user's functions
    ]
    if ctx.option("tir.detect_global_barrier", False):
        passes.append(t.ThreadSync("global"))
    passes += [
        *(t.ThreadSync(scope) for scope in ("shared", "shared.dyn", "warp")),
        t.InferFragment(),  # shapes of fragments, for who declares them
        t.LowerThreadAllreduce(),  # after barriers, as it inserts its own
    ]
    if copies_run_ahead or ctx.option("tir.use_async_copy", False):
        passes.append(t.InjectPTXAsyncCopy())
    if ctx.option("tir.ptx_ldg32", False):
        passes.append(t.InjectPTXLDG32(True))
    return passes


def _apart_from_devices() -> list[Pass]:
    return [
        t.AnnotateDeviceRegions(),  # launches are known by their attribute, of all loop forms
        t.SplitHostDevice(),  # kernels are functions of their own from here on
        t.ConvertSSA(),  # host and kernel do not share variables
        t.MergeSharedMemoryAllocations(),  # one allocation a kernel; needs kernels
        t.MakeDirectAPI(),  # before calls by symbol would take the packed way
        MakeCheckedPackedAPI(),  # the last one that needs buffers of parameters
        t.LowerDeviceKernelLaunch(),  # calls of kernels bring their extents
    ]


def _has_device(mod: IRModule) -> bool:
    targets = [func.attrs.get("target") for func in mod.functions.values()]
    return any(isinstance(x, Target) and x.host is not None for x in targets)


def _copies_run_ahead(mod: IRModule) -> bool:
    return any(func.attrs.get("tir.use_async_copy") for func in mod.functions.values())


def _all_machine_code(mod: IRModule) -> bool:
    targets = [func.attrs.get("target") for func in mod.functions.values()]
    return all(isinstance(x, Target) and x.kind.traits.machine_code for x in targets)


def default_tir_pipeline() -> ModulePass:
    """The pipeline that `tvm.compile` runs; it ends with functions that a backend takes."""
    return ModulePass(_default, PassInfo(0, "tir.default_tir_pipeline"))


PIPELINE_MAP: Final[dict[str, Callable[..., Pass]]] = {"default": default_tir_pipeline}


def get_tir_pipeline(name: str = "default", **kwargs: object) -> Pass:
    """The pipeline called `name`."""
    make = PIPELINE_MAP.get(name)
    if make is None:
        raise ValueError(
            f"Unknown pre-built pipeline {name!r}{did_you_mean(name, PIPELINE_MAP)}; "
            f"candidates are {sorted(PIPELINE_MAP)}"
        )
    return make(**kwargs)


def get_default_tir_pipeline(target: Target) -> Pass:
    """The pipeline for a target."""
    return default_tir_pipeline()
