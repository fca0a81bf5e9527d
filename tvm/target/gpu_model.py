"""What a GPU has: threads in a warp, registers, shared memory, what fits, how fast memory is.

`Target("cuda -arch=sm_90").gpu` is its model. Limits are those of the machine (CUDA C++ Programming
Guide, technical specifications by compute capability; AMD's instruction set manuals). Numbers of
multiprocessors, clock and bandwidth are those of one chip that has it, whose name stands by them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from tvm.error import TargetError, message

KIB: Final = 1 << 10
# Threads that hold the fragments of a matrix unit together: a fact of its instructions.
MATRIX_THREADS: Final = {"cuda": 32, "metal": 32, "rocm": 64}


class Occupancy(NamedTuple):
    """How much of a multiprocessor a kernel fills, and what keeps more from fitting."""

    blocks: int  # that run on a multiprocessor at a time
    warps: int
    fraction: float  # of the warps that it could hold
    limit: str  # "threads", "registers", "shared memory" or "blocks"


@dataclass(frozen=True)
class GpuModel:
    """The facts of one kind of machine; sizes in bytes, rates a second."""

    name: str
    warp_size: int
    threads_per_block: int
    warps: int  # that a multiprocessor holds
    blocks: int  # that a multiprocessor holds
    registers: int  # of 32 bits, of a multiprocessor
    registers_per_thread: int
    register_unit: int  # registers of a thread are given out in such steps
    shared: int  # of a multiprocessor
    shared_per_block: int
    shared_reserved: int = 0  # that each block takes beside its own
    shared_unit: int = 128
    lanes: int = 64  # float32 operations a cycle of a multiprocessor, an FMA counted once
    chip: str = ""
    multiprocessors: int = 0  # 0: not known, and so are the figures below
    clock_hz: float = 0.0
    bandwidth: float = 0.0
    l2_bytes: int = 0

    @property
    def flops(self) -> float:
        """float32 operations a second, an FMA counted as two."""
        return 2.0 * self.lanes * self.multiprocessors * self.clock_hz

    def occupancy(self, threads: int, registers: int = 0, shared: int = 0) -> Occupancy:
        """What fits of blocks with so many threads, registers a thread, and shared bytes."""
        warps = -(-max(threads, 1) // self.warp_size)
        fits = {"threads": self.warps // warps, "blocks": self.blocks}
        if registers and self.registers:
            each = _up(registers, self.register_unit) * self.warp_size * warps
            fits["registers"] = self.registers // each
        if shared and self.shared:
            fits["shared memory"] = self.shared // _up(
                shared + self.shared_reserved, self.shared_unit
            )
        most = min(fits.values())
        limit = next(name for name, count in fits.items() if count == most)
        return Occupancy(most, most * warps, most * warps / self.warps, limit)

    def max_registers(self, threads: int) -> int:
        """Registers that each of so many threads of a block may have."""
        warps = -(-max(threads, 1) // self.warp_size)
        share = self.registers // (warps * self.warp_size) // self.register_unit
        return min(share * self.register_unit, self.registers_per_thread)

    def floor_seconds(self, nbytes: float, flops: float = 0.0) -> float | None:
        """The least time for moving so many bytes and doing so many operations; None: not known."""
        if not self.bandwidth:
            return None
        return max(nbytes / self.bandwidth, flops / self.flops)


def _up(value: int, step: int) -> int:
    return -(-value // step) * step


def _nvidia(
    name: str, warps: int, blocks: int, shared_kib: int, block_kib: int, lanes: int,
    chip: tuple[str, int, float, float, float] = ("", 0, 0, 0, 0), registers: int = 64 * KIB,
    per_thread: int = 255, threads: int = 1024,
) -> GpuModel:  # fmt: skip
    """A compute capability, and a chip: multiprocessors, GHz, GB/s and MiB of L2."""
    newer = int(name) >= 80
    return GpuModel(
        f"sm_{name}", 32, threads, warps, blocks, registers, per_thread, 8, shared_kib * KIB,
        block_kib * KIB, KIB if newer else 0, 128 if newer else 256, lanes, chip[0], chip[1],
        chip[2] * 1e9, chip[3] * 1e9, int(chip[4] * KIB * KIB),
    )  # fmt: skip


def _amd(
    name: str, warp: int, warps: int, registers: int, per_thread: int, unit: int, lanes: int,
    chip: tuple[str, int, float, float, float] = ("", 0, 0, 0, 0), shared_kib: int = 64,
) -> GpuModel:  # fmt: skip
    """A machine of AMD's, whose multiprocessors are compute units."""
    return GpuModel(
        name, warp, 1024, warps, warps, registers, per_thread, unit, shared_kib * KIB,
        shared_kib * KIB, 0, 512, lanes, chip[0], chip[1], chip[2] * 1e9, chip[3] * 1e9,
        int(chip[4] * KIB * KIB),
    )  # fmt: skip


_MODELS: Final[dict[str, GpuModel]] = {
    model.name: model
    for model in (
        _nvidia("20", 48, 8, 48, 48, 32, registers=32 * KIB, per_thread=63),
        _nvidia("21", 48, 8, 48, 48, 48, registers=32 * KIB, per_thread=63),
        _nvidia("30", 64, 16, 48, 48, 192, per_thread=63),
        _nvidia("32", 64, 16, 48, 48, 192),
        _nvidia("35", 64, 16, 48, 48, 192),
        _nvidia("37", 64, 16, 112, 48, 192, registers=128 * KIB),
        _nvidia("50", 64, 32, 64, 48, 128, ("GeForce GTX 750 Ti", 5, 1.085, 86.4, 2)),
        _nvidia("52", 64, 32, 96, 48, 128, ("GeForce GTX 980", 16, 1.216, 224, 2)),
        _nvidia("53", 64, 32, 64, 48, 128),
        _nvidia("60", 64, 32, 64, 48, 64, ("Tesla P100", 56, 1.48, 732, 4)),
        _nvidia("61", 64, 32, 96, 48, 128, ("GeForce GTX 1080", 20, 1.733, 320, 2)),
        _nvidia("62", 64, 32, 64, 48, 128),
        _nvidia("70", 64, 32, 96, 96, 64, ("V100", 80, 1.53, 900, 6)),
        _nvidia("72", 64, 32, 96, 96, 64),
        _nvidia("75", 32, 16, 64, 64, 64, ("T4", 40, 1.59, 320, 4)),
        _nvidia("80", 64, 32, 164, 163, 64, ("A100", 108, 1.41, 1555, 40)),
        _nvidia("86", 48, 16, 100, 99, 128, ("GeForce RTX 3090", 82, 1.695, 936, 6)),
        _nvidia("87", 48, 16, 164, 163, 128),
        _nvidia("89", 48, 24, 100, 99, 128, ("GeForce RTX 4090", 128, 2.52, 1008, 72)),
        _nvidia("90", 64, 32, 228, 227, 128, ("H100 SXM", 132, 1.83, 3350, 50)),
        _nvidia("100", 64, 32, 228, 227, 128, ("B200", 148, 1.85, 8000, 126)),
        _nvidia("101", 48, 24, 228, 227, 128),
        _nvidia("103", 64, 32, 228, 227, 128),
        _nvidia("110", 48, 24, 228, 227, 128),
        _nvidia("120", 48, 24, 100, 99, 128, ("GeForce RTX 5090", 170, 2.41, 1792, 96)),
        _nvidia("121", 48, 24, 100, 99, 128),
        _amd("gfx900", 64, 40, 64 * KIB, 256, 4, 64, ("Radeon Vega 64", 64, 1.546, 484, 4)),
        _amd("gfx906", 64, 40, 64 * KIB, 256, 4, 64, ("Instinct MI50", 60, 1.725, 1024, 4)),
        _amd("gfx908", 64, 40, 64 * KIB, 256, 4, 64, ("Instinct MI100", 120, 1.502, 1229, 8)),
        _amd("gfx90a", 64, 32, 128 * KIB, 512, 8, 64, ("Instinct MI250X", 110, 1.7, 1638, 8)),
        _amd("gfx942", 64, 32, 128 * KIB, 512, 8, 128, ("Instinct MI300X", 304, 2.1, 5300, 4)),
        _amd("gfx1030", 32, 32, 64 * KIB, 256, 8, 64, ("Radeon RX 6900 XT", 80, 2.25, 512, 4)),
        _amd("gfx1100", 32, 32, 96 * KIB, 256, 24, 128, ("Radeon RX 7900 XTX", 96, 2.5, 960, 6)),
        _amd("gfx1201", 32, 32, 96 * KIB, 256, 24, 128, ("Radeon RX 9070 XT", 64, 2.97, 640, 8)),
    )
}
_SM: Final = re.compile(r"sm_(\d+)([af]?)")
# what a target says that names no machine: one that is old enough for its code to run on most
_USUAL: Final = {"cuda": "sm_75", "nvptx": "sm_75", "rocm": "gfx900"}
_UNNAMED: Final = GpuModel("", 1, 256, 32, 16, 0, 0, 1, 0, 0)


def machine_named(name: str) -> GpuModel | None:
    """The model of a machine, as "sm_90a" or "gfx90a"; None for one that is not in the table."""
    found = _SM.fullmatch(name)
    return _MODELS.get(f"sm_{found[1]}" if found is not None else name)


def check_sm(kind: str, name: str) -> None:
    """A TargetError for an architecture that NVIDIA does not have; newer ones than ours may be."""
    found = _SM.fullmatch(name)
    if name in ("", "128bit") or (found is not None and (
        f"sm_{found[1]}" in _MODELS or int(found[1]) > _newest())):  # fmt: skip
        return
    known = ", ".join(one for one in _MODELS if one.startswith("sm_"))
    raise TargetError(
        message(f"Target {kind}: option 'arch' or 'mcpu'", found=repr(name), legal=known)
    )


def _newest() -> int:
    return max(int(name[3:]) for name in _MODELS if name.startswith("sm_"))


def is_rdna(name: str) -> bool:
    """Whether a machine of AMD's runs 32 threads in step, as gfx10 and later do."""
    return re.fullmatch(r"gfx1[0-2]\w\w", name) is not None


def model_of(kind: str, attrs: Mapping[str, Any]) -> GpuModel:
    """The model of a target with these options; what they tell of the machine is taken."""
    named = str(attrs.get("arch") or attrs.get("mcpu") or "")
    found = machine_named(named) or machine_named(_USUAL.get(kind, "")) or _UNNAMED
    threads = attrs.get("max_threads_per_block") or attrs.get("max_num_threads")
    told: dict[str, Any] = {
        "name": named or found.name or kind,
        "warp_size": attrs.get("thread_warp_size"),
        "threads_per_block": threads,
        "shared_per_block": attrs.get("max_shared_memory_per_block"),
        "l2_bytes": attrs.get("l2_cache_size_bytes"),
    }
    if not found.shared:
        told["shared"] = told["shared_per_block"]
    return replace(found, **{name: value for name, value in told.items() if value})
