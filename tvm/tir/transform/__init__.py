"""Passes over TensorIR; each stands in the file named for it and loads when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_dir, lazy_names

_PASSES: dict[str, str] = {
    "AnnotateDeviceRegions": "annotate_device_regions",
    "AnnotateEntryFunc": "annotate_entry_func",
    "AnnotateIrregularLoop": "annotate_irregular_loop",
    "Apply": "apply",
    "ApplyCustomPass": "apply_custom_pass",
    "BF16ComputeLegalize": "bf16_compute_legalize",
    "BF16StorageLegalize": "bf16_storage_legalize",
    "BindParallelLoops": "bind_parallel_loops",
    "BindTarget": "bind_target",
    "CheckIndices": "check_indices",
    "CombineContextCall": "combine_context_call",
    "CommonSubexprElimTIR": "common_subexpr_elim_tir",
    "CompactBufferAllocation": "compact_buffer_allocation",
    "ConvertBlocksToOpaque": "convert_blocks_to_opaque",
    "ConvertForLoopsToSerial": "convert_for_loops_to_serial",
    "ConvertSSA": "convert_ssa",
    "DecorateDeviceScope": "decorate_device_scope",
    "ExtractPrimFuncConstants": "extract_prim_func_constants",
    "Filter": "filter",
    "FlattenBuffer": "flatten_buffer",
    "FunctionPass": "pass_form",
    "ForceNarrowIndexToInt32": "force_narrow_index_to_int32",
    "FP8ComputeLegalize": "fp8_compute_legalize",
    "FP8StorageLegalize": "fp8_storage_legalize",
    "HoistedConditionals": "hoisting",
    "HoistedLetBindings": "hoisting",
    "HoistExpression": "hoist_expression",
    "HoistExpressionConfig": "config_records",
    "HoistIfThenElse": "hoist_if_then_else",
    "HoistIfThenElseConfig": "config_records",
    "HoistReductionInit": "hoist_reduction_init",
    "InjectDoubleBuffer": "inject_double_buffer",
    "InjectDoubleBufferConfig": "config_records",
    "InjectSoftwarePipeline": "inject_software_pipeline",
    "InjectVirtualThread": "inject_virtual_thread",
    "InjectRollingBuffer": "inject_rolling_buffer",
    "InlinePrivateFunctions": "inline_private_functions",
    "InstrumentBoundCheckers": "instrument_bound_checkers",
    "LegalizePackedCalls": "legalize_packed_calls",
    "LiftThreadBinding": "lift_thread_binding",
    "LoopPartition": "loop_partition",
    "LoopPartitionConfig": "config_records",
    "LowerCrossThreadReduction": "lower_cross_thread_reduction",
    "LowerCustomDatatypes": "lower_custom_datatypes",
    "LowerDeviceKernelLaunch": "lower_device_kernel_launch",
    "LowerAutoCopy": "lower_auto_copy",
    "LowerInitBlock": "lower_init_block",
    "LowerIntrin": "lower_intrin",
    "LowerMatchBuffer": "lower_match_buffer",
    "LowerOpaqueBlock": "lower_opaque_block",
    "LowerTVMBuiltin": "lower_tvm_builtin",
    "LowerThreadAllreduce": "lower_thread_allreduce",
    "LowerVtcmAlloc": "lower_vtcm_alloc",
    "LowerWarpMemory": "lower_warp_memory",
    "MakeDirectAPI": "make_direct_api",
    "MakePackedAPI": "make_packed_api",
    "MakeUnpackedAPI": "make_unpacked_api",
    "MergeSharedMemoryAllocations": "merge_shared_memory_allocations",
    "NarrowDataType": "narrow_data_type",
    "NarrowForDevice": "narrow_for_device",
    "PlanAndUpdateBufferAllocationLocation": "plan_and_update_buffer_allocation_location",
    "prim_func_pass": "pass_form",
    "PrimFuncPass": "pass_form",
    "ReduceBranchingThroughOvercomputeConfig": "config_records",
    "RemoveAssume": "remove_assume",
    "RemoveNoOp": "remove_no_op",
    "RemoveNoOpConfig": "config_records",
    "RemoveStoreUndef": "remove_store_undef",
    "RenormalizeSplitPattern": "renormalize_split_pattern",
    "RewriteUnsafeSelect": "rewrite_unsafe_select",
    "Simplify": "simplify",
    "SimplifyConfig": "config_records",
    "SkipAssert": "skip_assert",
    "SplitHostDevice": "split_host_device",
    "StorageRewrite": "storage_rewrite",
    "ThreadSync": "thread_sync",
    "UnifyThreadBinding": "unify_thread_binding",
    "UnmaskLocalVectors": "unmask_local_vectors",
    "UnrollLoop": "unroll_loop",
    "UnrollLoopConfig": "config_records",
    "VectorizeLoop": "vectorize_loop",
    "VectorMath": "vector_math",
    "InstrumentProfileIntrinsics": "instrument_profile_intrinsics",
    "RemoveWeightLayoutRewriteBlock": "remove_weight_layout_rewrite_block",
    "ReduceBranchingThroughOvercompute": "reduce_branching_through_overcompute",
    "InjectPTXAsyncCopy": "inject_ptx_async_copy",
    "InferFragment": "infer_fragment",
    "LowerAsyncDMA": "lower_async_dma",
    "LowerDeviceStorageAccessInfo": "lower_device_storage_access_info",
    "PointerValueTypeRewrite": "pointer_value_type_rewrite",
    "UseAssumeToReduceBranches": "use_assume_to_reduce_branches",
    "ManifestSharedMemoryLocalStage": "manifest_shared_memory_local_stage",
    "InjectPermutedLayout": "inject_permuted_layout",
    "InjectPTXLDG32": "inject_ptx_ldg32",
    "TransformMmaBufferLayout": "transform_mma_buffer_layout",
    "VerifyMemory": "verify_memory",
    "VerifyVTCMLimit": "verify_vtcm_limit",

}
# passes that are made of schedules stand with those; contexts are the same for all passes
_ABOVE: dict[str, str] = {
    "DefaultGPUSchedule": "tvm.tir.schedule.default_gpu_schedule",
    "PassContext": "tvm.ir.transform",
}

if TYPE_CHECKING:
    from tvm.ir.transform import PassContext as PassContext

    from .annotate_device_regions import AnnotateDeviceRegions as AnnotateDeviceRegions
    from .annotate_entry_func import AnnotateEntryFunc as AnnotateEntryFunc
    from .annotate_irregular_loop import AnnotateIrregularLoop as AnnotateIrregularLoop
    from .apply import Apply as Apply
    from .apply_custom_pass import ApplyCustomPass as ApplyCustomPass
    from .bf16_compute_legalize import BF16ComputeLegalize as BF16ComputeLegalize
    from .bf16_storage_legalize import BF16StorageLegalize as BF16StorageLegalize
    from .bind_parallel_loops import BindParallelLoops as BindParallelLoops
    from .bind_target import BindTarget as BindTarget
    from .check_indices import CheckIndices as CheckIndices
    from .combine_context_call import CombineContextCall as CombineContextCall
    from .common_subexpr_elim_tir import CommonSubexprElimTIR as CommonSubexprElimTIR
    from .compact_buffer_allocation import CompactBufferAllocation as CompactBufferAllocation
    from .config_records import HoistExpressionConfig as HoistExpressionConfig
    from .config_records import HoistIfThenElseConfig as HoistIfThenElseConfig
    from .config_records import InjectDoubleBufferConfig as InjectDoubleBufferConfig
    from .config_records import LoopPartitionConfig as LoopPartitionConfig
    from .config_records import (
        ReduceBranchingThroughOvercomputeConfig as ReduceBranchingThroughOvercomputeConfig,
    )
    from .config_records import RemoveNoOpConfig as RemoveNoOpConfig
    from .config_records import SimplifyConfig as SimplifyConfig
    from .config_records import UnrollLoopConfig as UnrollLoopConfig
    from .convert_blocks_to_opaque import ConvertBlocksToOpaque as ConvertBlocksToOpaque
    from .convert_for_loops_to_serial import ConvertForLoopsToSerial as ConvertForLoopsToSerial
    from .convert_ssa import ConvertSSA as ConvertSSA
    from .decorate_device_scope import DecorateDeviceScope as DecorateDeviceScope
    from .extract_prim_func_constants import ExtractPrimFuncConstants as ExtractPrimFuncConstants
    from .filter import Filter as Filter
    from .flatten_buffer import FlattenBuffer as FlattenBuffer
    from .force_narrow_index_to_int32 import ForceNarrowIndexToInt32 as ForceNarrowIndexToInt32
    from .fp8_compute_legalize import FP8ComputeLegalize as FP8ComputeLegalize
    from .fp8_storage_legalize import FP8StorageLegalize as FP8StorageLegalize
    from .hoist_expression import HoistExpression as HoistExpression
    from .hoist_if_then_else import HoistIfThenElse as HoistIfThenElse
    from .hoist_reduction_init import HoistReductionInit as HoistReductionInit
    from .hoisting import HoistedConditionals as HoistedConditionals
    from .hoisting import HoistedLetBindings as HoistedLetBindings
    from .infer_fragment import InferFragment as InferFragment
    from .inject_double_buffer import InjectDoubleBuffer as InjectDoubleBuffer
    from .inject_permuted_layout import InjectPermutedLayout as InjectPermutedLayout
    from .inject_ptx_async_copy import InjectPTXAsyncCopy as InjectPTXAsyncCopy
    from .inject_ptx_ldg32 import InjectPTXLDG32 as InjectPTXLDG32
    from .inject_rolling_buffer import InjectRollingBuffer as InjectRollingBuffer
    from .inject_software_pipeline import InjectSoftwarePipeline as InjectSoftwarePipeline
    from .inject_virtual_thread import InjectVirtualThread as InjectVirtualThread
    from .inline_private_functions import InlinePrivateFunctions as InlinePrivateFunctions
    from .instrument_bound_checkers import InstrumentBoundCheckers as InstrumentBoundCheckers
    from .instrument_profile_intrinsics import (
        InstrumentProfileIntrinsics as InstrumentProfileIntrinsics,
    )
    from .lift_thread_binding import LiftThreadBinding as LiftThreadBinding
    from .loop_partition import LoopPartition as LoopPartition
    from .lower_async_dma import LowerAsyncDMA as LowerAsyncDMA
    from .lower_auto_copy import LowerAutoCopy as LowerAutoCopy
    from .lower_cross_thread_reduction import (
        LowerCrossThreadReduction as LowerCrossThreadReduction,
    )
    from .lower_custom_datatypes import LowerCustomDatatypes as LowerCustomDatatypes
    from .lower_device_kernel_launch import LowerDeviceKernelLaunch as LowerDeviceKernelLaunch
    from .lower_device_storage_access_info import (
        LowerDeviceStorageAccessInfo as LowerDeviceStorageAccessInfo,
    )
    from .lower_init_block import LowerInitBlock as LowerInitBlock
    from .lower_intrin import LowerIntrin as LowerIntrin
    from .lower_match_buffer import LowerMatchBuffer as LowerMatchBuffer
    from .lower_opaque_block import LowerOpaqueBlock as LowerOpaqueBlock
    from .lower_thread_allreduce import LowerThreadAllreduce as LowerThreadAllreduce
    from .lower_tvm_builtin import LowerTVMBuiltin as LowerTVMBuiltin
    from .lower_vtcm_alloc import LowerVtcmAlloc as LowerVtcmAlloc
    from .lower_warp_memory import LowerWarpMemory as LowerWarpMemory
    from .make_direct_api import MakeDirectAPI as MakeDirectAPI
    from .make_packed_api import MakePackedAPI as MakePackedAPI
    from .make_unpacked_api import MakeUnpackedAPI as MakeUnpackedAPI
    from .manifest_shared_memory_local_stage import (
        ManifestSharedMemoryLocalStage as ManifestSharedMemoryLocalStage,
    )
    from .merge_shared_memory_allocations import (
        MergeSharedMemoryAllocations as MergeSharedMemoryAllocations,
    )
    from .narrow_data_type import NarrowDataType as NarrowDataType
    from .narrow_for_device import NarrowForDevice as NarrowForDevice
    from .pass_form import PrimFuncPass as PrimFuncPass
    from .pass_form import prim_func_pass as prim_func_pass
    from .plan_and_update_buffer_allocation_location import (
        PlanAndUpdateBufferAllocationLocation as PlanAndUpdateBufferAllocationLocation,
    )
    from .pointer_value_type_rewrite import PointerValueTypeRewrite as PointerValueTypeRewrite
    from .reduce_branching_through_overcompute import (
        ReduceBranchingThroughOvercompute as ReduceBranchingThroughOvercompute,
    )
    from .remove_assume import RemoveAssume as RemoveAssume
    from .remove_no_op import RemoveNoOp as RemoveNoOp
    from .remove_store_undef import RemoveStoreUndef as RemoveStoreUndef
    from .remove_weight_layout_rewrite_block import (
        RemoveWeightLayoutRewriteBlock as RemoveWeightLayoutRewriteBlock,
    )
    from .renormalize_split_pattern import RenormalizeSplitPattern as RenormalizeSplitPattern
    from .rewrite_unsafe_select import RewriteUnsafeSelect as RewriteUnsafeSelect
    from .simplify import Simplify as Simplify
    from .skip_assert import SkipAssert as SkipAssert
    from .split_host_device import SplitHostDevice as SplitHostDevice
    from .storage_rewrite import StorageRewrite as StorageRewrite
    from .thread_sync import ThreadSync as ThreadSync
    from .transform_mma_buffer_layout import TransformMmaBufferLayout as TransformMmaBufferLayout
    from .unify_thread_binding import UnifyThreadBinding as UnifyThreadBinding
    from .unmask_local_vectors import UnmaskLocalVectors as UnmaskLocalVectors
    from .unroll_loop import UnrollLoop as UnrollLoop
    from .use_assume_to_reduce_branches import (
        UseAssumeToReduceBranches as UseAssumeToReduceBranches,
    )
    from .vector_math import VectorMath as VectorMath
    from .vectorize_loop import VectorizeLoop as VectorizeLoop
    from .verify_memory import VerifyMemory as VerifyMemory
    from .verify_vtcm_limit import VerifyVTCMLimit as VerifyVTCMLimit
else:
    __getattr__ = lazy_names(
        __name__,
        {name: f"{__name__}.{home}:{name}" for name, home in _PASSES.items()}
        | {name: f"{home}:{name}" for name, home in _ABOVE.items()},
    )

__all__ = [*_PASSES, *_ABOVE]  # for a star import, which asks for no lazy name by itself
__dir__ = lazy_dir(__name__, *_PASSES, *_ABOVE)
