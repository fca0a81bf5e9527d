"""What schedules need to know of a CPU: vector width, registers, caches, ports, cores.

For the host it is detected; for a named CPU it is looked up; anything else gets the least of its
architecture. Figures: Intel 64 and IA-32 Optimization Reference Manual; AMD Software Optimization
Guides for families 17h to 1Ah; Arm Software Optimization Guides; Apple's public documents.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final


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


KB: Final = 1024
MB: Final = 1024 * KB
_AVX2: Final = frozenset(("sse4.2", "avx", "avx2", "fma", "f16c"))
_AVX_VNNI: Final = _AVX2 | {"avxvnni"}
_AVX512: Final = _AVX2 | {"avx512f", "avx512vl", "avx512bw", "avx512dq"}
_VNNI: Final = _AVX512 | {"avx512vnni"}
_BF16: Final = _VNNI | {"avx512bf16"}
_AMX: Final = frozenset(("amx-tile", "amx-int8", "amx-bf16"))
_SPR: Final = _BF16 | {"avx512fp16"} | _AMX
_NEON: Final = frozenset(("neon",))
_DOT: Final = _NEON | {"dotprod", "fullfp16"}
_SVE: Final = _DOT | {"sve", "i8mm", "bf16"}
_SVE2: Final = _SVE | {"sve2"}
_AVX: Final = frozenset(("sse4.2", "avx"))


def _x86(
    name: str, bits: int, ports: int, l1: int, l2: int, l3: int, features: frozenset[str]
) -> CpuModel:
    registers = 32 if bits == 512 else 16
    return CpuModel(name, "x86_64", bits, registers, ports, l1, l2, l3, 1, features)


def _arm(
    name: str, ports: int, l1: int, l2: int, l3: int, features: frozenset[str] = _NEON
) -> CpuModel:
    return CpuModel(name, "aarch64", 128, 32, ports, l1, l2, l3, 1, features)


_TABLE: Final[dict[str, CpuModel]] = {
    model.name: model
    for model in (
        _x86("x86-64", 128, 1, 32 * KB, 256 * KB, 2 * MB, frozenset(("sse2",))),
        _x86("x86-64-v2", 128, 1, 32 * KB, 256 * KB, 2 * MB, frozenset(("sse4.2",))),
        _x86("x86-64-v3", 256, 2, 32 * KB, 256 * KB, 2 * MB, _AVX2),
        _x86("x86-64-v4", 512, 1, 32 * KB, 1 * MB, 1 * MB, _AVX512),
        _x86("core-avx2", 256, 2, 32 * KB, 256 * KB, 2 * MB, _AVX2),
        _x86("nehalem", 128, 1, 32 * KB, 256 * KB, 2 * MB, frozenset(("sse4.2",))),
        _x86("westmere", 128, 1, 32 * KB, 256 * KB, 2 * MB, frozenset(("sse4.2",))),
        _x86("sandybridge", 256, 1, 32 * KB, 256 * KB, 2 * MB, _AVX),
        _x86("ivybridge", 256, 1, 32 * KB, 256 * KB, 2 * MB, _AVX | {"f16c"}),
        _x86("haswell", 256, 2, 32 * KB, 256 * KB, 2 * MB, _AVX2),
        _x86("broadwell", 256, 2, 32 * KB, 256 * KB, 2 * MB, _AVX2),
        _x86("skylake", 256, 2, 32 * KB, 256 * KB, 2 * MB, _AVX2),
        _x86("alderlake", 256, 2, 48 * KB, 1280 * KB, 3 * MB, _AVX_VNNI),
        _x86("raptorlake", 256, 2, 48 * KB, 2 * MB, 3 * MB, _AVX_VNNI),
        _x86("meteorlake", 256, 2, 48 * KB, 2 * MB, 3 * MB, _AVX_VNNI),
        _x86("arrowlake", 256, 2, 48 * KB, 3 * MB, 3 * MB, _AVX_VNNI),
        _x86("gracemont", 256, 1, 32 * KB, 2 * MB, 3 * MB, _AVX_VNNI),
        _x86("tigerlake", 512, 1, 48 * KB, 1280 * KB, 3 * MB, _VNNI),
        _x86("rocketlake", 512, 1, 48 * KB, 512 * KB, 2 * MB, _VNNI),
        _x86("skylake-avx512", 512, 2, 32 * KB, 1 * MB, 1408 * KB, _AVX512),
        _x86("cascadelake", 512, 2, 32 * KB, 1 * MB, 1408 * KB, _VNNI),
        _x86("cooperlake", 512, 2, 32 * KB, 1 * MB, 1408 * KB, _BF16),
        _x86("icelake-client", 512, 1, 48 * KB, 512 * KB, 2 * MB, _VNNI),
        _x86("icelake-server", 512, 2, 48 * KB, 1280 * KB, 1536 * KB, _VNNI),
        _x86("sapphirerapids", 512, 2, 48 * KB, 2 * MB, 1920 * KB, _SPR),
        _x86("emeraldrapids", 512, 2, 48 * KB, 2 * MB, 5 * MB, _SPR),
        _x86("graniterapids", 512, 2, 48 * KB, 2 * MB, 4 * MB, _SPR),
        _x86("znver1", 128, 2, 32 * KB, 512 * KB, 2 * MB, _AVX2),
        _x86("znver2", 256, 2, 32 * KB, 512 * KB, 4 * MB, _AVX2),
        _x86("znver3", 256, 2, 32 * KB, 512 * KB, 4 * MB, _AVX2),
        _x86("znver4", 512, 1, 32 * KB, 1 * MB, 4 * MB, _BF16),
        _x86("znver5", 512, 2, 48 * KB, 1 * MB, 4 * MB, _BF16),
        _arm("cortex-a53", 1, 32 * KB, 512 * KB, 512 * KB),
        _arm("cortex-a55", 1, 32 * KB, 256 * KB, 512 * KB, _DOT),
        _arm("cortex-a57", 2, 32 * KB, 1 * MB, 1 * MB),
        _arm("cortex-a72", 2, 32 * KB, 1 * MB, 1 * MB),
        _arm("cortex-a76", 2, 64 * KB, 512 * KB, 2 * MB, _DOT),
        _arm("cortex-a78", 2, 64 * KB, 512 * KB, 2 * MB, _DOT),
        _arm("carmel", 2, 64 * KB, 1 * MB, 512 * KB, _NEON | {"fullfp16"}),
        _arm("neoverse-n1", 2, 64 * KB, 1 * MB, 1 * MB, _DOT),
        _arm("neoverse-n2", 2, 64 * KB, 1 * MB, 1 * MB, _SVE2),
        _arm("neoverse-v1", 4, 64 * KB, 1 * MB, 1 * MB, _SVE),
        _arm("neoverse-v2", 4, 64 * KB, 2 * MB, 1 * MB, _SVE2),
        _arm("cortex-a710", 2, 64 * KB, 512 * KB, 2 * MB, _SVE2),
        _arm("cortex-x2", 4, 64 * KB, 1 * MB, 2 * MB, _SVE2),
        _arm("ampere1", 2, 64 * KB, 2 * MB, 1 * MB, _DOT),
        _arm("apple-m1", 4, 128 * KB, 3 * MB, 2 * MB, _DOT),
        _arm("apple-m2", 4, 128 * KB, 4 * MB, 2 * MB, _DOT),
        _arm("apple-latest", 4, 128 * KB, 4 * MB, 2 * MB, _DOT),
    )
}
_BASELINE: Final[dict[str, CpuModel]] = {
    "x86_64": _TABLE["x86-64"],
    "aarch64": _arm("generic", 1, 32 * KB, 512 * KB, 512 * KB),
    "riscv64": CpuModel("generic", "riscv64", 64, 32, 1, 32 * KB, 512 * KB, 512 * KB, 1),
    "riscv32": CpuModel("generic", "riscv32", 32, 32, 1, 32 * KB, 256 * KB, 256 * KB, 1),
    "wasm32": CpuModel("generic", "wasm32", 128, 16, 1, 32 * KB, 256 * KB, 1 * MB, 1),
}
_ARCH_NAMES: Final = {
    "amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64",
    "riscv64": "riscv64", "riscv32": "riscv32", "wasm32": "wasm32",
    "i386": "x86_64", "i686": "x86_64",
}  # fmt: skip


def arch_of_triple(triple: str) -> str:
    """The architecture of an LLVM triple (`aarch64-linux-gnu`)."""
    first = triple.split("-", 1)[0].lower()
    return _ARCH_NAMES.get(first, first)


def host_arch() -> str:
    """The architecture this process runs on."""
    return arch_of_triple(platform.machine())


def host_triple() -> str:
    """The LLVM triple of this machine, made without loading LLVM."""
    arch = {"aarch64": "arm64"} if platform.system() == "Darwin" else {}
    machine = arch.get(host_arch(), host_arch())
    system = platform.system()
    if system == "Darwin":
        return f"{machine}-apple-darwin{platform.release()}"
    if system == "Windows":
        return f"{machine}-pc-windows-msvc"
    return f"{machine}-unknown-linux-gnu"


def named_cpu(name: str, arch: str, cores: int) -> CpuModel:
    """The model of a CPU by LLVM's name for it; unknown names get the least of the architecture."""
    model = _TABLE.get(name) or _BASELINE.get(arch) or _BASELINE["x86_64"]
    return replace(model, name=name or model.name, cores=cores)


def is_tabulated(name: str, arch: str = "x86_64") -> bool:
    """Whether there are figures for a CPU of an architecture under this name."""
    return name in ("host", "native") or (name in _TABLE and _TABLE[name].arch == arch)


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


@functools.cache
def host_cpu() -> CpuModel:
    """The CPU of this machine, read from the operating system once a process."""
    arch = host_arch()
    least = _BASELINE.get(arch, _BASELINE["x86_64"])
    cores = available_cores()
    text = _read("/proc/cpuinfo")
    flags = _flags(text) if text else _mac_flags()
    if arch != "x86_64":
        model = _TABLE["apple-latest"] if platform.system() == "Darwin" else least
        return replace(with_caches(model), cores=cores)
    wanted = ("avx", "amx") if _gives_tiles() else ("avx",)
    features = frozenset(f for f in flags if f.startswith(wanted) or f in _SPR - _AMX)
    bits = 512 if "avx512f" in features else 256 if "avx2" in features else 128
    amd = "AuthenticAMD" in text
    zen5 = amd and re.search(r"cpu family\s*:\s*26\b", text) is not None
    # Intel's servers have two 512-bit FMA ports, told by the server-only features; Zen 4 joins its
    # two 256-bit ports to one of 512.
    two_wide = zen5 or (not amd and bool({"avx512bf16", "clwb"} & set(flags)))
    ports = (2 if two_wide else 1) if bits == 512 else 2
    model = replace(
        least,
        name="host",
        vector_bits=bits,
        vector_registers=32 if bits == 512 else 16,
        fma_ports=ports,
        features=features,
        cores=cores,
    )
    return with_caches(model)


def _gives_tiles() -> bool:
    """Whether the system lets this process use tile registers: some sandboxes do not.

    Linux gives them when it is asked: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA), see its
    Documentation/arch/x86/xstate.rst.
    """
    if platform.system() != "Linux" or host_arch() != "x86_64":
        return False
    arch_prctl, request, tile_data = 158, 0x1023, 18
    return int(ctypes.CDLL(None).syscall(arch_prctl, request, tile_data)) == 0


def available_cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


# A virtual machine is told the last cache of a processor with many more cores than it has of it.
_LARGEST_SHARE: Final = 16 * MB

# How the kernel spells features that LLVM spells otherwise.
_KERNEL_NAMES: Final = {
    "avx512_vnni": "avx512vnni", "avx512_bf16": "avx512bf16", "avx512_fp16": "avx512fp16",
    "amx_tile": "amx-tile", "amx_int8": "amx-int8", "amx_bf16": "amx-bf16", "sse4_2": "sse4.2",
    "avx_vnni": "avxvnni",
}  # fmt: skip


def _flags(cpuinfo: str) -> set[str]:
    found = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", cpuinfo, re.MULTILINE)
    words = found[1].split() if found else []
    return {_KERNEL_NAMES.get(word, word) for word in words}


def _mac_flags() -> set[str]:
    if platform.system() != "Darwin":
        return set()
    import subprocess

    keys = ["machdep.cpu.features", "machdep.cpu.leaf7_features"]
    shown = subprocess.run(["sysctl", "-n", *keys], capture_output=True, text=True, check=False)
    return {word.lower().replace("avx1.0", "avx") for word in shown.stdout.split()}


def with_caches(model: CpuModel, root: str = "/sys/devices/system/cpu/cpu0/cache") -> CpuModel:
    """The model with cache sizes as Linux tells them; unchanged where it does not."""
    sizes: dict[int, int] = {}
    for index in range(5):
        folder = f"{root}/index{index}"
        parts = ("level", "type", "size", "shared_cpu_list")
        level, kind, size, sharing = (_read(f"{folder}/{part}").strip() for part in parts)
        if kind in ("Data", "Unified") and size[:-1].isdigit():
            whole = int(size[:-1]) * (MB if size.endswith("M") else KB)
            sizes[int(level)] = whole // _count(sharing) if level == "3" else whole
    return replace(
        model,
        l1d_bytes=sizes.get(1, model.l1d_bytes),
        l2_bytes=sizes.get(2, model.l2_bytes),
        l3_bytes=min(sizes.get(3, model.l3_bytes), _LARGEST_SHARE),
    )


def _count(cpus: str) -> int:
    """How many CPUs a list such as `0-3,8` names; 1 where it names none."""
    ranges = [part.split("-") for part in cpus.split(",") if part.strip("0123456789-") == ""]
    return max(1, sum(int(ends[-1]) - int(ends[0]) + 1 for ends in ranges if ends[0]))
