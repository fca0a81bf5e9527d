"""How long a kernel takes, roughly, and over how many threads it is worth spreading."""

from __future__ import annotations

from tvm.target.cpu_model import CpuModel

# A parallel region costs a few microseconds; a thread should have several times as much to do.
LEAST_US = 20.0
CYCLES_PER_US = 2500.0
BYTES_PER_CYCLE = 8.0


def flops_us(cpu: CpuModel, flops: float, bits: int = 32) -> float:
    """Microseconds of one core for so many additions and multiplications, at 70 % of the peak."""
    return flops / (2 * cpu.lanes(bits) * cpu.fma_ports * 0.7) / CYCLES_PER_US


def bytes_us(size: float) -> float:
    """Microseconds of one core to move so many bytes from and to the outer caches."""
    return size / BYTES_PER_CYCLE / CYCLES_PER_US


def threads_for(cpu: CpuModel, microseconds: float) -> int:
    """How many threads the work is worth; 1 means serial."""
    return max(1, min(cpu.cores, int(microseconds / LEAST_US)))


# What a symbolic extent counts as: mostly a batch, and mostly a small one.
SYMBOLIC = 8
