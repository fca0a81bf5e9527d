"""The functions below `tir.schedule.` and `script.ir_builder.`, by their registered names.

Each takes what the function of that name takes: lists where a method takes any number of
arguments, and a buffer as its number and its kind (0 for what is read, 1 for what is written).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

_SCHEDULE: Final = {
    "AddUnitLoop": "add_unit_loop", "Annotate": "annotate", "Bind": "bind", "Blockize": "blockize",
    "CacheIndex": "cache_index", "CacheInplace": "cache_inplace", "CacheRead": "cache_read",
    "CacheWrite": "cache_write", "ComputeAt": "compute_at", "ComputeInline": "compute_inline",
    "Copy": "copy", "DecomposePadding": "decompose_padding",
    "DecomposeReduction": "decompose_reduction", "EnterPostproc": "enter_postproc",
    "ForkSeed": "fork_seed", "Get": "get", "GetBlock": "get_block",
    "GetChildBlocks": "get_child_blocks", "GetConsumers": "get_consumers",
    "GetFuncWorkingOn": "func_working_on", "GetLoops": "get_loops", "GetMod": "mod",
    "GetOutputBlocks": "get_output_blocks", "GetProducers": "get_producers", "GetSRef": "get_sref",
    "GetState": "state", "GetTrace": "trace", "LoopPartition": "loop_partition",
    "PadEinsum": "pad_einsum", "Parallel": "parallel", "ReadAt": "read_at",
    "ReindexCacheRead": "reindex_cache_read", "ReindexCacheWrite": "reindex_cache_write",
    "RemoveRV": "remove_rv", "ReorderBlockIterVar": "reorder_block_iter_var",
    "ReverseComputeAt": "reverse_compute_at", "ReverseComputeInline": "reverse_compute_inline",
    "RFactor": "rfactor", "RollingBuffer": "rolling_buffer",
    "SampleCategorical": "sample_categorical", "SampleComputeLocation": "sample_compute_location",
    "SamplePartitionedTile": "sample_partitioned_tile", "SamplePerfectTile": "sample_perfect_tile",
    "Seed": "seed", "SetScope": "set_scope", "Split": "split", "StorageAlign": "storage_align",
    "Tensorize": "tensorize", "TransformBlockLayout": "transform_block_layout",
    "Unannotate": "unannotate", "UnsafeHideBufferAccess": "unsafe_hide_buffer_access",
    "UnsafeSetDType": "unsafe_set_dtype", "Unroll": "unroll", "Vectorize": "vectorize",
    "WorkOn": "work_on", "WriteAt": "write_at",
}  # fmt: skip
_ADAPTED: Final = (
    "AnnotateBufferAccess", "Fuse", "Merge", "ReIndex", "Reorder", "SetAxisSeparator",
    "TransformLayout",
)  # fmt: skip
_TRACE: Final = {
    "Append": "append", "ApplyJSONToSchedule": "apply_json_to_schedule",
    "ApplyToSchedule": "apply_to_schedule", "AsJSON": "as_json", "AsPython": "as_python",
    "GetDecision": "get_decision", "Pop": "pop", "Simplified": "simplified",
    "WithDecision": "with_decision",
}  # fmt: skip
_STATE: Final = {
    "GetBlockScope": "get_block_scope", "GetCachedFlags": "_get_cached_flags",
    "GetSRef": "get_sref", "Replace": "replace",
}  # fmt: skip
_SREF: Final = {
    "InlineMark": "inline_mark", "Parent": "parent", "RootMark": "root_mark", "Stmt": "stmt",
}  # fmt: skip
_BUILDER: Final = {
    "IRBuilder": "IRBuilder", "IRBuilderCurrent": "IRBuilder.current",
    "IRBuilderEnter": "IRBuilder.__enter__", "IRBuilderExit": "IRBuilder.__exit__",
    "IRBuilderGet": "IRBuilder.get", "IRBuilderIsInScope": "IRBuilder.is_in_scope",
    "IRBuilderName": "IRBuilder.name", "IRBuilderFrameAddCallback": "IRBuilderFrame.add_callback",
    "IRBuilderFrameEnter": "IRBuilderFrame.__enter__",
    "IRBuilderFrameExit": "IRBuilderFrame.__exit__",
}  # fmt: skip
_OF_MODULES: Final = {
    "DeclFunction": "decl_function", "DefFunction": "def_function", "IRModule": "ir_module",
    "LookupVDevice": "lookup_vdevice", "ModuleAttrs": "module_attrs",
    "ModuleGetAttr": "module_get_attr", "ModuleGlobalInfos": "module_global_infos",
    "ModuleSetAttr": "module_set_attr",
}  # fmt: skip
_OF_TIR: Final = {
    "AddToParent": "add_to_parent", "Allocate": "allocate", "AllocateConst": "allocate_const",
    "AllocBuffer": "alloc_buffer", "Arg": "arg", "Assert": "Assert", "Attr": "attr",
    "AxisOpaque": "axis.opaque", "AxisReduce": "axis.reduce", "AxisRemap": "axis.remap",
    "AxisScan": "axis.scan", "AxisSpatial": "axis.spatial", "BFloat16": "bfloat16",
    "Block": "block", "BlockAttrs": "block_attr", "Boolean": "boolean", "Buffer": "buffer",
    "BufferStore": "buffer_store", "DeclBuffer": "decl_buffer", "Else": "Else",
    "EnvThread": "env_thread", "Evaluate": "evaluate", "FuncAttrs": "func_attr",
    "FuncName": "func_name", "FuncRet": "func_ret", "Handle": "handle", "If": "If", "Init": "init",
    "LaunchThread": "launch_thread", "LetStmt": "LetStmt", "MatchBuffer": "match_buffer",
    "Parallel": "parallel", "PrimFunc": "prim_func", "Ptr": "ptr", "Reads": "reads",
    "Realize": "realize", "Serial": "serial", "Then": "Then", "ThreadBinding": "thread_binding",
    "Unroll": "unroll", "Vectorized": "vectorized", "Void": "void", "Where": "where",
    "While": "While", "Writes": "writes", "max": "max", "min": "min",
    **{f"{kind}{bits}{lanes}": f"{kind.lower()}{bits}{lanes}"
       for kind, widths in (("Int", (8, 16, 32, 64)), ("UInt", (8, 16, 32, 64)),
                            ("Float", (16, 32, 64)))
       for bits in widths
       for lanes in ("", *(f"x{n}" for n in (4, 8, 16, 32, 64)))},
}  # fmt: skip

SCHEDULE_FUNCTIONS: Final[dict[str, str]] = {
    "tir.schedule.BlockRV": "tvm.tir.schedule:BlockRV",
    "tir.schedule.LoopRV": "tvm.tir.schedule:LoopRV",
    "tir.schedule.Instruction": "tvm.tir.schedule:Instruction",
    "tir.schedule.InstructionKindGet": "tvm.tir.schedule:InstructionKind.get",
    "tir.schedule.Trace": "tvm.tir.schedule:Trace",
    "tir.schedule.ScheduleState": "tvm.tir.schedule:ScheduleState",
    "tir.schedule.BlockScopeGetDepsByDst": "tvm.tir.schedule:BlockScope.get_deps_by_dst",
    "tir.schedule.BlockScopeGetDepsBySrc": "tvm.tir.schedule:BlockScope.get_deps_by_src",
    **{f"tir.schedule.Schedule{name}": f"tvm.tir.schedule:Schedule.{home}"
       for name, home in _SCHEDULE.items()},
    **{f"tir.schedule.Schedule{name}": f"{__name__}:{name}" for name in _ADAPTED},
    "tir.schedule.NormalizePrimFunc": f"{__name__}:NormalizePrimFunc",
    "tir.schedule.TracedSchedule": f"{__name__}:TracedSchedule",
    **{f"tir.schedule.Trace{name}": f"tvm.tir.schedule:Trace.{home}"
       for name, home in _TRACE.items()},
    **{f"tir.schedule.ScheduleState{name}": f"tvm.tir.schedule:ScheduleState.{home}"
       for name, home in _STATE.items()},
    **{f"tir.schedule.StmtSRef{name}": f"tvm.tir.schedule:StmtSRef.{home}"
       for name, home in _SREF.items()},
    **{f"script.ir_builder.{name}": f"tvm.script.ir_builder:{home}"
       for name, home in _BUILDER.items()},
    **{f"script.ir_builder.ir.{name}": f"tvm.script.ir_builder.ir:{home}"
       for name, home in _OF_MODULES.items()},
    **{f"script.ir_builder.tir.{name}": f"tvm.script.ir_builder.tir:{home}"
       for name, home in _OF_TIR.items()},
}  # fmt: skip

_KINDS: Final = ("read", "write")


def TracedSchedule(
    mod: Any, seed: int, debug_mask: int, error_render_level: int, enable_check: bool
) -> Any:
    """A schedule that records its trace; levels of rendering are "detail", "fast", "none"."""
    from tvm.tir.schedule import Schedule

    level: Any = ("detail", "fast", "none")[error_render_level]
    return Schedule(mod, seed=seed if seed >= 0 else None, debug_mask=debug_mask,
                    error_render_level=level, enable_check=enable_check)  # fmt: skip


def NormalizePrimFunc(sch: Any) -> Any:
    """One loop a block variable: blocks, loops, variables, whether each reduces; or None."""
    from tvm.dlight.analysis import normalize_prim_func

    found = normalize_prim_func(sch)
    if found is None:
        return None
    blocks = [info.block_rv for info in found]
    loops = [[i.loop_rv for i in info.iters] for info in found]
    variables = [list(sch.get(block).iter_vars) for block in blocks]
    return blocks, loops, variables, [info.is_reduction() for info in found]


def Fuse(sch: Any, loops: Sequence[Any], preserve_unit_iters: bool) -> Any:
    """One loop over all iterations of `loops`."""
    return sch.fuse(*loops, preserve_unit_iters=preserve_unit_iters)


def Merge(sch: Any, loops: Sequence[Any]) -> Any:
    """One nest over the bodies of all `loops`."""
    return sch.merge(*loops)


def Reorder(sch: Any, loops: Sequence[Any]) -> None:
    """`loops` in the order given."""
    sch.reorder(*loops)


def ReIndex(sch: Any, block: Any, buffer_index: int, buffer_index_type: int) -> Any:
    """A copy of a buffer that is indexed by the variables of the block."""
    return sch.reindex(block, (_KINDS[buffer_index_type], buffer_index))


def SetAxisSeparator(
    sch: Any, block: Any, buffer_index: int, buffer_index_type: int, axis_separators: Sequence[Any]
) -> None:
    """Separators between the axes of a buffer."""
    sch.set_axis_separator(block, (_KINDS[buffer_index_type], buffer_index), axis_separators)


def TransformLayout(
    sch: Any,
    block: Any,
    buffer_index: int,
    buffer_index_type: int,
    index_map: Any,
    pad_value: Any,
    assume_injective_transform: bool,
) -> None:
    """A buffer in another layout."""
    sch.transform_layout(
        block, (_KINDS[buffer_index_type], buffer_index), index_map, pad_value,
        assume_injective_transform=assume_injective_transform,
    )  # fmt: skip


def AnnotateBufferAccess(
    sch: Any, block: Any, buffer_index: int, buffer_index_type: int, index_map: Any
) -> None:
    """The region that a block reads or writes, as a map of its variables."""
    maker: Callable[..., Any] = index_map if callable(index_map) else index_map.map_indices
    sch.annotate_buffer_access(block, buffer_index, _KINDS[buffer_index_type], maker)


__all__ = ["SCHEDULE_FUNCTIONS"]
