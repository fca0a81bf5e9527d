"""From a Target to the machine that LLVM makes code for."""

from __future__ import annotations

from tvm.error import TargetError, message
from tvm.support.suggest import did_you_mean
from tvm.target import Target
from tvm.target.cpu_model import arch_of_triple, complete_features
from tvm.target.llvm_questions import ask_llvm
from tvm.target.named_cpu import is_tabulated

from .machine import Machine, host_machine, llvm_triples_match

_ASKED = ("x86_64", "aarch64", "riscv64")  # architectures whose CPUs must be known
DEFAULT_LEVEL = 2  # of targets without -opt-level; more gains nothing and doubles LLVM's time


def machine_of(target: Target) -> Machine:
    """Triple, CPU and features; for the host's own triple and no named CPU, all that it has."""
    if target.kind.name not in ("llvm", "hexagon"):
        raise TargetError(
            message(
                f"machine code for target {target.kind.name}",
                found="another backend's target",
                legal="llvm, hexagon",
            )
        )
    host = host_machine()
    own = "hexagon" if target.kind.name == "hexagon" else host.triple
    triple = str(target.attrs.get("mtriple", "")) or own
    cpu, extra = _known_cpu(triple, target.mcpu), ",".join(complete_features(triple, target.mattr))
    triple, floats = _with_float_abi(triple, _one_of(target, "mfloat-abi", ("soft", "hard")))
    extra = ",".join(part for part in (extra, floats) if part)
    _one_of(target, "jit", ("mcjit", "orcjit"))  # there is one way to link, which does for both
    level = min(max(int(target.attrs.get("opt-level", DEFAULT_LEVEL)), 0), 3)
    fast = _fast_math(target)
    if llvm_triples_match(triple, host.triple):
        triple = host.triple
        if cpu in ("", "native", host.cpu):
            features = ",".join(part for part in (host.features, extra) if part)
            return Machine(host.triple, host.cpu, features, level, fast_math=fast)
    abi = str(target.attrs.get("mabi", ""))
    return Machine(triple, cpu, extra, level, abi, fast)


def _known_cpu(triple: str, cpu: str) -> str:
    """The name of a CPU that LLVM has for the triple.

    Of others it says a word and makes code for none in particular, or code that it cannot link.
    """
    arch = arch_of_triple(triple)
    if cpu in ("", "generic") or arch not in _ASKED or is_tabulated(cpu, arch):
        return cpu
    if cpu != host_machine().cpu and cpu not in (known := ask_llvm(triple).cpus):
        raise TargetError(
            message(
                f"machine code for {triple}",
                found=f"-mcpu={cpu}, which LLVM does not have there{did_you_mean(cpu, known)}",
                legal="one of tvm.target.codegen.llvm_get_cpu_archlist(target)",
            )
        )
    return cpu


def _one_of(target: Target, option: str, legal: tuple[str, ...]) -> str:
    """The value of an option; none if it is not given."""
    found = str(target.attrs.get(option, ""))
    if found and found not in legal:
        raise TargetError(
            message(f"machine code for -{option}={found}", legal=", ".join(legal))
        )
    return found


def _with_float_abi(triple: str, wanted: str) -> tuple[str, str]:
    """The triple and the feature that pass floats in registers (hard), or compute without any."""
    if not triple.startswith(("arm", "thumb")):  # elsewhere `mabi` tells it, or nothing does
        return triple, ""
    if wanted == "hard" and triple.endswith("eabi"):
        return triple + "hf", ""
    if wanted == "soft":
        return triple.removesuffix("hf") if triple.endswith("eabihf") else triple, "+soft-float"
    return triple, ""


def _fast_math(target: Target) -> str:
    if target.attrs.get("fast-math"):
        return "fast"
    words = ("nnan", "ninf", "nsz", "arcp", "contract", "reassoc")
    return " ".join(word for word in words if target.attrs.get(f"fast-math-{word}"))


def is_host(machine: Machine) -> bool:
    """Whether code for `machine` can run here."""
    host = host_machine()
    return llvm_triples_match(machine.triple, host.triple)
