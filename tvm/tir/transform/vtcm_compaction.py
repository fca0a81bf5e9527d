"""The passes after which a program's use of VTCM, Hexagon's fast memory, can be counted.

    calculate_allocated_bytes(Sequential(get_vtcm_compaction_passes())(mod))
"""

from __future__ import annotations

from tvm.ir.transform import Pass

from .compact_buffer_allocation import CompactBufferAllocation
from .convert_blocks_to_opaque import ConvertBlocksToOpaque
from .flatten_buffer import FlattenBuffer
from .inject_software_pipeline import InjectSoftwarePipeline
from .lower_init_block import LowerInitBlock
from .lower_match_buffer import LowerMatchBuffer
from .lower_opaque_block import LowerOpaqueBlock
from .plan_and_update_buffer_allocation_location import PlanAndUpdateBufferAllocationLocation
from .simplify import Simplify
from .storage_rewrite import StorageRewrite
from .vectorize_loop import VectorizeLoop


def get_vtcm_compaction_passes() -> list[Pass]:
    """The lowering up to the point where memory has its final sizes and is shared."""
    return [
        LowerInitBlock(),
        PlanAndUpdateBufferAllocationLocation(),
        ConvertBlocksToOpaque(),
        CompactBufferAllocation(),
        LowerMatchBuffer(),
        InjectSoftwarePipeline(),
        LowerOpaqueBlock(),
        FlattenBuffer(as_maps=False),
        Simplify(),
        VectorizeLoop(True),
        StorageRewrite(),
    ]
