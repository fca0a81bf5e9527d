"""From a Target to the machine that LLVM makes code for."""

from __future__ import annotations

from tvm.error import TargetError, message
from tvm.target import Target

from .jit import Machine, host_machine, llvm_triples_match


def machine_of(target: Target) -> Machine:
    """Triple, CPU and features; for the host's own triple and no named CPU, all that it has."""
    if target.kind.name != "llvm":
        raise TargetError(
            message(
                f"machine code for target {target.kind.name}",
                found="another backend's target",
                legal="llvm",
            )
        )
    host = host_machine()
    triple = str(target.attrs.get("mtriple", "")) or host.triple
    cpu, extra = target.mcpu, ",".join(target.mattr)
    level = int(target.attrs.get("opt-level", 2))
    fast = _fast_math(target)
    if llvm_triples_match(triple, host.triple):
        triple = host.triple
        if cpu in ("", "native", host.cpu):
            features = ",".join(part for part in (host.features, extra) if part)
            return Machine(host.triple, host.cpu, features, level, fast_math=fast)
    abi = str(target.attrs.get("mabi", ""))
    return Machine(triple, cpu, extra, level, abi, fast)


def _fast_math(target: Target) -> str:
    if target.attrs.get("fast-math"):
        return "fast"
    words = ("nnan", "ninf", "nsz", "arcp", "contract", "reassoc")
    return " ".join(word for word in words if target.attrs.get(f"fast-math-{word}"))


def is_host(machine: Machine) -> bool:
    """Whether code for `machine` can run here."""
    host = host_machine()
    return llvm_triples_match(machine.triple, host.triple)
