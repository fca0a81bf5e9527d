"""What schedules need to know of a CPU: vector width, registers, caches, ports, cores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

# Features that bring conversions of float16; an architecture that is not here always has them.
_HALF: Final = {
    "x86_64": frozenset(("f16c", "avx512f", "avx512fp16")),
    **dict.fromkeys(("riscv64", "riscv32"), frozenset(("zfh", "zfhmin", "zvfh", "zvfhmin"))),
}  # fmt: skip


@dataclass(frozen=True)
class CpuModel:
    """A CPU as a scheduling rule sees it; sizes are of one core, in bytes."""

    name: str
    arch: str
    vector_bits: int
    vector_registers: int
    fma_ports: int
    l1d_bytes: int
    l2_bytes: int
    l3_bytes: int
    cores: int
    features: frozenset[str] = frozenset()

    def lanes(self, bits: int = 32) -> int:
        """How many values of so many bits a vector register holds."""
        return max(1, self.vector_bits // max(bits, 1))

    @property
    def converts_half(self) -> bool:
        """Whether an instruction converts float16 to float32 and back."""
        wanted = _HALF.get(self.arch)
        return wanted is None or bool(wanted & self.features)


_ARCH_NAMES: Final = {
    "amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64",
    "riscv64": "riscv64", "riscv32": "riscv32", "wasm32": "wasm32",
    "i386": "x86_64", "i686": "x86_64",
}  # fmt: skip


def arch_of_triple(triple: str) -> str:
    """The architecture of an LLVM triple (`aarch64-linux-gnu`)."""
    first = triple.split("-", 1)[0].lower()
    return _ARCH_NAMES.get(first, first)


def complete_features(triple: str, mattr: Sequence[str]) -> list[str]:
    """The features asked for, and what LLVM does not know to be part of them.

    Arm's ninth architecture always has SVE2 (Arm ARM, A2.3); LLVM says so of its CPUs only.
    """
    found = list(mattr)
    if arch_of_triple(triple) == "aarch64" and any(re.match(r"\+v9(\.\d+)?a$", m) for m in found):
        # in front, so that what the user switches off stays off
        found = ["+fullfp16", "+sve2", *found]
    return found


def with_features(model: CpuModel, mattr: Sequence[str]) -> CpuModel:
    """The model after features are switched on and off (`+avx2`, `-avx512f`)."""
    features = set(model.features)
    for item in mattr:
        name = item.lstrip("+-")
        if item.startswith("-"):
            features.discard(name)
        else:
            features.add(name)
    bits, registers = model.vector_bits, model.vector_registers
    if model.arch == "x86_64":
        wide = 256 if {"avx", "avx2"} & features else 128
        bits = 512 if "avx512f" in features else wide
        registers = 32 if bits == 512 else 16
    elif model.arch.startswith("riscv"):
        bits = max(bits, *(_riscv_vector_bits(name) for name in features), 0)
    return replace(
        model, features=frozenset(features), vector_bits=bits, vector_registers=registers
    )


def _riscv_vector_bits(feature: str) -> int:
    """The vectors that a feature promises: `v` has 128 bits at least, `zvl512b` has 512."""
    named = re.fullmatch(r"zvl(\d+)b", feature)
    return int(named[1]) if named else 128 if feature == "v" else 0
