"""Target kinds: a name, the device it runs on, its options with types and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tvm.error import TargetError, message
from tvm.ffi.object import Object
from tvm.support.arguments import explained
from tvm.support.entry_points import entry_points
from tvm.support.suggest import did_you_mean

from . import gpu_tuning
from .gpu_tuning import GpuTuning

# Device types of the DLPack standard (dlpack.h, DLDeviceType).
CPU, CUDA, OPENCL, VULKAN, METAL, ROCM, EXT_DEV, WEBGPU, HEXAGON = 1, 2, 4, 7, 8, 10, 12, 15, 16

# Options that every kind takes.
_COMMON: Final = {
    "keys": "strings", "libs": "strings", "device": "string", "model": "string", "tag": "string",
    "host": "target", "from_device": "int", "target_device_type": "int", "feature": "map",
}  # fmt: skip


_HALF: Final[Mapping[str, int]] = {"float16": 0}
_CUDA_FLOATS: Final[Mapping[str, int]] = {
    "float16": 0, "bfloat16": 80, "float8_e4m3fn": 89, "float8_e5m2": 89, "float8_e8m0fnu": 89,
}  # fmt: skip
ENTRY_POINT_GROUP: Final = "tvm.backends"  # where installed packages offer records of their own


@dataclass(frozen=True)
class Shuffles:
    """How the threads of a warp pass values to each other."""

    masked: bool = True  # an operand says which of them take part
    whole_warps: bool = False  # all of a warp, no part of it
    words_only: bool = False  # values of 32 bits


@dataclass(frozen=True)
class KindTraits:
    """What passes and rules ask of a kind of target, so that none asks for its name.

    `narrow_floats` are the floating types of 16 bits and less that its code can hold and compute
    with, each with the CUDA compute capability that it takes (0: any); other such types are held in
    integers.
    """

    machine_code: bool = False  # made by LLVM: no source for people, branches around vectors
    calls_c_library: bool = False  # exp and the like are calls of it, in source for people
    has_int64: bool = True
    typed_memory: bool = False  # what an array holds is part of its type
    narrow_floats: Mapping[str, int] = field(default_factory=lambda: _HALF)
    narrow_functions: bool = True  # its library has exp and the like for them
    shuffles: Shuffles | None = None
    shared_at_launch: bool = False  # a launch says how much memory a block shares
    gpu: GpuTuning = field(default_factory=GpuTuning)  # of GPUs: what schedule rules start from
    of_users: bool = False  # an accelerator: functions that are marked for it have its code
    tuning_rules: str = ""  # the name of MetaSchedule's default rules; GPUs share those of CUDA


class TargetKind(Object):
    """One kind of target; `options` are its attributes with their types."""

    __slots__ = (
        "_options", "default_keys", "defaults", "device_type", "features", "name", "traits",
    )  # fmt: skip

    @explained
    def __init__(
        self,
        name: str,
        device_type: int,
        keys: tuple[str, ...],
        options: str,
        defaults: Mapping[str, Any] | None = None,
        features: Mapping[str, Any] | None = None,
        traits: KindTraits | None = None,
    ) -> None:
        self.name = name
        self.traits: Final = traits or KindTraits()
        self.device_type = device_type
        self.default_keys = keys
        self.defaults = dict(defaults or {})
        self.features = dict(features or {})  # of every target of the kind
        self._options = {
            **dict(entry.split(":") for entry in options.split()),
            **_COMMON,
        }

    @property
    def default_device_type(self) -> int:
        """The device type of the kind, under the name of the field."""
        return self.device_type

    @property
    def is_gpu(self) -> bool:
        """Whether its functions are kernels, launched over threads in memory of their own."""
        return "gpu" in self.default_keys

    @property
    def options(self) -> dict[str, str]:
        """All options with the names of their types."""
        return dict(sorted(self._options.items()))

    @staticmethod
    def options_from_name(kind_name: str) -> dict[str, str]:
        """The options of a kind given by name."""
        return find_kind(kind_name).options

    def get_attr(self, name: str) -> object:
        """An attribute of the kind itself; none is set so far."""
        return None

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return self.name == (other.name if isinstance(other, TargetKind) else other)

    def __hash__(self) -> int:
        return hash(self.name)


_GPU_LIMITS = (
    "max_num_threads:int max_threads_per_block:int max_shared_memory_per_block:int "
    "thread_warp_size:int registers_per_block:int l2_cache_size_bytes:int"
)
_LLVM = (
    "mattr:strings mcpu:string mtriple:string mfloat-abi:string mabi:string num-cores:int "
    "fast-math:bool fast-math-nnan:bool fast-math-ninf:bool fast-math-nsz:bool "
    "fast-math-arcp:bool fast-math-contract:bool fast-math-reassoc:bool opt-level:int "
    "cl-opt:strings jit:string vector-width:int unsafe-indices:bool"
)
_VULKAN = (
    "mattr:strings supports_float16:bool supports_float32:bool supports_float64:bool "
    "supports_int8:bool supports_int16:bool supports_int32:bool supports_int64:bool "
    "supports_8bit_buffer:bool supports_16bit_buffer:bool "
    "supports_storage_buffer_storage_class:bool supports_push_descriptor:bool "
    "supports_dedicated_allocation:bool supports_integer_dot_product:bool "
    "supports_cooperative_matrix:bool supported_subgroup_operations:int max_block_size_x:int "
    "max_block_size_y:int max_block_size_z:int max_push_constants_size:int "
    "max_uniform_buffer_range:int max_storage_buffer_range:int "
    "max_per_stage_descriptor_storage_buffer:int max_shared_memory_per_block:int "
    "device_type:string "
    "device_name:string driver_name:string driver_version:int vulkan_api_version:int "
    "max_spirv_version:int max_num_threads:int max_threads_per_block:int thread_warp_size:int"
)

_WGSL: Final = KindTraits(has_int64=False, typed_memory=True)  # what its compilers all take

KINDS: Final[dict[str, TargetKind]] = {
    kind.name: kind
    for kind in (
        TargetKind(
            "llvm",
            CPU,
            ("cpu",),
            _LLVM,
            traits=KindTraits(machine_code=True, narrow_functions=False, tuning_rules="llvm"),
        ),
        TargetKind(
            "c",
            CPU,
            ("cpu",),
            "mcpu:string march:string workspace-byte-alignment:int constants-byte-alignment:int "
            "unsafe-indices:bool",
            traits=KindTraits(
                calls_c_library=True, narrow_floats={}, narrow_functions=False, tuning_rules="c"
            ),
        ),
        TargetKind(
            "cuda",
            CUDA,
            ("cuda", "gpu"),
            f"mcpu:string arch:string {_GPU_LIMITS}",
            {"thread_warp_size": 32, "max_num_threads": 1024},
            traits=KindTraits(
                narrow_floats=_CUDA_FLOATS, shuffles=Shuffles(), shared_at_launch=True,
                gpu=gpu_tuning.CUDA, tuning_rules="cuda",
            ),
        ),
        TargetKind(
            "nvptx",
            CUDA,
            ("cuda", "gpu"),
            "mcpu:string mtriple:string max_num_threads:int thread_warp_size:int",
            {"max_num_threads": 1024, "thread_warp_size": 32},
            traits=KindTraits(shuffles=Shuffles(), shared_at_launch=True, tuning_rules="cuda"),
        ),
        TargetKind(
            "rocm",
            ROCM,
            ("rocm", "gpu"),
            f"mcpu:string mtriple:string mattr:strings {_GPU_LIMITS}",
            {
                "max_num_threads": 256,
                "max_threads_per_block": 256,
                "max_shared_memory_per_block": 65536,
                "thread_warp_size": 64,
            },
            traits=KindTraits(
                shuffles=Shuffles(whole_warps=True, words_only=True), shared_at_launch=True,
                gpu=gpu_tuning.ROCM,
            ),
        ),
        TargetKind(
            "opencl",
            OPENCL,
            ("opencl", "gpu"),
            f"mtriple:string texture_spatial_limit:int max_function_args:int "
            f"image_base_address_alignment:int "
            f"{_GPU_LIMITS}",
            {
                "max_threads_per_block": 256,
                "max_shared_memory_per_block": 16384,
                "max_num_threads": 256,
                "thread_warp_size": 1,
                "texture_spatial_limit": 16384,
                "max_function_args": 128,
                "image_base_address_alignment": 64,
            },
            traits=KindTraits(gpu=gpu_tuning.OPENCL),
        ),
        TargetKind(
            "metal",
            METAL,
            ("metal", "gpu"),
            f"max_function_args:int {_GPU_LIMITS}",
            {
                "max_num_threads": 256,
                "max_threads_per_block": 256,
                "max_shared_memory_per_block": 32768,
                "thread_warp_size": 16,
                "max_function_args": 31,
            },
            traits=KindTraits(shuffles=Shuffles(masked=False), gpu=gpu_tuning.METAL),
        ),
        TargetKind(
            "vulkan",
            VULKAN,
            ("vulkan", "gpu"),
            _VULKAN,
            {
                "supports_float32": True,
                "supports_int32": True,
                "max_num_threads": 256,
                "max_threads_per_block": 256,
                "thread_warp_size": 1,
            },
            traits=replace(_WGSL, gpu=gpu_tuning.VULKAN),
        ),
        TargetKind(
            "webgpu",
            WEBGPU,
            ("webgpu", "gpu"),
            "max_num_threads:int",
            {"max_num_threads": 256},
            traits=_WGSL,
        ),
        TargetKind(
            "hexagon",
            HEXAGON,
            ("hexagon", "cpu"),
            "mattr:strings mcpu:string mtriple:string llvm-options:strings num-cores:int "
            "vtcm-capacity:int",
            traits=KindTraits(narrow_functions=False, tuning_rules="hexagon"),
        ),
        TargetKind("ext_dev", EXT_DEV, (), ""),
        TargetKind("hybrid", CPU, (), ""),
        TargetKind("ccompiler", CPU, (), "header:string"),  # Relay's partners by way of C
        TargetKind(
            "example_target_hook", CPU, (), "example_attribute:int", {"example_attribute": 0}
        ),
        TargetKind("composite", CPU, (), "devices:targets"),
        TargetKind("test", CPU, (), "", features={"is_test": True}),
    )
}


def find_kind(name: str) -> TargetKind:
    """The kind called `name`; a TargetError offers the nearest name otherwise."""
    kind = KINDS.get(name)
    if kind is None:
        _add_installed()
        kind = KINDS.get(name)
    if kind is None:
        raise TargetError(
            message(
                f"Target kind {name!r} is not defined{did_you_mean(name, KINDS)}",
                legal=", ".join(sorted(KINDS)) + ", or a tag of tvm.target.list_tags()",
            )
        )
    return kind


def register_kind(kind: TargetKind) -> None:
    """Add a kind of target, or replace the one of its name."""
    KINDS[kind.name] = kind


def _add_installed() -> None:
    """Add the kinds of backends that installed packages declare; ours win over theirs."""
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        kind = getattr(entry.load(), "target_kind", None)
        if isinstance(kind, TargetKind):
            KINDS.setdefault(kind.name, kind)
