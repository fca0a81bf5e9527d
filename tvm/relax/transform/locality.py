"""What it costs that data is not near: estimates for orders of work, in nanoseconds.

The rates are those at which kernels that stream were seen to fall behind what arithmetic hides, on
a Zen 5 core beside others; they decide between orders that differ by much.
"""

from __future__ import annotations

from tvm.target.cpu_model import CpuModel

# A byte from the cache that cores share, and from memory, beyond what arithmetic hides.
_SHARED = 1 / 60
_MEMORY = 1 / 16
# A byte of weights, which are fetched before they are needed.
_WEIGHT_SHARED = 1 / 100
_WEIGHT_MEMORY = 1 / 30
_CALL = 1000.0  # a kernel more
_MEETING = 5000.0  # of cores, at the end of a kernel
_SCALING = 4  # cores that share what memory gives
ENOUGH = 100_000.0  # what another order has to gain


class Locality:
    """The caches of a CPU, as a choice between orders of work sees them."""

    def __init__(self, cpu: CpuModel) -> None:
        cores = max(cpu.cores, 1)
        self._scale = min(cores, _SCALING)
        self.near = cpu.l2_bytes / 2  # the other half is what lies around it
        self.shared = cpu.l3_bytes / 2
        self.call = _CALL if cores == 1 else _CALL + _MEETING

    def moved(self, nbytes: float, at_once: float, times: int = 1) -> float:
        """What is gained where `nbytes`, gone over so often, are worked on in smaller parts."""
        nearer = self._per_byte(nbytes) - self._per_byte(at_once)
        return times * nbytes * nearer / self._scale

    def weights(self, nbytes: float, all_of_them: float) -> float:
        """Reading weights once more, of a chain that reads `all_of_them` in turn."""
        rate = _WEIGHT_SHARED if all_of_them <= self.shared else _WEIGHT_MEMORY
        return nbytes * rate / self._scale

    def _per_byte(self, nbytes: float) -> float:
        """Of data gone over in turn, a cache keeps what fits: of little too much, nearly all."""
        from_memory = max(0.0, 1 - self.shared / nbytes) if nbytes else 0.0
        from_shared = max(0.0, 1 - self.near / nbytes) - from_memory if nbytes else 0.0
        return _MEMORY * from_memory + _SHARED * max(0.0, from_shared)
