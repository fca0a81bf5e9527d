"""The model of a CPU that a target names: from the table, or from what LLVM knows of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tvm.error import CheckError

from .cpu_model import CpuModel, with_features
from .cpu_table import BASELINE, TABLE

_ASKED: Final = ("x86_64", "aarch64", "riscv64", "riscv32")  # whose CPUs LLVM tells apart


def named_cpu(name: str, arch: str, cores: int) -> CpuModel:
    """The model of a CPU by LLVM's name for it.

    Those without figures have the features that LLVM knows of, and otherwise the least of the
    architecture, as names have that LLVM does not know.
    """
    model = TABLE.get(name)
    if model is None:
        least = BASELINE.get(arch, BASELINE["x86_64"])
        model = _with_ports(with_features(least, [f"+{f}" for f in _known_features(name, arch)]))
    return replace(model, name=name or model.name, cores=cores)


def _known_features(name: str, arch: str) -> frozenset[str]:
    if name in ("", "generic") or arch not in _ASKED:
        return frozenset()
    from .llvm_questions import ask_llvm  # which is a program too

    try:
        known = ask_llvm(f"{arch}-unknown-linux-gnu", name)
    except CheckError:
        return frozenset()
    return known.on if name in known.cpus else frozenset()


def _with_ports(model: CpuModel) -> CpuModel:
    """Two pipes for products where cores of that generation mostly have them."""
    two = {"x86_64": "fma", "aarch64": "fullfp16"}.get(model.arch) in model.features
    return replace(model, fma_ports=2) if two and model.vector_bits < 512 else model


def is_tabulated(name: str, arch: str = "x86_64") -> bool:
    """Whether there are figures for a CPU of an architecture under this name."""
    return name in ("host", "native") or (name in TABLE and TABLE[name].arch == arch)
