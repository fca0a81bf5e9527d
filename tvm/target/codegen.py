"""Questions to LLVM about itself and about CPUs."""

from __future__ import annotations

import platform
from collections.abc import Iterable

from tvm.error import TVMError, message

from .cpu_model import host_triple
from .target import Target


def llvm_version_major(allow_none: bool = False) -> int | None:
    """The major version of LLVM; without LLVM, None if that is allowed."""
    try:
        from llvmlite.binding import llvm_version_info  # a heavy package
    except ImportError:
        if allow_none:
            return None
        raise TVMError(
            message("ask for LLVM's version", found="no llvmlite", legal="pip install llvmlite")
        ) from None
    return int(llvm_version_info[0])


def llvm_get_system_triple() -> str:
    """The triple of this machine, such as "x86_64-unknown-linux-gnu"."""
    return host_triple()


def llvm_get_system_cpu() -> str:
    """LLVM's name of this machine's CPU."""
    from llvmlite.binding import get_host_cpu_name  # a heavy package

    return str(get_host_cpu_name())


def llvm_get_system_x86_vendor() -> str:
    """The maker of this machine's CPU, "intel", "amd" or "unknown"."""
    text = ""
    if platform.machine().lower() in ("x86_64", "amd64"):
        try:
            with open("/proc/cpuinfo", encoding="utf-8") as file:
                text = file.read()
        except OSError:
            text = platform.processor()
    vendors = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}
    return next((name for vendor, name in vendors.items() if vendor in text), "unknown")


def llvm_get_vector_width(target: Target | None = None) -> int:
    """Bits of a vector register of the target's CPU."""
    return _of(target).cpu.vector_bits


def llvm_cpu_has_features(
    cpu_features: str | Iterable[str], target: Target | None = None
) -> bool:
    """Whether the CPU of the target has all the features."""
    wanted = [cpu_features] if isinstance(cpu_features, str) else list(cpu_features)
    known = _of(target).cpu.features
    return all([feature in known for feature in wanted])


target_has_features = llvm_cpu_has_features


def _of(target: Target | str | None) -> Target:
    """The target, or the current one, or this machine."""
    if isinstance(target, str):
        return Target(target)
    return target or Target.current() or Target("llvm")
