"""Questions to LLVM about itself, about CPUs, and about intrinsics."""

from __future__ import annotations

import platform
import warnings
import zlib
from collections.abc import Iterable
from typing import Final

from tvm.error import CheckError, message
from tvm.support.lazy import lazy_names

from .cpu_model import arch_of_triple, complete_features, with_features
from .host_cpu import host_triple
from .llvm_intrinsics import is_known
from .llvm_questions import CpuFeatures, ask_llvm
from .target import Target

__getattr__ = lazy_names(__name__, {"build_module": "tvm.tir.build:codegen_build"})

# The first parts of triples that LLVM may have a backend for.
_ARCHS: Final = (
    "aarch64", "aarch64_32", "aarch64_be", "amdgcn", "arc", "arm", "armeb", "avr", "bpfeb", "bpfel",
    "csky", "dxil", "hexagon", "i386", "lanai", "loongarch32", "loongarch64", "m68k", "mips",
    "mips64", "mips64el", "mipsel", "msp430", "nvptx", "nvptx64", "powerpc", "powerpc64",
    "powerpc64le", "powerpcle", "r600", "riscv32", "riscv64", "s390x", "sparc", "sparcel",
    "sparcv9", "spirv", "spirv32", "spirv64", "thumb", "thumbeb", "ve", "wasm32", "wasm64",
    "x86_64", "xcore", "xtensa",
)  # fmt: skip
_MIN_BITS: Final = 128
_numbers: Final[dict[int, str]] = {}  # intrinsics by the number that stands for them


def llvm_version_major(allow_none: bool = False) -> int | None:
    """The major version of LLVM; without LLVM, None if that is allowed."""
    try:
        from llvmlite.binding import llvm_version_info  # a heavy package
    except ImportError:
        if allow_none:
            return None
        raise CheckError(
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


def llvm_get_targets() -> list[str]:
    """The architectures that LLVM makes code for, as triples begin with them."""
    from llvmlite import binding  # a heavy package

    binding.initialize_all_targets()
    found: set[str] = set()
    for arch in _ARCHS:
        try:
            binding.Target.from_triple(f"{arch}--")
        except RuntimeError:
            continue
        found.add(arch)
    return sorted(found)


def llvm_get_cpu_archlist(target: Target | None = None) -> list[str]:
    """The CPUs that LLVM knows for the target's architecture."""
    return list(_facts(_of(target)).cpus)


def llvm_get_cpu_features(target: Target | None = None) -> set[str]:
    """The features of the target's CPU, as its `mattr` changes them."""
    return set(_facts(_of(target)).on)


def llvm_cpu_has_features(
    cpu_features: str | Iterable[str], target: Target | None = None
) -> bool:
    """Whether the CPU of the target has all the features."""
    wanted = [cpu_features] if isinstance(cpu_features, str) else list(cpu_features)
    chosen = _of(target)
    known = chosen.cpu.features  # mostly enough, and needs no LLVM
    if all([feature in known for feature in wanted]):
        return True
    on = _facts(chosen).on
    return all([feature in on for feature in wanted])


target_has_features = llvm_cpu_has_features


def llvm_get_vector_width(target: Target | None = None) -> int:
    """Bits of a vector register of the target's CPU, or those that the target asks for.

    128 where nothing is known, and on RISC-V where nothing wider is promised.
    """
    chosen = _of(target)
    model, arch = chosen.cpu, arch_of_triple(str(chosen.attrs.get("mtriple", host_triple())))
    if "vector-width" in chosen.attrs:
        return model.vector_bits
    if arch == "x86_64":
        return model.vector_bits
    if arch.startswith("riscv"):
        model = with_features(model, [f"+{name}" for name in _facts(chosen).on])
        return max(model.vector_bits, _MIN_BITS)
    if not arch.startswith(("aarch64", "arm", "thumb", "wasm")):
        warnings.warn(f"the vectors of {arch} are not known; 128 bits are taken", stacklevel=2)
    return _MIN_BITS


def llvm_lookup_intrinsic_id(name: str) -> int:
    """A number for an LLVM intrinsic; 0 for a name that LLVM does not know."""
    if not is_known(name):
        return 0
    number = zlib.crc32(name.encode()) or 1
    _numbers[number] = name
    return number


def llvm_get_intrinsic_name(intrin_id: int) -> str:
    """The intrinsic behind a number of `llvm_lookup_intrinsic_id`; empty for other numbers."""
    return _numbers.get(int(intrin_id), "")


def _facts(target: Target) -> CpuFeatures:
    """What LLVM knows of the target's CPU; for a target that names none, of this machine's."""
    triple = str(target.attrs.get("mtriple", "")) or host_triple()
    cpu = target.mcpu
    if target.is_this_machine or cpu in ("host", "native"):
        cpu = llvm_get_system_cpu()
    return ask_llvm(triple, cpu, ",".join(complete_features(triple, target.mattr)))


def _of(target: Target | str | None) -> Target:
    """The target, or the current one, which there must be."""
    if isinstance(target, str):
        return Target(target)
    found = target or Target.current(allow_none=False)
    assert found is not None, "or it were an error"
    return found
