"""Tags: short names for whole target configurations, such as `nvidia/nvidia-a100`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tvm.error import TargetError
from tvm.ir.node import of_type

from .nvidia_gpus import NVIDIA_GPUS

Config = dict[str, Any]

# GPUs of the embedded boards, with the CPU beside them.
_JETSONS: Final = {
    "jetson-agx-xavier": ("sm_72", "carmel", 8),
    "jetson-orin-nano": ("sm_87", "carmel", 6),
    "jetson-agx-orin-32gb": ("sm_87", "cortex-a78", 8),
    "jetson-agx-orin-64gb": ("sm_87", "cortex-a78", 12),
}
# Second-level caches, from NVIDIA's architecture documents.
_L2_BYTES: Final = {
    name: {"l2_cache_size_bytes": mebibytes << 20}
    for name, mebibytes in (("nvidia-a100", 40), ("nvidia-h100", 50), ("geforce-rtx-4090", 72))
}
_C5_CORES: Final = {
    "large": 1, "xlarge": 2, "2xlarge": 4, "4xlarge": 8, "9xlarge": 18, "12xlarge": 24,
    "18xlarge": 36, "24xlarge": 48,
}  # fmt: skip
_APPLE_GPUS: Final = {"m1-gpu": 1024, "m1-gpu-restricted": 256, "m2-gpu": 1024}


def _cuda(arch: str) -> Config:
    # limits of the CUDA programming guide that hold for every architecture listed
    return {
        "kind": "cuda",
        "keys": ["cuda", "gpu"],
        "arch": arch,
        "max_shared_memory_per_block": 49152,
        "max_threads_per_block": 1024,
        "thread_warp_size": 32,
        "registers_per_block": 32768 if arch == "sm_53" else 65536,
    }


def _table() -> dict[str, Config]:
    tags: dict[str, Config] = {
        f"nvidia/{name}": {**_cuda(arch), **_L2_BYTES.get(name, {})}
        for arch, names in NVIDIA_GPUS.items()
        for name in names.split()
    }
    for name, (arch, cpu, cores) in _JETSONS.items():
        host = {"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": cpu, "num-cores": cores}
        tags[f"nvidia/{name}"] = {**_cuda(arch), "host": host}
    for size, cores in _C5_CORES.items():
        cpu = "skylake-avx512" if size in ("9xlarge", "18xlarge") else "cascadelake"
        tags[f"aws/cpu/c5.{size}"] = {
            "kind": "llvm",
            "keys": ["x86", "cpu"],
            "mcpu": cpu,
            "num-cores": cores,
        }
    for name, threads in _APPLE_GPUS.items():
        tags[f"apple/{name}"] = {
            "kind": "metal",
            "max_threads_per_block": threads,
            "max_shared_memory_per_block": 32768,
            "thread_warp_size": 32,
            "host": {"kind": "llvm", "mtriple": "arm64-apple-macos", "mcpu": "apple-latest"},
        }
    tags["raspberry-pi/4b-aarch64"] = {
        "kind": "llvm",
        "mtriple": "aarch64-linux-gnu",
        "mcpu": "cortex-a72",
        "mattr": ["+neon"],
        "num-cores": 4,
        "host": {
            "kind": "llvm",
            "mtriple": "aarch64-linux-gnu",
            "mcpu": "cortex-a72",
            "mattr": ["+neon"],
            "num-cores": 4,
        },
    }
    return tags


_TAGS: Final[dict[str, Config]] = _table()


def find_tag(name: str) -> Config | None:
    """A copy of the configuration behind a tag, or None."""
    config = _TAGS.get(name)
    return None if config is None else dict(config)


def list_tags() -> dict[str, Any]:
    """All tags with their targets."""
    from .target import Target  # a target knows its tag, so the two refer to each other

    return {name: Target(name) for name in _TAGS}


def register_tag(name: str, config: Mapping[str, Any], override: bool = False) -> Any:
    """Add a tag and give its target; a name that exists needs `override`."""
    from .target import Target

    if of_type(name, str, "register_tag: the name") in _TAGS and not override:
        raise TargetError(f"target tag {name!r} is registered already; legal: override=True")
    if not isinstance(config, Mapping):
        raise TargetError(
            f"register_tag: the target of {name!r} is a {type(config).__name__}; legal: a dict"
        )
    Target(config)  # refused before it has a name
    _TAGS[name] = dict(config)
    return Target(name)
