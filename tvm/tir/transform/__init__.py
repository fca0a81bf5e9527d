"""Passes over TensorIR; each stands in the file named for it and loads when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_dir, lazy_names

_PASSES: dict[str, str] = {
    "AnnotateEntryFunc": "annotate_entry_func",
    "Apply": "apply",
    "BindTarget": "bind_target",
    "CommonSubexprElimTIR": "common_subexpr_elim_tir",
    "CompactBufferAllocation": "compact_buffer_allocation",
    "ConvertBlocksToOpaque": "convert_blocks_to_opaque",
    "ConvertForLoopsToSerial": "convert_for_loops_to_serial",
    "ConvertSSA": "convert_ssa",
    "Filter": "filter",
    "FlattenBuffer": "flatten_buffer",
    "ForceNarrowIndexToInt32": "force_narrow_index_to_int32",
    "HoistIfThenElse": "hoist_if_then_else",
    "HoistReductionInit": "hoist_reduction_init",
    "LoopPartition": "loop_partition",
    "LowerInitBlock": "lower_init_block",
    "LowerIntrin": "lower_intrin",
    "LowerMatchBuffer": "lower_match_buffer",
    "LowerOpaqueBlock": "lower_opaque_block",
    "LowerTVMBuiltin": "lower_tvm_builtin",
    "MakePackedAPI": "make_packed_api",
    "MakeUnpackedAPI": "make_unpacked_api",
    "NarrowDataType": "narrow_data_type",
    "PlanAndUpdateBufferAllocationLocation": "plan_and_update_buffer_allocation_location",
    "prim_func_pass": "pass_form",
    "PrimFuncPass": "pass_form",
    "RemoveAssume": "remove_assume",
    "RemoveNoOp": "remove_no_op",
    "RemoveStoreUndef": "remove_store_undef",
    "RewriteUnsafeSelect": "rewrite_unsafe_select",
    "Simplify": "simplify",
    "SkipAssert": "skip_assert",
    "StorageRewrite": "storage_rewrite",
    "UnrollLoop": "unroll_loop",
    "VectorizeLoop": "vectorize_loop",
    "VectorMath": "vector_math",
}

if TYPE_CHECKING:
    from .annotate_entry_func import AnnotateEntryFunc as AnnotateEntryFunc
    from .apply import Apply as Apply
    from .bind_target import BindTarget as BindTarget
    from .common_subexpr_elim_tir import CommonSubexprElimTIR as CommonSubexprElimTIR
    from .compact_buffer_allocation import CompactBufferAllocation as CompactBufferAllocation
    from .convert_blocks_to_opaque import ConvertBlocksToOpaque as ConvertBlocksToOpaque
    from .convert_for_loops_to_serial import ConvertForLoopsToSerial as ConvertForLoopsToSerial
    from .convert_ssa import ConvertSSA as ConvertSSA
    from .filter import Filter as Filter
    from .flatten_buffer import FlattenBuffer as FlattenBuffer
    from .force_narrow_index_to_int32 import ForceNarrowIndexToInt32 as ForceNarrowIndexToInt32
    from .hoist_if_then_else import HoistIfThenElse as HoistIfThenElse
    from .hoist_reduction_init import HoistReductionInit as HoistReductionInit
    from .loop_partition import LoopPartition as LoopPartition
    from .lower_init_block import LowerInitBlock as LowerInitBlock
    from .lower_intrin import LowerIntrin as LowerIntrin
    from .lower_match_buffer import LowerMatchBuffer as LowerMatchBuffer
    from .lower_opaque_block import LowerOpaqueBlock as LowerOpaqueBlock
    from .lower_tvm_builtin import LowerTVMBuiltin as LowerTVMBuiltin
    from .make_packed_api import MakePackedAPI as MakePackedAPI
    from .make_unpacked_api import MakeUnpackedAPI as MakeUnpackedAPI
    from .narrow_data_type import NarrowDataType as NarrowDataType
    from .pass_form import PrimFuncPass as PrimFuncPass
    from .pass_form import prim_func_pass as prim_func_pass
    from .plan_and_update_buffer_allocation_location import (
        PlanAndUpdateBufferAllocationLocation as PlanAndUpdateBufferAllocationLocation,
    )
    from .remove_assume import RemoveAssume as RemoveAssume
    from .remove_no_op import RemoveNoOp as RemoveNoOp
    from .remove_store_undef import RemoveStoreUndef as RemoveStoreUndef
    from .rewrite_unsafe_select import RewriteUnsafeSelect as RewriteUnsafeSelect
    from .simplify import Simplify as Simplify
    from .skip_assert import SkipAssert as SkipAssert
    from .storage_rewrite import StorageRewrite as StorageRewrite
    from .unroll_loop import UnrollLoop as UnrollLoop
    from .vector_math import VectorMath as VectorMath
    from .vectorize_loop import VectorizeLoop as VectorizeLoop
else:
    __getattr__ = lazy_names(
        __name__, {name: f"{__name__}.{home}:{name}" for name, home in _PASSES.items()}
    )

__dir__ = lazy_dir(__name__, *_PASSES)
