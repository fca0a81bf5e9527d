"""Passes over TensorIR; each stands in the file named for it and loads when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_dir, lazy_names

_PASSES: dict[str, str] = {
    "AnnotateEntryFunc": "annotate_entry_func",
    "BindTarget": "bind_target",
    "CompactBufferAllocation": "compact_buffer_allocation",
    "ConvertBlocksToOpaque": "convert_blocks_to_opaque",
    "FlattenBuffer": "flatten_buffer",
    "LowerInitBlock": "lower_init_block",
    "LowerIntrin": "lower_intrin",
    "LowerMatchBuffer": "lower_match_buffer",
    "LowerOpaqueBlock": "lower_opaque_block",
    "LowerTVMBuiltin": "lower_tvm_builtin",
    "MakePackedAPI": "make_packed_api",
    "PlanAndUpdateBufferAllocationLocation": "plan_and_update_buffer_allocation_location",
    "PrimFuncPass": "pass_form",
    "RemoveNoOp": "remove_no_op",
    "Simplify": "simplify",
    "UnrollLoop": "unroll_loop",
    "VectorMath": "vector_math",
    "VectorizeLoop": "vectorize_loop",
    "prim_func_pass": "pass_form",
}

if TYPE_CHECKING:
    from .annotate_entry_func import AnnotateEntryFunc as AnnotateEntryFunc
else:
    __getattr__ = lazy_names(
        __name__, {name: f"{__name__}.{home}:{name}" for name, home in _PASSES.items()}
    )

__dir__ = lazy_dir(__name__, *_PASSES)
