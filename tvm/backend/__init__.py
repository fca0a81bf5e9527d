"""Backends: one folder each, and one line each in the table below."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Final

from tvm.error import TargetError, message
from tvm.support.suggest import did_you_mean

from .record import Backend

ENTRY_POINT_GROUP: Final = "tvm.backends"  # where installed packages offer records of their own

BACKENDS: Final[dict[str, Backend]] = {
    "c": Backend("c", "tvm.backend.c", makes_host_code=True),
    "cuda": Backend("cuda", "tvm.backend.cuda"),
    "hexagon": Backend("hexagon", "tvm.backend.llvm.module", makes_host_code=True),
    "llvm": Backend("llvm", "tvm.backend.llvm.module", makes_host_code=True),
    "metal": Backend("metal", "tvm.backend.metal"),
    "opencl": Backend("opencl", "tvm.backend.opencl"),
    "rocm": Backend("rocm", "tvm.backend.rocm"),
    "vulkan": Backend("vulkan", "tvm.backend.vulkan"),
    "webgpu": Backend("webgpu", "tvm.backend.webgpu"),
}


def known_backend(kind: str) -> Backend | None:
    """The backend of a target kind, of ours or of an installed package; None without one."""
    if kind not in BACKENDS:
        _load_entry_points()
    return BACKENDS.get(kind)


def find_backend(kind: str) -> Backend:
    """The backend of a target kind; a TargetError with near names when there is none."""
    found = known_backend(kind)
    if found is None:
        raise TargetError(
            message(
                f"code for target kind {kind!r}",
                found=f"no backend for it{did_you_mean(kind, BACKENDS)}",
                legal=", ".join(sorted(BACKENDS)),
            )
        )
    return found


def _load_entry_points() -> None:
    """Add the backends that installed packages declare; ours win over theirs."""
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        record = entry.load()
        if isinstance(record, Backend):
            BACKENDS.setdefault(record.kind, record)
