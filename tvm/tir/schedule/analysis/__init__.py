"""Questions about blocks and loops that primitives, and users, ask before they change anything."""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_names

_HERE = "tvm.tir.schedule.analysis"
_HOMES = {
    "AutoTensorizeMappingInfo": f"{_HERE}.auto_tensorize:AutoTensorizeMappingInfo",
    "TensorizeInfo": f"{_HERE}.tensorize_loops:TensorizeInfo",
    "get_auto_tensorize_mapping_info": f"{_HERE}.auto_tensorize:get_auto_tensorize_mapping_info",
    "get_tensorize_loop_mapping": f"{_HERE}.tensorize_loops:get_tensorize_loop_mapping",
    "has_block": f"{_HERE}.users:has_block",
    "is_output_block": f"{_HERE}.users:is_output_block",
    "suggest_index_map": f"{_HERE}.suggest_index_map:suggest_index_map",
}

if TYPE_CHECKING:
    from .auto_tensorize import AutoTensorizeMappingInfo as AutoTensorizeMappingInfo
    from .auto_tensorize import get_auto_tensorize_mapping_info as get_auto_tensorize_mapping_info
    from .suggest_index_map import suggest_index_map as suggest_index_map
    from .tensorize_loops import TensorizeInfo as TensorizeInfo
    from .tensorize_loops import get_tensorize_loop_mapping as get_tensorize_loop_mapping
    from .users import has_block as has_block
    from .users import is_output_block as is_output_block
else:
    __getattr__ = lazy_names(__name__, _HOMES)
