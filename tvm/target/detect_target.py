"""The target of a device of this machine."""

from __future__ import annotations

from typing import Any

from tvm.error import TargetError, message

from .cpu_model import available_cores
from .kind import CPU, CUDA
from .target import Target

_NAMES = {"cpu": CPU, "llvm": CPU, "cuda": CUDA, "gpu": CUDA}


def detect_target_from_device(dev: Any) -> Target:
    """The target for a device given as `"cpu"`, `"cuda:0"` or a Device."""
    name = dev if isinstance(dev, str) else ""
    kind = _NAMES.get(name.split(":")[0]) if name else int(dev.dlpack_device_type())
    if kind == CPU:
        return Target({"kind": "llvm", "num-cores": available_cores()})
    if kind == CUDA and not name and dev.exist:
        return Target(
            {
                "kind": "cuda",
                "arch": "sm_" + str(dev.compute_version).replace(".", ""),
                "max_shared_memory_per_block": dev.max_shared_memory_per_block,
                "max_threads_per_block": dev.max_threads_per_block,
                "thread_warp_size": dev.warp_size,
            }
        )
    raise TargetError(
        message(
            f"Auto detection for device {dev!s} is not supported",
            legal="cpu; a cuda Device that exists on this machine",
        )
    )
