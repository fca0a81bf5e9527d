"""Backends: one folder each, and one line each in the table below."""

from __future__ import annotations

from typing import Final

from tvm.error import TargetError, message
from tvm.support.entry_points import entry_points
from tvm.support.suggest import did_you_mean
from tvm.target.kind import ENTRY_POINT_GROUP, register_kind
from tvm.target.target import Target

from .record import Backend

BACKENDS: Final[dict[str, Backend]] = {
    "c": Backend("c", "tvm.backend.c", makes_host_code=True),
    "cuda": Backend("cuda", "tvm.backend.cuda", graph_passes="tvm.relax.backend.cuda"),
    "hexagon": Backend(
        "hexagon", "tvm.backend.llvm.module", makes_host_code=True, compiles_graphs=False
    ),
    "llvm": Backend(
        "llvm", "tvm.backend.llvm.module", makes_host_code=True,
        graph_passes="tvm.relax.backend.cpu_generic", keeps_kernels=True,
    ),
    "metal": Backend("metal", "tvm.backend.metal", graph_passes="tvm.relax.backend.gpu_generic"),
    "nvptx": Backend("nvptx", "tvm.backend.nvptx", graph_passes="tvm.relax.backend.gpu_generic"),
    "opencl": Backend(
        "opencl", "tvm.backend.opencl", keyed_graph_passes={"adreno": "tvm.relax.backend.adreno"}
    ),
    "rocm": Backend("rocm", "tvm.backend.rocm", graph_passes="tvm.relax.backend.rocm"),
    "vulkan": Backend("vulkan", "tvm.backend.vulkan"),
    "webgpu": Backend("webgpu", "tvm.backend.webgpu"),
}  # fmt: skip


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


def makes_host_code(target: Target) -> bool:
    """Whether functions for a target are called on the host, as those of a library."""
    found = known_backend(target.kind.name)
    return found is not None and found.makes_host_code


def register_backend(record: Backend) -> None:
    """Add a backend of one's own, and the kind of target that it brings."""
    BACKENDS[record.kind] = record
    if record.target_kind is not None:
        register_kind(record.target_kind)


def _load_entry_points() -> None:
    """Add the backends that installed packages declare; ours win over theirs."""
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        record = entry.load()
        if isinstance(record, Backend):
            BACKENDS.setdefault(record.kind, record)
