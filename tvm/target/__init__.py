"""What programs are compiled for: targets, their kinds and tags, and models of CPUs."""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_names

from .cpu_model import CpuModel
from .kind import TargetKind
from .memory_info import MemoryInfo as MemoryInfo
from .tag import list_tags, register_tag
from .target import Target

_HOMES = {
    **{
        name: f"tvm.target.makers:{name}"
        for name in (
            "adreno", "arm_cpu", "bifrost", "create", "cuda", "hexagon", "intel_graphics", "mali",
            "rasp", "riscv_cpu", "rocm", "stm32",
        )
    },
    **{
        name: f"tvm.target.generic_func:{name}"
        for name in (
            "GenericFunc", "generic_func", "get_native_generic_func",
            "override_native_generic_func",
        )
    },
    "make_compilation_config": "tvm.target.compilation_config:make_compilation_config",
    "VirtualDevice": "tvm.target.virtual_device:VirtualDevice",
}  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        _HOMES,
    )

__all__ = ["CpuModel", "Target", "TargetKind", "list_tags", "register_tag"]
