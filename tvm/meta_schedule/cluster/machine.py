"""What a node of a cluster says of itself."""

from __future__ import annotations

from tvm.target.host_cpu import available_cores
from tvm.target.target import Target


def describe() -> tuple[str, int]:
    """The CPU of this machine as LLVM calls it, and how many cores this process may use."""
    from tvm.backend.llvm.jit import host_machine

    return host_machine().cpu, available_cores()


def machine_of(target: Target) -> str:
    """The CPU that a target is for, this machine's where it names none."""
    return str(target.mcpu) if target.mcpu not in ("", "native") else describe()[0]
