"""What code is made for, and what LLVM says of this machine; no more of the compiler is loaded."""

from __future__ import annotations

import platform
import threading
from dataclasses import dataclass
from types import ModuleType

_lock = threading.Lock()


@dataclass(frozen=True)
class Machine:
    """What code is made for: a triple, a CPU, its features, and how hard to optimise."""

    triple: str = ""
    cpu: str = ""
    features: str = ""
    opt_level: int = 2
    float_abi: str = ""
    fast_math: str = ""  # LLVM's words for what floating arithmetic may ignore


_host: Machine | None = None


def host_machine() -> Machine:
    """This machine, with all that its CPU can do."""
    global _host
    if _host is None:
        llvm = binding()
        features = llvm.get_host_cpu_features()
        on = [f"{'+' if features[name] else '-'}{name}" for name in sorted(features)]
        if features.get("avx512f"):
            # Without this LLVM vectorises plain loops with half the registers' width.
            on.append("-prefer-256-bit")
        if platform.machine() in ("aarch64", "arm64"):
            from tvm.target.host_cpu import host_cpu  # elsewhere LLVM knows all that rules use

            on += [f"+{name}" for name in sorted(host_cpu().features) if not features.get(name)]
        _host = Machine(llvm.get_process_triple(), llvm.get_host_cpu_name(), ",".join(on))
    return _host


_binding: ModuleType | None = None


def binding() -> ModuleType:
    """llvmlite's binding, set up once."""
    global _binding
    if _binding is None:
        with _lock:
            if _binding is None:
                import llvmlite.binding as loaded  # 140 ms: only when something is compiled

                loaded.initialize_native_target()
                loaded.initialize_native_asmprinter()
                loaded.initialize_native_asmparser()
                _binding = loaded
    return _binding


def llvm_version() -> tuple[int, ...]:
    """The version of LLVM that llvmlite carries."""
    return tuple(binding().llvm_version_info)


def same_family(a: str, b: str) -> bool:
    """Whether two triples are of one architecture."""
    return a.partition("-")[0] == b.partition("-")[0]


def llvm_triples_match(a: str, b: str) -> bool:
    """Whether two triples mean one platform: the vendor says nothing."""
    return _platform_of(a) == _platform_of(b)


def _platform_of(triple: str) -> tuple[str, str]:
    parts = triple.split("-")
    systems = ("linux", "darwin", "macos", "windows", "freebsd", "wasi", "android", "ios")
    system = next((s for s in systems for p in parts[1:] if p.startswith(s)), "none")
    return parts[0], {"macos": "darwin"}.get(system, system)
